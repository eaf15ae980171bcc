"""Adapter of the rules table_hyperparameters_vocabulary, _pretraining and _finetuning."""

from sagevocab.paper import tables_settings
from sagevocab.paper.budgets import budget_note
from sagevocab.paper.tables import read_paper_values
from sagevocab.provenance import job

with job(snakemake):
    params = snakemake.params
    name = f"table_hyperparameters_{params.stage}"
    budget = params.get("budget")
    notes = {"notes": [budget_note(**budget, tasks=params.tasks)]} if budget else {}
    getattr(tables_settings, name)(
        params.settings,
        paper=read_paper_values(snakemake.input.paper)["hyperparameters"][name],
        **notes,
        **snakemake.output,
    )
