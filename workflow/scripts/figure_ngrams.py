"""Adapter of rule figure_ngrams."""

from sagevocab.paper.ngrams import figure_ngrams, read_ngrams
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_ngrams(
        read_ngrams(params.titles, params.labels, inputs.ngrams),
        baseline=params.baseline,
        seed=params.seed,
        **snakemake.output,
        style=inputs.style,
    )
