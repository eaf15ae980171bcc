"""Adapter of rule table_hyperparameters_finetuning."""

from sagevocab.paper.budgets import budget_note
from sagevocab.paper.tables import read_paper_values
from sagevocab.paper.tables_settings import table_hyperparameters_finetuning
from sagevocab.provenance import job

with job(snakemake):
    values = read_paper_values(snakemake.input.paper)
    table_hyperparameters_finetuning(
        snakemake.params.settings,
        paper=values["hyperparameters"]["table_hyperparameters_finetuning"],
        notes=[budget_note(**snakemake.params.budget, tasks=snakemake.params.tasks)],
        **snakemake.output,
    )
