"""Adapter of every rule in artefacts.smk: makes a figure or a table."""

from reproduction.artefacts.registry import make
from reproduction.job import job

with job(snakemake):
    params = snakemake.params
    make(
        params.name,
        reads=params.reads,
        settings=params.settings,
        caption=params.caption,
        files=dict(snakemake.output.items()),
    )
