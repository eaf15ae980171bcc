"""Adapter of rule figure_readings."""

from sagevocab.paper.figures_studies import figure_readings
from sagevocab.paper.studies import read_assessment
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_readings(
        dict(zip(params.titles, map(read_assessment, inputs.readings), strict=True)),
        params.readings,
        **snakemake.output,
        style=inputs.style,
    )
