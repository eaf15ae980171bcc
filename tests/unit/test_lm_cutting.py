"""Causal models that lose pieces: what is left is the trained model, and what lines cost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from lm_samples import LONGER, PIECES, sentences
from reproduction.analysis.ngrams import BOUND, FIRST_PIECE
from reproduction.lm import cutting
from reproduction.lm.causal import build_model
from reproduction.lm.cutting import LAST_MERGED, WHOLE, cut, measure_cut_models, train_whole
from reproduction.lm.settings import CausalSettings
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.segmentation.segmenter import GreedySegmenter

TINY = {"layers": 1, "hidden": 16, "heads": 2, "longest": 16, "lines": 40, "batch": 8}
SIZES = [len(PIECES) - 2, len(PIECES) - 5]
SETTINGS = CausalSettings(**TINY, cut_sizes=SIZES)
CORPUS = WordCorpus.from_lines(sentences(60), Normalizer())
HELDOUT = WordCorpus.from_lines(sentences(10, seed=1), Normalizer())


def test_a_cut_model_is_the_same_model_with_fewer_answers():
    torch.manual_seed(0)
    model = build_model(FIRST_PIECE + 6, SETTINGS).eval()
    left = np.array([True, False, True, True, False, True])
    smaller = cut(model, left, SETTINGS)
    old = torch.tensor([BOUND, 2, 4, 5, 7, BOUND])  # symbols that stay, by their old numbers
    new = torch.tensor([BOUND, 2, 3, 4, 5, BOUND])
    with torch.no_grad():
        states = model.transformer(old[None]).last_hidden_state
        assert torch.equal(smaller.transformer(new[None]).last_hidden_state, states)
        logits = model.lm_head(states)[0, :-1][:, [0, 1, 2, 4, 5, 7]]
        expected = -logits.log_softmax(-1)[torch.arange(5), new[1:]]
        assert smaller(new[None], torch.tensor([6])).tolist() == pytest.approx(expected.tolist())


def test_every_pruning_is_measured_at_every_size(tmp_path, monkeypatch):
    monkeypatch.setattr(cutting, "_LINES", 5)
    weights, output = tmp_path / "weights", tmp_path / "bits"
    train_whole(CORPUS, PIECES, weights, SETTINGS, seed=1, state_dir=tmp_path / "state")
    measure_cut_models(weights, HELDOUT, PIECES, {"mine": LONGER}, output, SETTINGS)
    found = pd.read_parquet(output)
    symbols = found.groupby(["tokenizer", "size"])["symbols"].agg(list)
    pruned = {"mine": LONGER, WHOLE: []}
    pruned[LAST_MERGED] = [p for p in LONGER[::-1] if len(p.lstrip("▁")) > 1]
    expected = {(WHOLE, len(PIECES)): []}
    expected |= {(name, size): [] for name in ("mine", LAST_MERGED) for size in SIZES}
    for name, size in expected:
        gone = pruned[name][: len(PIECES) - size]
        segmenter = GreedySegmenter([piece for piece in PIECES if piece not in gone])
        for line in sentences(10, seed=1)[::2]:
            words = (segmenter.segment(f"▁{word}") for word in line.split())
            expected[name, size].append(1 + sum(map(len, words)))
    assert symbols.to_dict() == expected
    assert found["line"].unique().tolist() == [0, 2, 4, 6, 8]
