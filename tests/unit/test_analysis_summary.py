"""The summary of a corpus small enough to compute by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reproduction.analysis.summary import sample_efficiency, summarise
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.segmentation.counts import SegmentedCorpus, count_corpus
from sagevocab.segmentation.segmenter import GreedySegmenter

PIECES = ["▁", "a", "b", "▁ab", "c", "unused"]
# ▁ab | ▁ab c | ▁ b UNK   and   ▁ a
LINES = ["ab abc bß", "a"]


@pytest.fixture(scope="module")
def summary() -> dict:
    corpus = WordCorpus.from_lines(LINES, Normalizer("identity"))
    counts = count_corpus(SegmentedCorpus(corpus, GreedySegmenter(PIECES)))
    return summarise(corpus, counts, efficiency_lines=1, seed=1)


def test_measures_by_hand(summary):
    expected = {
        "lines": 2,
        "words": 4,
        "characters": sum(map(len, LINES)),
        "bytes": sum(len(line.encode()) for line in LINES),
        "tokens": 8,
        "tokens_per_character": 8 / 10,
        "tokens_per_byte": 8 / 11,
        "whole_word_share": 1 / 4,
        "unknown_share": 1 / 8,
        "vocabulary": 6,
        "pieces_seen": 5,
        "vocabulary_use": 5 / 6,
        "type_token_ratio": 5 / 7,
        "word_initial_share": 4 / 8,
        "single_character_share": 5 / 8,  # ▁ twice, a, b, c once each
        # ▁ has length 0, ▁ab has 2: (0*2 + 1 + 1 + 2*2 + 1) / 7
        "mean_token_length": 1.0,
        "mean_piece_length": (0 + 1 + 1 + 2 + 1 + 6) / 6,
    }
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    fertility = summary["fertility"]
    assert fertility["low"] <= fertility["value"] == 2.0 <= fertility["high"]


def test_entropy_measures(summary):
    shares = np.array([2, 1, 1, 2, 1]) / 7
    shannon = -(shares * np.log2(shares)).sum()
    renyi = np.log2((shares**2.5).sum()) / -1.5
    assert summary["shannon_entropy"] == pytest.approx(shannon)
    assert summary["shannon_efficiency"] == pytest.approx(shannon / np.log2(6))
    assert summary["renyi_efficiency"] == pytest.approx(renyi / np.log2(6))


def test_a_sample_larger_than_the_corpus_is_the_corpus():
    corpus = WordCorpus.from_lines(LINES, Normalizer("identity"))
    counts = count_corpus(SegmentedCorpus(corpus, GreedySegmenter(PIECES)))
    assert sample_efficiency(counts, 150_000, seed=3) == {"lines": 2, "words": 4, "tokens": 8}


def test_the_sample_is_drawn_without_replacement_and_by_its_seed():
    corpus = WordCorpus.from_lines(["a"] * 20, Normalizer("identity"))
    counts = count_corpus(SegmentedCorpus(corpus, GreedySegmenter(PIECES)))
    counts = dataclasses.replace(counts, words=2 ** np.arange(20))
    drawn = [sample_efficiency(counts, 10, seed)["words"] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0].bit_count() == 10  # ten different powers of two
