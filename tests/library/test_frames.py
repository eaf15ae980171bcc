"""How tokens of other tokenizers read as pieces."""

from __future__ import annotations

import pytest

from sagevocab.huggingface.markers import Notation, Prefixed


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
