"""Adapter of rule figure_exponence."""

from sagevocab.analysis.counts import read_neighbours
from sagevocab.paper.figures import figure_exponence
from sagevocab.paper.inputs import by_panel
from sagevocab.provenance import job

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    figure_exponence(
        by_panel(params.titles, params.labels, inputs.neighbours, read_neighbours),
        windows=params.windows,
        top=params.top,
        pdf=outputs.pdf,
        png=outputs.png,
        style=inputs.style,
    )
