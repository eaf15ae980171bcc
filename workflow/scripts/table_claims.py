"""Adapter of rule table_claims."""

from reproduction.job import job
from reproduction.paper.claims import table_claims
from reproduction.paper.notes import presets_note, pretraining_note

with job(snakemake):
    params = snakemake.params
    table_claims(
        snakemake.input.claims,
        snakemake.input.paper,
        labels=dict(zip(params.tokenizers, params.labels, strict=True)),
        languages=dict(zip(params.languages, params.titles, strict=True)),
        notes=[
            presets_note(params.presets.items()),
            pretraining_note(params.pretrain) if params.pretrain else "",
        ],
        caption=params.caption,
        **snakemake.output,
    )
