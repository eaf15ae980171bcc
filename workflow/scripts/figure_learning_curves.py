"""Adapter of rule figure_learning_curves."""

from sagevocab.paper.curves import read_curves
from sagevocab.paper.learning_curves import figure_learning_curves
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_learning_curves(
        read_curves(params.titles, params.compared, inputs.heldout, inputs.repeats, inputs.floors),
        labels=params.labels,
        baseline=params.baseline,
        seed=params.seed,
        **snakemake.output,
        style=inputs.style,
    )
