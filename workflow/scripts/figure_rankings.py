"""Adapter of rule figure_rankings."""

from sagevocab.analysis.vocabulary import read_rankings
from sagevocab.paper.figures_studies import figure_rankings
from sagevocab.paper.inputs import by_panel
from sagevocab.paper.studies import stable_ranking
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    panels = by_panel(params.titles, params.ranked, inputs.rankings, read_rankings)
    figure_rankings(
        panels,
        labels=params.labels,
        stable=stable_ranking(inputs.paper),
        **snakemake.output,
        style=inputs.style,
    )
