"""Adapter of rule table_ngrams."""

from sagevocab.paper.ngrams import read_ngrams, table_ngrams
from sagevocab.paper.notes import presets_note
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    table_ngrams(
        read_ngrams(params.titles, params.labels, inputs.ngrams),
        baseline=params.baseline,
        seed=params.seed,
        notes=[presets_note(params.presets.items())],
        caption=params.caption,
        **snakemake.output,
    )
