"""Vectors of a finished vocabulary."""

from __future__ import annotations

import numpy as np

from reproduction.analysis.vectors import train_vectors
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.segmentation.segmenter import GreedySegmenter
from sagevocab.settings import Word2VecSettings

PIECES = ["▁a", "▁b", "▁c", "d", "never"]
SETTINGS = Word2VecSettings(trainer="blocks", dimension=8, epochs=1)


def trained(seeds, lines):
    texts = ["a b c ad", "b c a", "c cd a", "a a b"] * 30
    corpus = WordCorpus.from_lines(texts, Normalizer())
    return train_vectors(corpus, GreedySegmenter(PIECES), SETTINGS, seeds, lines=lines)


def test_each_seed_draws_its_lines_and_starts_anew():
    found = trained([1, 2], lines=50)
    assert list(found) == ["1", "2"]
    assert {matrix.shape for matrix in found.values()} == {(len(PIECES), 8)}
    assert not np.allclose(found["1"], found["2"])
    np.testing.assert_array_equal(trained([2], lines=50)["2"], found["2"])
    assert not np.array_equal(trained([2], lines=1000)["2"], found["2"])
