"""Counts of a corpus small enough to count by hand, and the files they are read from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.analysis import counts
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.segmentation import counts as counting
from sagevocab.segmentation.segmenter import GreedySegmenter

PIECES = ["▁", "a", "b", "▁ab", "c", "unused"]
# ▁ab | ▁ab c | ▁ b UNK   and   ▁ a
LINES = ["ab abc bß", "a"]


@pytest.fixture
def corpus() -> WordCorpus:
    return WordCorpus.from_lines(LINES, Normalizer("identity"))


@pytest.fixture
def counted(corpus: WordCorpus) -> counting.Counts:
    return counting.count_corpus(corpus, GreedySegmenter(PIECES), windows=[2, 1])


def test_rank_and_ratio(counted, monkeypatch):
    neighbours = counts.tables_of(counted)["neighbours"]
    ranked = counts.rank_neighbours(neighbours, 2)
    assert ranked.index.tolist() == ["▁", "▁ab", "c", "b", "a", "unused"]
    assert ranked.tolist() == [4, 3, 3, 2, 1, 0]
    assert counts.neighbour_ratio(neighbours, 2).empty  # none occurs ten times
    monkeypatch.setattr(counts, "FEWEST_OCCURRENCES", 1)
    ratio = counts.neighbour_ratio(neighbours, 2)
    assert ratio.to_dict() == {"▁": 2.0, "a": 1.0, "b": 2.0, "▁ab": 1.5, "c": 3.0}


def test_empty_corpus_counts_nothing():
    corpus = WordCorpus.from_lines([], Normalizer("identity"))
    counted = counting.count_corpus(corpus, GreedySegmenter(PIECES))
    assert counted.frequencies.sum() == counted.neighbours.sum() == counted.fertility.sum() == 0
    tables = counts.tables_of(counted)
    assert tables["fertility"].empty
    assert tables["lines"].empty


def test_files_are_read_back_as_they_were_counted(tmp_path, counted):
    counts.write_counts(counted, tmp_path)
    frequencies = counts.read_frequencies(tmp_path / "frequencies.parquet")
    assert frequencies["▁ab"] == 2
    assert frequencies.index.tolist() == PIECES
    fertility = counts.read_fertility(tmp_path / "fertility.parquet")
    assert fertility.to_dict() == {1: 1, 2: 2, 3: 1}
    neighbours = counts.read_neighbours(tmp_path / "neighbours.parquet")
    tables = counts.tables_of(counted)
    pd.testing.assert_frame_equal(neighbours, tables["neighbours"], check_dtype=False)
    lines = counts.read_lines(tmp_path / "lines.parquet")
    assert lines["tokens"].tolist() == [6, 2]


# --- totals by line


def test_no_line_has_no_totals():
    corpus = WordCorpus.from_lines([], Normalizer("nmt_nfkc"))
    empty = counts.LineTotals(corpus, GreedySegmenter(PIECES))
    assert empty.tokens.shape == (0,)
    assert empty.histogram(3).shape == (0, 3)
    assert empty.occurrences(["s"]).dtype == np.int64
