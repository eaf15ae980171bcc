"""Floors of the language models: by hand, and beside what is predicted."""

from __future__ import annotations

import numpy as np
import pytest

from lm_samples import PIECES, make_shards, make_vocabulary
from reproduction.lm.floors import measure_floors
from reproduction.lm.heldout import HeldoutSettings, open_heldout, write_heldout
from reproduction.lm.tokenizer import load_encoder
from sagevocab.corpus.text import write_lines

# "the" and "a" are one piece, "the dog" two words of one piece, "cats" is ▁cat and s.
TEXT = ["the dog", "the cats", "a ж"]


@pytest.fixture
def encoder(tmp_path):
    return load_encoder(make_vocabulary(tmp_path / "vocabulary"))


def ask_all(folder, encoder, lines):
    """Held-out words: all of some lines."""
    write_lines(folder / "heldout", lines)
    asked = HeldoutSettings(lines=len(lines), rate=1.0, seed=1)
    write_heldout(folder / "heldout.npz", folder / "heldout", encoder, asked, sequence_length=64)


def measured(folder, encoder, lines, heldout):
    ask_all(folder, encoder, heldout)
    write_lines(folder / "train", lines)
    return measure_floors(folder / "train", folder, encoder)


def test_floors_by_hand(tmp_path, encoder):
    found = measured(tmp_path, encoder, TEXT, ["the cats"]).iloc[0]
    pieces = len(PIECES)
    # 6 pieces: the 2, dog, cat, s, a 1 each.
    the, cat, s = 3 / (6 + pieces), 2 / (6 + pieces), 2 / (6 + pieces)
    assert found["unigram_nats"] == pytest.approx(-np.log(the * cat * s))
    # Words of one piece: 4 and 3 distinct; the first of two: 1 and 1; the second: 1 and 1.
    the, cat, s = (2 + 3 * the) / (4 + 3), (1 + cat) / 2, (1 + s) / 2
    assert found["placed_nats"] == pytest.approx(-np.log(the * cat * s))
    # Of 5 words 4 are one piece and 1 two.
    assert found["count_nats"] == pytest.approx(-np.log((4 + 1 / 2) / 6 * (1 + 1 / 4) / 6))
    assert found[["line", "words", "characters"]].tolist() == [0, 2, 7]


def test_the_lines_are_those_that_a_model_predicts(tmp_path):
    make_shards(tmp_path)
    encoder = load_encoder(tmp_path / "vocabulary")
    held = open_heldout(tmp_path / "shards", encoder)
    found = measure_floors(tmp_path / "train.txt.zst", tmp_path / "shards", encoder)
    assert found["line"].tolist() == held.lines.tolist()
    assert found["words"].sum() == len(held.words)
    assert found["characters"].sum() == held.words["characters"].sum()
