"""Adapter of rule train_wordpiece."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import train_wordpiece
from sagevocab.vocab.export import Card, WordSettings, export_greedy
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    corpus, params = WordCorpus.load(snakemake.input.words), snakemake.params
    key = "vocabulary.final_size"
    pieces = train_wordpiece(corpus, params.size, params.character_coverage, key)
    export_greedy(params.artefact, pieces, WordSettings(**params.words), Card(**params.card))
