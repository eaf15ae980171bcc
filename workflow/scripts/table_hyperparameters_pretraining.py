"""Adapter of rule table_hyperparameters_pretraining."""

from sagevocab.paper.inputs import read_paper_values
from sagevocab.paper.tables import table_hyperparameters
from sagevocab.provenance import job

with job(snakemake):
    values = read_paper_values(snakemake.input.paper)
    table_hyperparameters(
        snakemake.params.settings,
        stage="pretraining",
        paper=values["hyperparameters"]["table_hyperparameters_pretraining"],
        **snakemake.output,
    )
