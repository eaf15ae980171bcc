"""Adapter of rule write_cards."""

from reproduction.data.descriptions import retrieved_source
from reproduction.job import job
from sagevocab.export import Card, model_card
from sagevocab.pieces import read_pieces
from sagevocab.state import write_text

with job(snakemake):
    cards = snakemake.params.cards
    for pieces, card, output in zip(snakemake.input.pieces, cards, snakemake.output, strict=True):
        fields = {key: value for key, value in card.items() if key != "text"}
        source = retrieved_source(**card["text"]) if card["text"] else None
        write_text(output, model_card(Card(**fields, source=source), read_pieces(pieces)))
