"""Adapter of rule train_wordpiece."""

from pathlib import Path

from reproduction.job import job
from reproduction.wordpiece import train_wordpiece
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.export import WordSettings, export_greedy

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    corpus, key = WordCorpus.load(snakemake.input.words), "vocabulary.vocab_size"
    pieces = train_wordpiece(corpus, params.size, params.character_coverage, key)
    export_greedy(Path(snakemake.output.pieces).parent, pieces, words)
