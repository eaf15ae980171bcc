"""Adapter of rule extract_domain."""

from sagevocab.data.catalogue import read_description
from sagevocab.data.extract import ExtractionSettings, extract_sample
from sagevocab.provenance import job

with job(snakemake):
    extract_sample(
        snakemake.input.source[0],
        snakemake.output.lines,
        read_description(snakemake.params.source, snakemake.input.source),
        ExtractionSettings(
            language=snakemake.params.language,
            min_words=snakemake.params.min_words,
            seed=snakemake.params.seed,
        ),
        lines=snakemake.params.lines,
        threads=snakemake.threads,
    )
