"""Adapter of rule measure_ngrams."""

from pathlib import Path

from reproduction.analysis.ngrams import measure_ngrams
from reproduction.job import job
from reproduction.parquet import write_parquet
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.segmenter import load_segmenter

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    measured = measure_ngrams(
        WordCorpus.load(inputs.words),
        read_lines(inputs.heldout),
        load_segmenter(Path(inputs.tokenizer).parent),
        params.sizes,
        seed=params.seed,
        normalization=params.normalization,
        max_word_chars=params.max_word_chars,
    )
    write_parquet(snakemake.output.ngrams, measured)
