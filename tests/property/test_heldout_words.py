"""Held-out words: the same for any two vocabularies, and what is predicted spells the text."""

from __future__ import annotations

import string

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_samples import PIECES, make_vocabulary
from reproduction.lm.heldout import HeldoutSettings, open_heldout, write_heldout
from reproduction.lm.scoring import score_words
from reproduction.lm.tokenizer import load_encoder
from sagevocab.corpus.text import write_lines

LETTERS = [piece for piece in PIECES if len(piece) == 1]
LINES = st.lists(st.text(string.ascii_letters + " .ж", max_size=30), max_size=6)


PROBABLE = 512  # more than any vocabulary here has ids


def even(input_ids, positions, attention_mask):
    """A model without an opinion: all ids are equally probable."""
    return torch.zeros(positions.numel(), PROBABLE)


@settings(max_examples=10)
@given(
    lines=LINES,
    asked=st.builds(HeldoutSettings, st.integers(0, 6), st.floats(0, 1), st.integers(0, 9)),
    batch=st.integers(1, 9),
)
def test_vocabularies_predict_the_same(tmp_path_factory, lines, asked, batch):
    frames = []
    for pieces in (PIECES, LETTERS):
        folder = tmp_path_factory.mktemp("vocabulary")
        encoder = load_encoder(make_vocabulary(folder, pieces))
        write_lines(folder / "text", [line.replace("\n", " ") for line in lines])
        path, text = folder / "heldout.npz", folder / "text"
        counts = write_heldout(path, text, encoder, asked, sequence_length=128)
        held = open_heldout(folder, encoder)
        assert (held.words["start"] >= 1).all()
        assert counts["words"] == len(held.words)
        frames.append(score_words(even, held, pad=encoder.pad, batch=batch))
        nats = frames[-1]["pieces"] * np.log(PROBABLE)
        np.testing.assert_allclose(frames[-1]["nats"], nats, rtol=1e-5)
    same = ["line", "words", "characters"]
    assert frames[0][same].equals(frames[1][same])
    assert (frames[0]["pieces"] <= frames[1]["pieces"]).all()
