"""Adapter of rule table_sensitivity."""

from pathlib import Path

from sagevocab.paper.claims_inputs import Run
from sagevocab.paper.tables_studies import table_sensitivity
from sagevocab.provenance import job

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
