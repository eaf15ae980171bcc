"""Adapter of rule figure_readings."""

from reproduction.job import job
from reproduction.paper.figures_studies import figure_readings
from reproduction.paper.studies import read_assessment

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_readings(
        dict(zip(params.titles, map(read_assessment, inputs.readings), strict=True)),
        params.readings,
        **snakemake.output,
        style=inputs.style,
    )
