"""Adapter of rule figure_rankings."""

from reproduction.analysis.vocabulary import read_rankings
from reproduction.job import job
from reproduction.paper.figures_studies import figure_rankings
from reproduction.paper.inputs import by_panel
from reproduction.paper.studies import stable_ranking

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
