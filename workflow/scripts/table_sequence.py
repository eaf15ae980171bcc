"""Adapter of rule table_sequence."""

from sagevocab.paper.tables import read_paper_values, read_scores, table_sequence
from sagevocab.provenance import job

with job(snakemake):
    params = snakemake.params
    table_sequence(
        read_scores(snakemake.input.scores),
        tasks=params.tasks,
        labels=dict(zip(params.tokenizers, params.labels, strict=True)),
        paper=read_paper_values(snakemake.input.paper)["tables"]["table_sequence"],
        **snakemake.output,
    )
