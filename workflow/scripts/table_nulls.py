"""Adapter of rule table_nulls."""

from reproduction.job import job
from reproduction.paper.notes import presets_note
from reproduction.paper.nulls import table_nulls

with job(snakemake):
    params = snakemake.params
    table_nulls(
        snakemake.input.claims,
        snakemake.input.paper,
        labels=dict(zip(params.tokenizers, params.labels, strict=True)),
        languages=dict(zip(params.languages, params.titles, strict=True)),
        notes=[presets_note(params.presets.items())],
        caption=params.caption,
        **snakemake.output,
    )
