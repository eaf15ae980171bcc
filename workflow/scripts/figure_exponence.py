"""Adapter of rule figure_exponence."""

from sagevocab.analysis.counts import read_neighbours
from sagevocab.paper.figures import figure_exponence
from sagevocab.paper.inputs import by_panel
from sagevocab.provenance import job

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
