"""Adapter of rule assess_readings."""

from reproduction.job import job
from reproduction.paper.claims_inputs import Results
from reproduction.paper.studies import assess_readings

with job(snakemake):
    params = snakemake.params
    assess_readings(
        snakemake.wildcards.lang,
        Results(**params.study),
        params.builds,
        Results(**params.run) if params.run else None,
        values=snakemake.input.paper,
        window=params.window,
        output=snakemake.output.readings,
        state_dir=params.state_dir,
        code=params.code,
    )
