"""Adapter of rule figure_learning_curves."""

from sagevocab.paper.curves import read_curves
from sagevocab.paper.learning_curves import figure_learning_curves
from sagevocab.provenance import job

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    figure_learning_curves(
        read_curves(params.titles, params.compared, inputs.heldout, inputs.repeats),
        labels=params.labels,
        baseline=params.baseline,
        seed=params.seed,
        pdf=outputs.pdf,
        png=outputs.png,
        style=inputs.style,
    )
