"""Adapter of rule figure_lengths."""

from reproduction.analysis.vocabulary import length_histogram
from reproduction.job import job
from reproduction.paper.figures import figure_lengths
from reproduction.paper.inputs import by_panel
from sagevocab.pieces import read_pieces


def read_lengths(path):
    """Pieces of a vocabulary by their length."""
    return length_histogram(read_pieces(path))


with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.labels, inputs.pieces, read_lengths)
    figure_lengths(panels, **snakemake.output, style=inputs.style)
