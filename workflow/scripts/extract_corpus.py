"""Adapter of rule extract_corpus."""

from sagevocab.data.catalogue import read_description
from sagevocab.data.extract import ExtractionSettings, extract_lines
from sagevocab.provenance import job

with job(snakemake):
    extract_lines(
        snakemake.input.source[0],
        snakemake.output.sentences,
        read_description(snakemake.params.source, snakemake.input.source),
        ExtractionSettings(
            language=snakemake.wildcards.lang,
            min_words=snakemake.params.min_words,
            article_share=snakemake.params.article_share,
            seed=snakemake.params.seed,
        ),
        threads=snakemake.threads,
        state_dir=snakemake.params.state_dir,
        code=snakemake.params.code,
    )
