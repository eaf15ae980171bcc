"""Adapter of rule table_costs."""

from reproduction.job import job
from reproduction.paper.notes import model_notes, presets_note
from reproduction.paper.tables import table_costs

with job(snakemake):
    params = snakemake.params
    table_costs(
        params.benchmarks,
        stages=params.stages,
        languages=dict(zip(params.languages, params.titles, strict=True)),
        tokenizers=dict(zip(params.tokenizers, params.labels, strict=True)),
        starts=params.starts,
        notes=model_notes(params.budget, params.tasks, params.presets)
        if params.budget
        else [presets_note(params.presets.items())],
        caption=params.caption,
        **snakemake.output,
    )
