"""Adapter of rule write_cards."""

from reproduction.job import job
from sagevocab.files import write_text
from sagevocab.huggingface.export import Card, model_card
from sagevocab.pieces import read_pieces

with job(snakemake):
    cards = snakemake.params.cards
    for pieces, card, output in zip(snakemake.input.pieces, cards, snakemake.output, strict=True):
        write_text(output, model_card(Card(**card), read_pieces(pieces)))
