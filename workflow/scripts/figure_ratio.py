"""Adapter of rule figure_ratio and of the same on domain texts."""

from sagevocab.analysis.counts import read_neighbours
from sagevocab.paper.figures import figure_ratio
from sagevocab.paper.inputs import by_panel
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.labels, inputs.neighbours, read_neighbours)
    figure_ratio(panels, window=params.window, **snakemake.output, style=inputs.style)
