"""Adapter of rule index_words."""

from reproduction.job import job
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import Normalizer, WordCorpus

with job(snakemake):
    corpus = WordCorpus.from_lines(
        read_lines(snakemake.input.lines),
        Normalizer(snakemake.params.normalization),
        snakemake.params.max_word_chars,
    )
    corpus.save(snakemake.output.words)
