"""Adapter of rule extract_corpus."""

from reproduction.data.descriptions import read_source, source_errors
from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.job import job

with job(snakemake):
    files, description = read_source(snakemake.params.source, snakemake.input.source)
    with source_errors(description):
        extract_lines(
            files,
            snakemake.output.sentences,
            description,
            ExtractionSettings(
                language=snakemake.wildcards.lang,
                min_words=snakemake.params.min_words,
            ),
            threads=snakemake.threads,
            state_dir=snakemake.params.state_dir,
            code=snakemake.params.code,
        )
