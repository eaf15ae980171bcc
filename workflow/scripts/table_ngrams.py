"""Adapter of rule table_ngrams."""

from reproduction.job import job
from reproduction.paper.inputs import by_panel
from reproduction.paper.ngrams import read_ngrams, table_ngrams
from reproduction.paper.notes import presets_note

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    table_ngrams(
        read_ngrams(by_panel(params.titles, params.labels, inputs.ngrams, str)),
        baseline=params.baseline,
        seed=params.seed,
        notes=[presets_note(params.presets.items())],
        caption=params.caption,
        **snakemake.output,
    )
