"""Adapter of rule extract_domain."""

from reproduction.data.extract import ExtractionSettings, extract_sample
from reproduction.data.files import read_form, source_errors
from reproduction.job import job

with job(snakemake):
    files, form = read_form(snakemake.params.source, snakemake.input.source)
    with source_errors(form):
        extract_sample(
            files,
            snakemake.output.lines,
            form,
            ExtractionSettings(
                language=snakemake.params.language,
                min_words=snakemake.params.min_words,
                seed=snakemake.params.seed,
            ),
            lines=snakemake.params.lines,
            threads=snakemake.threads,
        )
