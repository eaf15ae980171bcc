"""Adapter of rule extract_domain."""

from reproduction.data.descriptions import read_source, source_errors
from reproduction.data.extract import ExtractionSettings, extract_sample
from reproduction.job import job

with job(snakemake):
    files, description = read_source(snakemake.params.source, snakemake.input.source)
    with source_errors(description):
        extract_sample(
            files,
            snakemake.output.lines,
            description,
            ExtractionSettings(
                language=snakemake.params.language,
                min_words=snakemake.params.min_words,
                seed=snakemake.params.seed,
            ),
            lines=snakemake.params.lines,
            threads=snakemake.threads,
        )
