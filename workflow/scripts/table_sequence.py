"""Adapter of the rules table_sequence and table_ner."""

from reproduction.analysis.scores import read_scores
from reproduction.job import job
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import model_notes
from reproduction.paper.tables_scores import read_significant, table_scores

with job(snakemake):
    params = snakemake.params
    table_scores(
        read_scores(snakemake.input.scores),
        tasks=params.tasks,
        labels=dict(zip(params.tokenizers, params.labels, strict=True)),
        paper=read_paper_values(snakemake.input.paper)["tables"][params.printed],
        significant=read_significant(snakemake.input.differences),
        notes=model_notes(params.budget, params.tasks, params.presets),
        caption=params.caption,
        **snakemake.output,
    )
