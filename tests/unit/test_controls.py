"""Controls of SaGe: prunings that look at no context, each beside a slow one by its definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.controls import (
    extra_tokens,
    frequency,
    largest_share_swallowed,
    prune_lowest,
    prune_random,
)
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.pieces import is_single_character
from sagevocab.segmentation.segmenter import GreedySegmenter

PIECES = ["▁", "a", "b", "c", "▁a", "ab", "▁ab", "bc", "abc", "▁abc", "▁abcab"]
LINES = ["abcab abc ab bc", "ab ab c", "abc abcab abcab"]


@pytest.fixture
def corpus() -> WordCorpus:
    return WordCorpus.from_lines(LINES, Normalizer())


def slow_frequency(corpus: WordCorpus, pieces: list[str], final: int, batch: int) -> list[str]:
    """Prune as the docstring says, counting with a new segmenter each time."""
    pieces, pruned = list(pieces), []
    while len(pieces) > final:
        segmenter, counts = GreedySegmenter(pieces), Counter()
        for word, count in zip(corpus.types, corpus.counts.tolist(), strict=True):
            for number in segmenter.segment(word):
                counts[pieces[number]] += count
        prunable = [piece for piece in pieces if not is_single_character(piece)]
        prunable.sort(key=lambda piece: (counts[piece], -PIECES.index(piece)))
        lowest = prunable[: min(batch, len(pieces) - final)]
        pruned += lowest
        pieces = [piece for piece in pieces if piece not in lowest]
    return pruned


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_least_frequent_go_first_counted_anew_before_every_batch(
    corpus: WordCorpus, batch: int
) -> None:
    left, pruned = prune_lowest(PIECES, 6, frequency(corpus, PIECES), batch)
    assert pruned["piece"] == slow_frequency(corpus, PIECES, 6, batch)
    assert left == [piece for piece in PIECES if piece not in set(pruned["piece"])]
    assert pruned["iteration"].tolist() == [order // batch for order in range(5)]


def test_random_draws_are_seeded_and_spare_single_characters() -> None:
    left, pruned = prune_random(PIECES, 6, seed=1)
    assert prune_random(PIECES, 6, seed=1)[0] == left
    assert len({tuple(prune_random(PIECES, 6, seed=seed)[0]) for seed in range(20)}) > 5
    assert {"▁", "a", "b", "c", "▁a"} <= set(left)
    assert sorted([*left, *pruned["piece"]]) == sorted(PIECES)


def test_single_characters_are_never_pruned(corpus: WordCorpus) -> None:
    with pytest.raises(UserError, match="4 is below the 5 single characters"):
        prune_random(PIECES, 4, seed=1)
    with pytest.raises(UserError, match="4 is below the 5 single characters"):
        prune_lowest(PIECES, 4, frequency(corpus, PIECES), 1)


# --- scores that count, beside their definitions

# A vocabulary as BPE makes it, in the order of its merges.
MERGES = [("a", "b"), ("▁", "ab"), ("b", "c"), ("ab", "ab"), ("▁ab", "c"), ("c", "ab")]
MERGED = ["▁", "a", "b", "c", *(left + right for left, right in MERGES)]
EVERYTHING = np.ones(len(MERGED), dtype=bool)
SOME_LINES = st.lists(
    st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=4).map(" ".join),
    min_size=1,
    max_size=6,
)


def words_of(lines: list[str]) -> list[list[str]]:
    return [["▁" + word for word in line.split()] for line in lines]


def corpus_of(lines: list[str]) -> WordCorpus:
    return WordCorpus.from_lines(lines, Normalizer())


@settings(max_examples=25)
@given(SOME_LINES, st.sets(st.sampled_from(MERGED[4:])))
def test_extra_tokens_are_those_of_segmenting_again(lines, gone):
    left = [piece for piece in MERGED if piece not in gone]
    alive = np.array([piece in left for piece in MERGED])

    def tokens(pieces):
        segmenter = GreedySegmenter(pieces)
        return sum(len(segmenter.segment(word)) for line in words_of(lines) for word in line)

    scores = extra_tokens(corpus_of(lines), MERGED)(alive)
    for number, piece in enumerate(MERGED):
        if piece in left and not is_single_character(piece):
            without = [other for other in left if other != piece]
            assert scores[number] == tokens(without) - tokens(left)


def test_a_share_that_is_swallowed_by_hand():
    # `b` is made 4 times. `ab` takes 3 of them, then `bc` the one left: 3/4 and 1/1.
    # `ab` is made 3 times; `▁ab` takes 1 of 3, `abab` nothing, `cab` 1 of the 2 left.
    scores = largest_share_swallowed(corpus_of(["ab aab cab bc"]), MERGED, MERGES)(EVERYTHING)
    found = dict(zip(MERGED, (-scores).tolist(), strict=True))
    assert (found["b"], found["ab"], found["cab"], found["▁ab"]) == (1.0, 1 / 2, 0.0, 0.0)


@settings(max_examples=25)
@given(SOME_LINES)
def test_a_share_that_is_swallowed_is_that_of_merging_step_by_step(lines):
    words = [list(word) for line in words_of(lines) for word in line]
    shares = Counter()
    for left, right in MERGES:
        before = Counter(token for word in words for token in word)
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == (left, right):
                    word[at : at + 2] = [left + right]
                at += 1
        after = Counter(token for word in words for token in word)
        for piece in {left, right}:
            taken = before[piece] - after[piece]
            shares[piece] = max(shares[piece], taken / before[piece] if taken else 0.0)
    scores = largest_share_swallowed(corpus_of(lines), MERGED, MERGES)(EVERYTHING)
    assert (-scores).tolist() == [shares[piece] for piece in MERGED]
