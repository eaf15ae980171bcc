"""Floors of the language models: by hand, as probabilities, and beside what is predicted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lm_samples import PIECES, make_shards, make_vocabulary, sentences
from reproduction.lm.floors import (
    _count_probabilities,
    _interpolated,
    _training_pieces,
    measure_floors,
)
from reproduction.lm.heldout import HeldoutSettings, open_heldout, write_heldout
from reproduction.lm.tokenizer import load_encoder
from sagevocab.errors import UserError
from sagevocab.text import write_lines

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


def test_the_pieces_of_a_text_are_counted_with_place_and_the_piece_before(encoder):
    seen, words = _training_pieces(TEXT, encoder)
    the, dog, cat, s, a = (encoder.encode([w])[0] for w in ("the", "dog", "cat", "s", "a"))
    # ▁s is a piece; the s of "cats" is another.
    inner = encoder.encode(["cats"])[0][1]
    assert s != [inner]
    found = seen.set_index(["pieces", "place", "previous", "piece"])["times"].to_dict()
    assert found == {
        (1, 0, encoder.cls, *the): 2,
        (1, 0, *the, *dog): 1,
        (2, 0, *the, *cat): 1,
        (2, 1, *cat, inner): 1,
        (1, 0, encoder.cls, *a): 1,
    }
    assert words.tolist() == [0, 4, 1]  # the word of an unknown character is left out


def test_floors_by_hand(tmp_path, encoder):
    found = measured(tmp_path, encoder, TEXT, ["the cats"]).iloc[0]
    pieces = len(PIECES)
    # 6 pieces: the 2, dog, cat, s, a 1 each.
    the, cat, s = 3 / (6 + pieces), 2 / (6 + pieces), 2 / (6 + pieces)
    assert found["unigram_nats"] == pytest.approx(-np.log(the * cat * s))
    # Words of one piece: 4 and 3 distinct; the first of two: 1 and 1; the second: 1 and 1.
    the, cat, s = (2 + 3 * the) / (4 + 3), (1 + cat) / 2, (1 + s) / 2
    assert found["placed_nats"] == pytest.approx(-np.log(the * cat * s))
    # One piece after [CLS]: 3 and 2 distinct; the others follow what they always follow.
    the, cat, s = (2 + 2 * the) / (3 + 2), (1 + cat) / 2, (1 + s) / 2
    assert found["bigram_nats"] == pytest.approx(-np.log(the * cat * s))
    # Of 5 words 4 are one piece and 1 two.
    assert found["count_nats"] == pytest.approx(-np.log((4 + 1 / 2) / 6 * (1 + 1 / 4) / 6))
    assert found[["line", "words", "characters"]].tolist() == [0, 2, 7]


def test_numbers_of_pieces_have_probabilities_that_sum_to_one():
    words = np.array([0, 5, 2, 0, 1])
    p = _count_probabilities(words, np.arange(1, 60))
    assert p.sum() == pytest.approx(1)
    assert (p > 0).all()


def test_interpolated_probabilities_sum_to_one_in_any_context():
    seen = pd.DataFrame(
        [(1, 0, 7, 3), (1, 0, 8, 1), (2, 0, 7, 2)], columns=["pieces", "place", "piece", "times"]
    )
    lower = np.linspace(1, 2, 10) / 15
    for context in ((1, 0), (2, 0), (9, 9)):
        asked = pd.DataFrame({"pieces": context[0], "place": context[1], "piece": range(10)})
        p = _interpolated(seen, asked, ["pieces", "place"], lower)
        assert p.sum() == pytest.approx(lower.sum())
        assert (p > 0).all()


def test_unseen_words_are_possible_and_more_context_is_better(tmp_path, encoder):
    found = measured(tmp_path, encoder, sentences(200), [*sentences(20, seed=1), "Zq9 xyz"]).sum()
    assert np.isfinite(found).all()
    assert found["unigram_nats"] > found["placed_nats"] > found["bigram_nats"] > 0


def test_the_lines_are_those_that_a_model_predicts(tmp_path):
    make_shards(tmp_path)
    encoder = load_encoder(tmp_path / "vocabulary")
    held = open_heldout(tmp_path / "shards", encoder)
    found = measure_floors(tmp_path / "train.txt.zst", tmp_path / "shards", encoder)
    assert found["line"].tolist() == held.lines.tolist()
    assert found["words"].sum() == len(held.words)
    assert found["characters"].sum() == held.words["characters"].sum()


def test_nothing_asked_gives_no_line_and_other_words_are_refused(tmp_path, encoder):
    assert measured(tmp_path, encoder, TEXT, []).empty
    other = load_encoder(make_vocabulary(tmp_path / "other", PIECES[:-1]))
    with pytest.raises(UserError, match="another tokenizer"):
        measure_floors(tmp_path / "train", tmp_path, other)
