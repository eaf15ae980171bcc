"""Adapter of rule figure_ratio and of the same on domain texts."""

from reproduction.analysis.counts import read_neighbours
from reproduction.job import job
from reproduction.paper.figures import figure_ratio
from reproduction.paper.inputs import by_panel

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.labels, inputs.neighbours, read_neighbours)
    figure_ratio(panels, window=params.window, **snakemake.output, style=inputs.style)
