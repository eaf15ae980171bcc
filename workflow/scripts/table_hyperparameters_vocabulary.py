"""Adapter of the rules table_hyperparameters_vocabulary, _pretraining and _finetuning."""

from reproduction.job import job
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import budget_note
from reproduction.paper.tables import table_hyperparameters

with job(snakemake):
    params = snakemake.params
    printed = read_paper_values(snakemake.input.paper)["hyperparameters"]
    budget = params.get("budget")
    table_hyperparameters(
        params.settings,
        stage=params.stage,
        paper=printed[f"table_hyperparameters_{params.stage}"],
        notes=[budget_note(**budget, tasks=params.tasks)] if budget else [],
        caption=params.caption,
        **snakemake.output,
    )
