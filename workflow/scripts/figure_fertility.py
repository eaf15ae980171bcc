"""Adapter of rule figure_fertility and of the same on domain texts."""

from sagevocab.analysis.counts import read_fertility
from sagevocab.paper.figures import figure_fertility
from sagevocab.paper.inputs import by_panel
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.labels, inputs.fertility, read_fertility)
    figure_fertility(panels, **snakemake.output, style=inputs.style)
