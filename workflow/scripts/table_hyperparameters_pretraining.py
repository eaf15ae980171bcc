"""Adapter of rule table_hyperparameters_pretraining."""

from sagevocab.paper.tables import read_paper_values
from sagevocab.paper.tables_settings import table_hyperparameters_pretraining
from sagevocab.provenance import job

with job(snakemake):
    values = read_paper_values(snakemake.input.paper)
    table_hyperparameters_pretraining(
        snakemake.params.settings,
        paper=values["hyperparameters"]["table_hyperparameters_pretraining"],
        **snakemake.output,
    )
