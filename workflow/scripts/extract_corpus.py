"""Adapter of rule extract_corpus."""

from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.data.files import read_form, source_errors
from reproduction.job import job

with job(snakemake) as progress:
    files, form = read_form(snakemake.params.source, snakemake.input.source)
    with source_errors(form):
        extract_lines(
            files,
            snakemake.output.sentences,
            form,
            ExtractionSettings(
                language=snakemake.wildcards.lang,
                min_words=snakemake.params.min_words,
            ),
            threads=snakemake.threads,
            state_dir=progress,
            code=snakemake.params.code,
        )
