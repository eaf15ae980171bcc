"""Adapter of rule write_cards."""

from pathlib import Path

from sagevocab.provenance import job
from sagevocab.state import write_text
from sagevocab.vocab.export import Card, model_card
from sagevocab.vocab.pieces import read_pieces

with job(snakemake):
    inputs, cards = snakemake.input, snakemake.params.cards
    for pieces, fields, output in zip(inputs.pieces, cards, snakemake.output, strict=True):
        name = f"{fields['language']}.source.json"
        card = Card.described([file for file in inputs.source if Path(file).name == name], **fields)
        write_text(output, model_card(card, read_pieces(pieces)))
