"""Counting against a brute-force oracle that spells out every line."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from sagevocab.corpus.words import Normalizer, WordCorpus, split_words
from sagevocab.segmentation import counts as counting
from sagevocab.segmentation.segmenter import GreedySegmenter

ALPHABET = "abcß"
LINES = st.lists(st.text(ALPHABET + " ", max_size=25), max_size=12)
MULTI = st.lists(st.text("▁abc", min_size=2, max_size=4), max_size=12)
WINDOWS = st.lists(st.integers(1, 7), min_size=1, max_size=3, unique=True)
NORMALIZER = Normalizer("identity")


def vocabulary_of(longer: list[str]) -> list[str]:
    return list(dict.fromkeys(["▁", "a", "b", "c", *longer, *(f"filler{n}" for n in range(70))]))


def spelled_out(lines: list[str], segmenter: GreedySegmenter) -> list[list[list[int]]]:
    """Return lines of words of piece ids, lines without words left out."""
    words = (split_words(NORMALIZER(line)) for line in lines)
    return [[segmenter.segment(word) for word in line] for line in words if line]


def neighbour_oracle(lines: list[list[list[int]]], window: int, size: int) -> list[int]:
    met: list[set[int]] = [set() for _ in range(size)]
    for line in lines:
        tokens = [piece for word in line for piece in word]
        for i, target in enumerate(tokens):
            for j, context in enumerate(tokens):
                if 0 < abs(i - j) <= window and target >= 0 and context >= 0:
                    met[target].add(context)
    return [len(pieces) for pieces in met]


@given(LINES, MULTI, WINDOWS)
@settings(max_examples=80)
def test_all_counts_equal_the_oracle(lines, longer, windows):
    segmenter = GreedySegmenter(vocabulary_of(longer))
    counted = counting.count_corpus(WordCorpus.from_lines(lines, NORMALIZER), segmenter, windows)
    spelled = spelled_out(lines, segmenter)
    tokens = Counter(piece for line in spelled for word in line for piece in word)
    size = len(segmenter.pieces)
    assert counted.frequencies.tolist() == [tokens[piece] for piece in range(size)]
    assert counted.unknown == tokens[-1]
    fertility = Counter(len(word) for line in spelled for word in line)
    found = {k: v for k, v in enumerate(counted.fertility.tolist()) if v}
    assert found == fertility
    assert counted.tokens.tolist() == [sum(map(len, line)) for line in spelled]
    assert counted.words.tolist() == [len(line) for line in spelled]
    expected = [count for w in windows for count in neighbour_oracle(spelled, w, size)]
    assert counted.neighbours.ravel().tolist() == expected


@given(LINES, MULTI, st.integers(1, 5), st.sampled_from([1, 200, 5000, 1 << 20]))
@settings(max_examples=40)
def test_neither_threads_nor_memory_change_a_count(lines, longer, threads, budget):
    segmenter = GreedySegmenter(vocabulary_of(longer))
    corpus = counting.SegmentedCorpus(WordCorpus.from_lines(lines, NORMALIZER), segmenter)
    plain = counting.count_neighbours(corpus, [5, 2])
    other = counting.count_neighbours(corpus, [5, 2], threads=threads, budget=budget)
    assert (plain == other).all()
