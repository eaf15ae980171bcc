from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch

from lm_samples import ASKED, PIECES, make_shards, make_vocabulary
from reproduction.lm.heldout import (
    HeldoutSettings,
    HeldoutWords,
    asked_words,
    open_heldout,
    write_heldout,
)
from reproduction.lm.scoring import score_words, summarise_words
from reproduction.lm.tokenizer import load_encoder
from sagevocab.corpus.text import write_lines
from sagevocab.errors import UserError

PAD, UNK, CLS, SEP, MASK = range(5)


def encoded(folder, lines, *, length=64, pieces=None, settings=ASKED):
    """Held-out words of `lines` under a vocabulary in `folder`, and its encoder."""
    encoder = load_encoder(make_vocabulary(folder, pieces))
    write_lines(folder / "heldout.txt", lines)
    path, text = folder / "heldout.npz", folder / "heldout.txt"
    counts = write_heldout(path, text, encoder, settings, sequence_length=length)
    return open_heldout(folder, encoder), encoder, counts


class Fake:
    """Logits that depend on every visible token of a row and on the place; remembers its calls."""

    def __init__(self, size):
        generator = torch.Generator().manual_seed(0)
        self.seen = torch.randn(size, size, generator=generator, dtype=torch.float64)
        self.place = torch.randn(80, size, generator=generator, dtype=torch.float64)

    def __call__(self, input_ids, positions, attention_mask):
        bag = (self.seen[input_ids] * attention_mask.unsqueeze(-1)).sum(1, keepdim=True)
        return (bag / 8 + self.place[positions]).flatten(0, 1).float()


def test_scores_worked_by_hand():
    # [CLS] 5 6 7 [SEP]: the word "5 6" of 4 characters and the word "7" of 3, then a line of 8.
    held = HeldoutWords(
        lines=np.array([3, 9]),
        rows=[np.array([CLS, 5, 6, 7, SEP]), np.array([CLS, 8, SEP])],
        words=pd.DataFrame(
            {"row": [0, 0, 1], "start": [1, 3, 1], "pieces": [2, 1, 1], "characters": [4, 3, 1]}
        ),
        mask=MASK,
    )
    rows = {}

    def logits_of(input_ids, positions, attention_mask):
        for row, places, shown in zip(input_ids, positions, attention_mask, strict=True):
            rows[tuple(row[shown].tolist())] = places.tolist()
        # Piece 5 has 1/2, pieces 6 and 7 have 1/4, the rest nothing: 5 is the most probable.
        probabilities = torch.tensor([1e-30] * 5 + [0.5, 0.25, 0.25, 1e-30])
        return probabilities.log().expand(positions.numel(), -1)

    frame = score_words(logits_of, held, pad=PAD, batch=8)
    assert rows == {
        (CLS, MASK, MASK, MASK, SEP): [1, 3],
        (CLS, 5, MASK, 7, SEP): [2, 0],
        (CLS, MASK, SEP): [1, 0],
    }
    first, second = frame.to_dict("records")
    assert first.pop("nats") == pytest.approx(5 * math.log(2))
    assert first == {
        "line": 3,
        "words": 2,
        "characters": 7,
        "pieces": 3,
        "right_words": 0,
        "right_pieces": 1,
    }
    assert second["nats"] == pytest.approx(30 * math.log(10), rel=1e-6)
    assert summarise_words(frame.iloc[:1]) == {
        "heldout_bits_per_character": pytest.approx(5 / 7),
        "heldout_word_accuracy": 0,
        "heldout_loss": pytest.approx(5 * math.log(2) / 3),
        "heldout_accuracy": pytest.approx(1 / 3),
    }
    one_word_right = frame.assign(right_words=[1, 0])
    assert summarise_words(one_word_right)["heldout_word_accuracy"] == pytest.approx(1 / 3)


LINES = ["the cat sees the house.", "a dog", "my sister, hears", "the ж moon", "teacher"]


