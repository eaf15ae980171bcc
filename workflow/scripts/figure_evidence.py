"""Adapter of rule figure_evidence."""

from reproduction.job import job
from reproduction.paper.figures_evidence import figure_evidence

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_evidence(
        inputs.table,
        labels=params.labels,
        baseline=params.baseline,
        **snakemake.output,
        style=inputs.style,
    )
