"""Adapter of rule train_unigram."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import (
    TrainingSettings,
    pieces_of_model,
    read_model,
    scores_of_model,
    train_unigram,
)
from sagevocab.vocab.export import Card, WordSettings, export_unigram

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    card = Card.described(snakemake.input.source, **params.card)
    settings, path = TrainingSettings(**params.training), snakemake.output.model
    train_unigram(snakemake.input.lines, params.size, path, settings, "vocabulary.final_size")
    model = read_model(path)
    pieces, scores = pieces_of_model(model), scores_of_model(model)
    export_unigram(params.artefact, pieces, scores, words, card)
