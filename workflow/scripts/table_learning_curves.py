"""Adapter of rule table_learning_curves."""

from sagevocab.paper.learning_curves import read_curves
from sagevocab.paper.tables_learning import table_learning_curves
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    table_learning_curves(
        read_curves(params.titles, params.compared, inputs.heldout, inputs.repeats),
        baseline=params.baseline,
        batch=params.batch,
        length=params.length,
        seed=params.seed,
        **snakemake.output,
    )
