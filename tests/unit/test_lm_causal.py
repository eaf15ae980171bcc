"""Causal models: what they read, and what they need for a line."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch

from lm_samples import make_vocabulary, sentences
from reproduction.analysis.ngrams import (
    BOUND,
    FIRST_PIECE,
    SPELLING,
    UNKNOWN,
    CodedLines,
)
from reproduction.lm import causal as module
from reproduction.lm.causal import build_model, rows_of, train_causal
from reproduction.lm.settings import CausalSettings
from reproduction.lm.training import seed_torch
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.huggingface.segmenter import load_segmenter

TINY = {"layers": 1, "hidden": 16, "heads": 2, "longest": 16, "lines": 120, "batch": 8}
TINY |= {"learning_rate": 0.02, "validation_every": 0.5, "heldout_lines": 5}
CORPUS = WordCorpus.from_lines(sentences(150), Normalizer())
ASKED = WordCorpus.from_lines([*sentences(18, seed=1), "a λ", "x " * 30], Normalizer())


@pytest.fixture(scope="module")
def segmenter(tmp_path_factory):
    return load_segmenter(make_vocabulary(tmp_path_factory.mktemp("words")))


def train(segmenter, output, seed=1, arguments=None, **overrides) -> pd.DataFrame:
    settings = CausalSettings(**(TINY | overrides))
    arguments = {"seed": seed, "state_dir": output.with_suffix(".state")} | (arguments or {})
    train_causal(CORPUS, ASKED, segmenter, output, settings, **arguments)
    return pd.read_parquet(output)


def test_a_row_is_a_line_and_a_long_line_continues_in_another():
    stream = np.array([BOUND, 5, 6, BOUND, 7, 8, 9, 4, BOUND])
    coded = CodedLines(stream, characters=np.array([2, 4]), spelled=np.zeros(2))
    rows = [(row.line, row.symbols.tolist()) for row in rows_of(coded, np.array([1, 0]), 3)]
    assert rows == [(1, [BOUND, 7, 8, 9]), (1, [9, 4, BOUND]), (0, [BOUND, 5, 6, BOUND])]


def test_bits_are_those_of_each_line_by_itself(segmenter, tmp_path):
    # At such a rate the one update changes no weight.
    measured = train(segmenter, tmp_path / "bits", lines=8, longest=48, learning_rate=1e-30)
    seed_torch(1, module.INITIAL_WEIGHTS)
    settings = CausalSettings(**TINY | {"longest": 48})
    model = build_model(len(segmenter.pieces) + FIRST_PIECE, settings).eval()
    assert measured["line"].tolist() == list(range(20))
    for words, row in zip([*sentences(18, seed=1), "a λ"], measured.itertuples(), strict=False):
        ids, _ = segmenter.segment_words([f"▁{word}" for word in words.split()])
        symbols = torch.tensor([BOUND, *(np.maximum(ids, -1) + FIRST_PIECE), BOUND])
        with torch.no_grad():
            states = model.transformer(symbols[None, :-1]).last_hidden_state
            p = model.lm_head(states)[0].softmax(-1)
        expected = -p[torch.arange(len(symbols) - 1), symbols[1:]].log2().sum().item()
        unknown = SPELLING * (symbols == UNKNOWN).sum().item()
        assert row.bits == pytest.approx(expected + unknown, rel=1e-5)
        assert row.characters == len(words) + 1
    # 30 words of two pieces and an end, in two rows
    assert measured["bits"].iloc[-1] == pytest.approx(
        61 * math.log2(model.config.vocab_size), rel=0.05
    )


def test_the_last_validation_asks_all_lines_and_seeds_draw_their_own(segmenter, tmp_path):
    first, second = (train(segmenter, tmp_path / str(seed), seed) for seed in (1, 2))
    assert first.groupby("step")["line"].unique().map(list).to_dict() == {
        8: [0, 4, 8, 12, 16],
        15: list(range(20)),
    }
    assert first["seen"].iloc[-1] != second["seen"].iloc[-1]
    assert first["seconds"].is_monotonic_increasing
