"""Adapter of rule figure_fertility and of its twins on other texts."""

from sagevocab.analysis.counts import read_fertility
from sagevocab.paper.figures import figure_fertility
from sagevocab.paper.inputs import by_panel
from sagevocab.provenance import job

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    figure_fertility(
        by_panel(params.titles, params.labels, inputs.fertility, read_fertility),
        pdf=outputs.pdf,
        png=outputs.png,
        style=inputs.style,
    )
