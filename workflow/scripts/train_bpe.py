"""Adapter of the rules train_bpe and train_bpe_initial."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import TrainingSettings, pieces_of_model, read_model, train_bpe
from sagevocab.vocab.export import Card, WordSettings, export_greedy

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    card = Card.described(snakemake.input.source, **params.card)
    settings, path = TrainingSettings(**params.training), snakemake.output.model
    train_bpe(snakemake.input.lines, params.size, path, settings, params.key)
    export_greedy(params.artefact, pieces_of_model(read_model(path)), words, card)
