"""Totals by line: a small text worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sagevocab.analysis.line_totals import LineTotals
from sagevocab.vocab.segment import GreedySegmenter
from sagevocab.vocab.words import Normalizer, WordCorpus

LINES = ["cats sing", "cats cats x", "singing"]
# ▁cats = ▁cat s | ▁sing = ▁ s ing | ▁x = ▁ ? | ▁singing = ▁ s ing ing
PIECES = ["▁", "s", "▁cat", "ing"]


@pytest.fixture
def totals() -> LineTotals:
    corpus = WordCorpus.from_lines(LINES, Normalizer("nmt_nfkc"))
    return LineTotals(corpus, GreedySegmenter(PIECES))


def test_totals_of_a_small_text(totals: LineTotals):
    assert totals.words.tolist() == [2, 3, 1]
    assert totals.tokens.tolist() == [5, 6, 4]
    assert totals.words_with(2, 2).tolist() == [1, 3, 0]
    assert totals.words_with(3).tolist() == [1, 0, 1]
    assert totals.words_with(1, 1).tolist() == [0, 0, 0]
    assert totals.histogram(4).tolist() == [[0, 1, 1, 0], [0, 3, 0, 0], [0, 0, 0, 1]]
    assert totals.histogram(3).tolist() == [[0, 1, 1], [0, 3, 0], [0, 0, 1]]


def test_occurrences_leave_uncovered_characters_and_foreign_pieces_out(totals: LineTotals):
    assert totals.occurrences(["s"]).tolist() == [2, 2, 1]
    assert totals.occurrences(["▁", "ing"]).tolist() == [2, 1, 3]
    assert totals.occurrences(["og"]).tolist() == [0, 0, 0]
    # The `x` that no piece covers is the one token that is none of the pieces.
    assert (totals.tokens - totals.occurrences(PIECES)).tolist() == [0, 1, 0]


def test_no_line_has_no_totals():
    empty = LineTotals(WordCorpus.from_lines([], Normalizer("nmt_nfkc")), GreedySegmenter(PIECES))
    assert empty.tokens.shape == (0,)
    assert empty.histogram(3).shape == (0, 3)
    assert empty.occurrences(["s"]).dtype == np.int32
