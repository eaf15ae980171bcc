"""Adapter of rule table_hyperparameters_finetuning."""

from sagevocab.paper.inputs import read_paper_values
from sagevocab.paper.notes import budget_note
from sagevocab.paper.tables import table_hyperparameters
from sagevocab.provenance import job

with job(snakemake):
    values = read_paper_values(snakemake.input.paper)
    table_hyperparameters(
        snakemake.params.settings,
        stage="finetuning",
        paper=values["hyperparameters"]["table_hyperparameters_finetuning"],
        notes=[budget_note(**snakemake.params.budget, tasks=snakemake.params.tasks)],
        **snakemake.output,
    )
