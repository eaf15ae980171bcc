"""Adapter of rule table_costs."""

from sagevocab.paper.notes import model_notes, presets_note
from sagevocab.paper.tables import table_costs
from sagevocab.provenance import job

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
