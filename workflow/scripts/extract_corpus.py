"""Adapter of rule extract_corpus."""

from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.data.files import Form
from reproduction.job import job

with job(snakemake) as progress:
    extract_lines(
        snakemake.input.source,
        snakemake.output.sentences,
        Form(**snakemake.params.source),
        ExtractionSettings(language=snakemake.wildcards.lang),
        threads=snakemake.threads,
        state_dir=progress,
        code=snakemake.params.code,
    )
