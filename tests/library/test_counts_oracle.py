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
NORMALIZER = Normalizer("identity")


def vocabulary_of(longer: list[str]) -> list[str]:
    return list(dict.fromkeys(["▁", "a", "b", "c", *longer, *(f"filler{n}" for n in range(70))]))


def spelled_out(lines: list[str], segmenter: GreedySegmenter) -> list[list[list[int]]]:
    """Return lines of words of piece ids, lines without words left out."""
    words = (split_words(NORMALIZER(line)) for line in lines)
    return [[segmenter.segment(word) for word in line] for line in words if line]


@given(LINES, MULTI)
@settings(max_examples=80)
def test_all_counts_equal_the_oracle(lines, longer):
    segmenter = GreedySegmenter(vocabulary_of(longer))
    corpus = WordCorpus.from_lines(lines, NORMALIZER)
    counted = counting.count_corpus(counting.SegmentedCorpus(corpus, segmenter))
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
