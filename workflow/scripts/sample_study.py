"""Adapter of rule sample_study."""

from sagevocab.data.corpus import read_lines, sample_at_most
from sagevocab.provenance import job
from sagevocab.vocab.words import Normalizer, WordCorpus

with job(snakemake):
    outputs, params = snakemake.output, snakemake.params
    sample_at_most(snakemake.input.lines, outputs.lines, lines=params.lines, seed=params.seed)
    normalizer = Normalizer(params.words["normalization"])
    words = WordCorpus.from_lines(
        read_lines(outputs.lines), normalizer, params.words["max_word_chars"]
    )
    words.save(outputs.words)
