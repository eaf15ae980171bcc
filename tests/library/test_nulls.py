"""Vocabularies pruned at random and by frequency."""

from collections import Counter

import numpy as np
import pytest

from sagevocab.baselines import prune_least_frequent, prune_random
from sagevocab.errors import UserError
from sagevocab.pieces import is_single_character
from sagevocab.segment import GreedySegmenter
from sagevocab.words import Normalizer, WordCorpus

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
    left, pruned = prune_least_frequent(corpus, PIECES, 6, batch)
    assert pruned["piece"] == slow_frequency(corpus, PIECES, 6, batch)
    assert left == [piece for piece in PIECES if piece not in set(pruned["piece"])]
    assert pruned["iteration"].tolist() == [order // batch for order in range(5)]


def test_a_pruned_piece_makes_others_more_frequent(corpus: WordCorpus) -> None:
    # `abc` and `ab` never occur; `▁bc` is `▁`, `bc`. Without `▁abcab`, its words are `▁abc`, `ab`.
    _, pruned = prune_least_frequent(corpus, PIECES, 9, 1)
    assert pruned["piece"] == ["abc", "ab"]


def test_random_draws_are_seeded_and_spare_single_characters() -> None:
    left, pruned = prune_random(PIECES, 6, seed=1)
    assert prune_random(PIECES, 6, seed=1)[0] == left
    assert len({tuple(prune_random(PIECES, 6, seed=seed)[0]) for seed in range(20)}) > 5
    assert {"▁", "a", "b", "c", "▁a"} <= set(left)
    assert sorted([*left, *pruned["piece"]]) == sorted(PIECES)


def test_every_prunable_piece_is_as_likely_to_go() -> None:
    draws = [prune_random(PIECES, 8, seed)[1]["piece"] for seed in range(600)]
    counts = np.array(list(Counter(piece for drawn in draws for piece in drawn).values()))
    assert len(counts) == 6 and counts.min() > 240 and counts.max() < 360  # 300 +- 12 (SD)


def test_single_characters_are_never_pruned(corpus: WordCorpus) -> None:
    with pytest.raises(UserError, match="4 is below the 5 single characters"):
        prune_random(PIECES, 4, seed=1)
    with pytest.raises(UserError, match="4 is below the 5 single characters"):
        prune_least_frequent(corpus, PIECES, 4, 1)
