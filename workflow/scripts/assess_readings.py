"""Adapter of rule assess_readings."""

from pathlib import Path

from sagevocab.paper.claims_inputs import Run
from sagevocab.paper.studies import assess_readings
from sagevocab.provenance import job

with job(snakemake):
    params, folder = snakemake.params, Path(snakemake.params.study["folder"])
    assess_readings(
        snakemake.wildcards.lang,
        Run(**{**params.study, "folder": folder}),
        params.builds,
        Run(**{**params.run, "folder": folder}) if params.run else None,
        values=snakemake.input.paper,
        window=params.window,
        output=snakemake.output.readings,
        state_dir=params.state_dir,
        code=params.code,
    )
