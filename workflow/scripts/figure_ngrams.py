"""Adapter of rule figure_ngrams."""

from reproduction.job import job
from reproduction.paper.ngrams import figure_ngrams, read_ngrams

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_ngrams(
        read_ngrams(params.titles, params.labels, inputs.ngrams),
        baseline=params.baseline,
        seed=params.seed,
        **snakemake.output,
        style=inputs.style,
    )
