"""Adapter of rule figure_fertility and of the same on domain texts."""

from reproduction.analysis.counts import read_fertility
from reproduction.job import job
from reproduction.paper.figures import figure_fertility
from reproduction.paper.inputs import by_panel

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.labels, inputs.fertility, read_fertility)
    figure_fertility(panels, **snakemake.output, style=inputs.style)
