"""Pieces: how tokens of other tokenizers read, and which are never pruned."""

from __future__ import annotations

import pytest

from sagevocab.huggingface.markers import Notation, Prefixed
from sagevocab.pieces import prunable


@pytest.mark.parametrize(
    ("notation", "pairs"),
    [
        (Prefixed("##"), {"play": "▁play", "##ing": "ing", "##": "▁##"}),
        (Notation("Ġ"), {"Ġthe": "▁the", "the": "the", "ĠĠ": "▁▁"}),
        (Notation("_"), {"_the": "▁the", "▁the": "_the", "a\nb": "a\ufdd1b"}),
        (Notation(), {"▁the": "▁the", "the": "the"}),
    ],
)
def test_notations_read_tokens_as_pieces(notation: Notation, pairs: dict[str, str]) -> None:
    for token, piece in pairs.items():
        assert notation.piece(token) == piece
        assert isinstance(notation, Prefixed) or notation.token(piece) == token


def test_pieces_that_hold_a_character_without_a_piece_are_never_pruned() -> None:
    marked = ["▁a", "b", "▁ab", "▁ba", "ab"]  # `b` does not begin a word, `a` is not inside one
    assert prunable(marked) == [False, False, True, False, False]
    assert prunable(["▁", "a", "b", "▁ab", "ab", "abc"]) == [False] * 3 + [True, True, False]
