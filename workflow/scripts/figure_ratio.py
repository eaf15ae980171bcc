"""Adapter of rule figure_ratio and of its twins on other texts."""

from sagevocab.analysis.counts import read_neighbours
from sagevocab.paper.figures import figure_ratio
from sagevocab.paper.inputs import by_panel
from sagevocab.provenance import job

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    figure_ratio(
        by_panel(params.titles, params.labels, inputs.neighbours, read_neighbours),
        window=params.window,
        pdf=outputs.pdf,
        png=outputs.png,
        style=inputs.style,
    )
