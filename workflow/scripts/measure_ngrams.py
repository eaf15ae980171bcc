"""Adapter of rule measure_ngrams."""

from pathlib import Path

from sagevocab.analysis.ngrams import measure_ngrams
from sagevocab.data.corpus import read_lines
from sagevocab.provenance import job
from sagevocab.state import write_parquet
from sagevocab.vocab.segment import load_segmenter
from sagevocab.vocab.words import WordCorpus

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
