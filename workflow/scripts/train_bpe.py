"""Adapter of rule train_bpe."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import TrainingSettings, pieces_of_model, read_model, train_bpe
from sagevocab.vocab.export import Card, WordSettings, export_greedy

with job(snakemake):
    path, params = snakemake.output.model, snakemake.params
    training, words = TrainingSettings(**params.training), WordSettings(**params.words)
    train_bpe(snakemake.input.lines, params.size, path, training, "vocabulary.final_size")
    export_greedy(params.artefact, pieces_of_model(read_model(path)), words, Card(**params.card))
