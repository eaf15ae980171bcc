"""Adapter of rule table_sensitivity."""

from pathlib import Path

from reproduction.job import job
from reproduction.paper.claims_inputs import Run
from reproduction.paper.tables_studies import table_sensitivity

with job(snakemake):
    params = snakemake.params
    settings = {**params.study, "folder": Path(params.study["folder"])}
    table_sensitivity(
        Run(**settings),
        params.rows,
        titles=params.titles,
        window=params.window,
        caption=params.caption,
        **snakemake.output,
    )
