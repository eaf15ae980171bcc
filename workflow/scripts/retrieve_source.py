"""Adapter of the rules retrieve_morphemes, retrieve_domain and retrieve_task."""

from reproduction.data.sources import retrieve
from reproduction.job import job

with job(snakemake):
    retrieve(
        snakemake.params.source,
        snakemake.output.raw,
        snakemake.output.description,
        cache_dir=snakemake.params.cache_dir,
        seed=snakemake.params.seed,
    )
