"""Adapter of rule figure_exponence."""

from reproduction.analysis.counts import read_neighbours
from reproduction.job import job
from reproduction.paper.figures import figure_exponence
from reproduction.paper.inputs import by_panel

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.labels, inputs.neighbours, read_neighbours)
    figure_exponence(
        panels,
        windows=params.windows,
        top=params.top,
        **snakemake.output,
        style=inputs.style,
    )
