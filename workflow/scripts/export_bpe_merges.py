"""Adapter of rule export_bpe_merges."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import merges_of_model, pieces_of_model, read_model
from sagevocab.vocab.export import Card, WordSettings, export_merges

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    card = Card.described(snakemake.input.source, **params.card)
    model = read_model(snakemake.input.model)
    pieces, merges = pieces_of_model(model), merges_of_model(model)
    export_merges(params.artefact, pieces, merges, words, card)
