"""Counts of a corpus small enough to count by hand, and the files they are read from."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.analysis import counts
from sagevocab.corpus.words import Normalizer, WordCorpus, split_words
from sagevocab.segmentation import counts as counting
from sagevocab.segmentation.segmenter import GreedySegmenter

PIECES = ["▁", "a", "b", "▁ab", "c", "unused"]
# ▁ab | ▁ab c | ▁ b UNK   and   ▁ a
LINES = ["ab abc bß", "a"]


@pytest.fixture
def corpus() -> WordCorpus:
    return WordCorpus.from_lines(LINES, Normalizer("identity"))


@pytest.fixture
def counted(corpus: WordCorpus) -> tuple:
    segmented = counting.SegmentedCorpus(corpus, GreedySegmenter(PIECES))
    windows = [2, 1]
    return counting.count_corpus(segmented), windows, counts.count_neighbours(segmented, windows)


def test_files_are_read_back_as_they_were_counted(tmp_path, counted):
    counted, *given = counted
    counts.write_counts(counted, tmp_path, *given)
    frequencies = counts.read_frequencies(tmp_path / "frequencies.parquet")
    assert frequencies["▁ab"] == 2
    assert frequencies.index.tolist() == PIECES
    fertility = counts.read_fertility(tmp_path / "fertility.parquet")
    assert fertility.to_dict() == {1: 1, 2: 2, 3: 1}
    neighbours = counts.read_neighbours(tmp_path / "neighbours.parquet")
    tables = counts.tables_of(counted, *given)
    pd.testing.assert_frame_equal(neighbours, tables["neighbours"], check_dtype=False)
    lines = counts.read_lines(tmp_path / "lines.parquet")
    assert lines["tokens"].tolist() == [6, 2]


# --- neighbours

WORDS = st.lists(st.text("abcß ", max_size=25), max_size=12)
LONGER = st.lists(st.text("▁abc", min_size=2, max_size=4), max_size=12)


def neighbour_oracle(lines: list[list[int]], window: int, size: int) -> list[int]:
    met: list[set[int]] = [set() for _ in range(size)]
    for tokens in lines:
        for i, target in enumerate(tokens):
            for j, context in enumerate(tokens):
                if 0 < abs(i - j) <= window and target >= 0 and context >= 0:
                    met[target].add(context)
    return [len(pieces) for pieces in met]


@given(WORDS, LONGER, st.integers(1, 5), st.sampled_from([200, 5000, 1 << 20]))
@settings(max_examples=60)
def test_neighbours_equal_the_oracle_with_any_threads_and_memory(lines, longer, threads, budget):
    segmenter = GreedySegmenter([*dict.fromkeys([*"▁abc", *longer, *map(str, range(70))])])
    normalizer, windows = Normalizer("identity"), [5, 2]
    corpus = counting.SegmentedCorpus(WordCorpus.from_lines(lines, normalizer), segmenter)
    spelled = [
        [piece for word in split_words(normalizer(line)) for piece in segmenter.segment(word)]
        for line in lines
    ]
    found = counts.count_neighbours(corpus, windows, threads=threads, budget=budget)
    size = len(segmenter.pieces)
    assert found.tolist() == [neighbour_oracle(spelled, window, size) for window in windows]
