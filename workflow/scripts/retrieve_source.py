"""Adapter of rule retrieve_source."""

from reproduction.data.extract import ExtractionSettings
from reproduction.data.sources import retrieve
from reproduction.data.streams import Sample
from reproduction.job import job

with job(snakemake):
    params, part = snakemake.params, None
    if params.sample:
        wanted = {"seed": params.seed, **params.sample}
        part = Sample(wanted.pop("lines"), ExtractionSettings(**wanted))
    retrieve(
        params.source,
        snakemake.output.raw,
        snakemake.output.description,
        cache_dir=params.cache_dir,
        seed=params.seed,
        part=part,
    )
