"""Adapter of rule figure_nulls."""

from reproduction.job import job
from reproduction.paper.nulls import figure_nulls

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_nulls(
        inputs.claims,
        inputs.paper,
        labels=dict(zip(params.tokenizers, params.labels[1:], strict=True)),
        shown=params.labels,
        languages=dict(zip(params.languages, params.titles, strict=True)),
        **snakemake.output,
        style=inputs.style,
    )
