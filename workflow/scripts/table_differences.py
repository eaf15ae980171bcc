"""Adapter of rule table_differences."""

from reproduction.analysis.scores import read_scores
from reproduction.job import job
from reproduction.paper.curves import cards_note
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import model_notes
from reproduction.paper.tables_scores import table_differences

with job(snakemake):
    params = snakemake.params
    notes = model_notes(params.budget, params.tasks, params.presets)
    table_differences(
        read_scores(snakemake.input.scores),
        tasks=params.tasks,
        labels=dict(zip(params.tokenizers, params.labels, strict=True)),
        paper=read_paper_values(snakemake.input.paper)["tables"],
        readings=params.readings,
        seed=params.seed,
        pretrained=params.pretrained,
        notes=[*notes, cards_note(snakemake.input.logs, params.hours)],
        caption=params.caption,
        **snakemake.output,
    )
