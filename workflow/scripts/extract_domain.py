"""Adapter of rule extract_domain."""

from reproduction.data.extract import ExtractionSettings, extract_sample
from reproduction.data.files import Form
from reproduction.job import job

with job(snakemake):
    extract_sample(
        snakemake.input.source,
        snakemake.output.lines,
        Form(**snakemake.params.source),
        ExtractionSettings(language=snakemake.params.language, seed=snakemake.params.seed),
        lines=snakemake.params.lines,
        threads=snakemake.threads,
    )