def one_piece_at_a_time(held, encoder, logits_of):
    """The nats of each line: a row and a call for every piece, without padding."""
    nats = np.zeros(len(held.lines))
    for word in held.words.itertuples():
        others = held.words[held.words.row == word.row]
        for step in range(word.pieces):
            row = torch.tensor(held.rows[word.row])
            label, place = row[word.start + step].item(), torch.tensor([[word.start + step]])
            for other in others.itertuples():
                row[other.start + step : other.start + max(step, other.pieces)] = encoder.mask
            logits = logits_of(row[None], place, torch.ones(1, len(row), dtype=bool))[0].double()
            nats[word.row] -= (logits[label] - logits.logsumexp(0)).item()
    return nats


@pytest.mark.parametrize("batch", [3, 64])
def test_equals_asking_one_piece_at_a_time(tmp_path, batch):
    settings = HeldoutSettings(lines=5, rate=0.6, seed=2)
    held, encoder, _ = encoded(tmp_path, LINES, settings=settings)
    assert held.words["pieces"].max() > 3
    logits_of = Fake(encoder.size)
    frame = score_words(logits_of, held, pad=encoder.pad, batch=batch)
    expected = one_piece_at_a_time(held, encoder, logits_of)
    np.testing.assert_allclose(frame["nats"], expected, rtol=1e-5)


def test_a_words_pieces_are_its_own_and_its_characters_the_texts(tmp_path):
    held, encoder, counts = encoded(tmp_path, LINES, settings=HeldoutSettings(5, 1.0, 1))
    words = [(row, word) for row, line in enumerate(LINES) for word in line.split()]
    known = [(row, word) for row, word in words if word != "ж"]
    assert [
        (row, held.rows[row][start : start + pieces].tolist(), characters)
        for row, start, pieces, characters in held.words.itertuples(index=False)
    ] == [(row, encoder.encode([word])[0], len(word)) for row, word in known]
    assert counts == {"lines": 5, "words": len(known), "left_out": 1}


def test_words_that_do_not_fit_a_row_are_left_out(tmp_path):
    letters = [piece for piece in PIECES if len(piece) == 1]
    whole, *_ = encoded(tmp_path / "whole", LINES, pieces=letters)
    cut, *_ = encoded(tmp_path / "cut", LINES, pieces=letters, length=16)
    assert cut.lines.tolist() == whole.lines.tolist()
    assert (cut.rows[0].size, cut.rows[0][-1]) == (16, SEP)
    assert len(cut.words) < len(whole.words)
    assert (cut.words["start"] + cut.words["pieces"] <= 15).all()


def test_the_share_of_words_is_drawn_and_at_least_one():
    settings = HeldoutSettings(lines=1, rate=0.15, seed=1)
    assert [len(asked_words(words, 0, settings)) for words in (1, 3, 10, 20, 40)] == [1, 1, 2, 3, 6]
    chosen = [tuple(asked_words(40, line, settings)) for line in range(20)]
    assert len(set(chosen)) == 20
    assert all(len(set(words)) == 6 and max(words) < 40 for words in chosen)


def test_lines_are_spread_over_the_text_and_empty_ones_skipped(tmp_path):
    lines = [word for number in range(20) for word in ("", f"a dog{number % 10}")]
    held, *_ = encoded(tmp_path, lines, settings=HeldoutSettings(5, 0.15, 1))
    assert held.lines.tolist() == [1, 9, 17, 25, 33]


def test_words_of_another_tokenizer_are_refused(tmp_path):
    shards = make_shards(tmp_path)
    assert len(open_heldout(shards, load_encoder(tmp_path / "vocabulary")).rows) == ASKED.lines
    other = load_encoder(make_vocabulary(tmp_path / "other", [*PIECES, "ird"]))
    with pytest.raises(UserError, match=r"heldout\.npz: .*another tokenizer"):
        open_heldout(shards, other)
