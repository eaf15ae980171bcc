"""Vocabularies to compare SaGe with: pruned at random and by frequency, and WordPiece."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import reproduction
import sagevocab
from reproduction.baselines import prune_least_frequent, prune_random, train_wordpiece
from sagevocab.errors import UserError
from sagevocab.pieces import WORD_START, is_single_character
from sagevocab.segment import GreedySegmenter
from sagevocab.words import Normalizer, WordCorpus
from vocabulary_samples import english

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


# --- WordPiece

KEY = "vocabulary.final_size"
REAL = english()[:500]


def words_of(lines: list[str]) -> WordCorpus:
    return WordCorpus.from_lines(lines, Normalizer())


def test_wordpiece_by_hand():
    """`aab` three times and `ba` once: inside words `ab` counts 3 and beats all other pairs but
    `▁a a`, also 3; ties go to the pair of the symbols numbered first, `▁a` before `a`.
    """
    pieces = train_wordpiece(words_of(["aab aab aab ba"]), 7, 1.0, KEY)
    assert pieces == [WORD_START, "▁a", "a", "▁b", "b", "▁aa", "▁aab"]


@pytest.mark.parametrize("size", [300, 401])
def test_wordpiece_size_is_exact_and_covers_every_character(size):
    corpus = words_of(REAL)
    pieces = train_wordpiece(corpus, size, 1.0, KEY)
    assert len(pieces) == len(set(pieces)) == size
    assert set("".join(corpus.types)) <= set(pieces)
    assert {word[:2] for word in corpus.types} <= set(pieces)
    assert any(len(piece) > 4 for piece in pieces)


def test_wordpiece_leaves_rare_characters_uncovered():
    corpus = words_of(["ab " * 500 + "ax"])
    assert "x" in train_wordpiece(corpus, 7, 1.0, KEY)
    assert "x" not in "".join(train_wordpiece(corpus, 5, 0.999, KEY))


def test_wordpiece_with_the_mark_of_bert_in_the_text():
    """`##` in the corpus is text; a trainer that marks the inside of words by it would mix them."""
    pieces = train_wordpiece(words_of(["##a a## ###a"] * 3), 9, 1.0, KEY)
    assert len(set(pieces)) == 9
    assert set("".join(pieces)) == {"#", "a", WORD_START}


@pytest.mark.parametrize(("size", "message"), [(20, "which take"), (10**6, "largest possible")])
def test_wordpiece_sizes_that_are_impossible(size, message):
    with pytest.raises(UserError, match=message):
        train_wordpiece(words_of(REAL[:30]), size, 1.0, KEY)


def test_wordpiece_is_the_same_in_every_process():
    """The trainer's hash tables are seeded anew in each process, and its threads race."""
    program = (
        "import sys, json; sys.path[:0] = sys.argv[1:];"
        "from reproduction.baselines import train_wordpiece;"
        "from sagevocab.words import Normalizer, WordCorpus;"
        "lines = json.load(sys.stdin);"
        "corpus = WordCorpus.from_lines(lines, Normalizer());"
        "print(json.dumps(train_wordpiece(corpus, 1500, 0.9995, 'key')))"
    )
    houses = [str(Path(house.__file__).parents[1]) for house in (sagevocab, reproduction)]
    digests = set()
    for threads in ("1", "4", "4"):
        run = subprocess.run(
            [sys.executable, "-c", program, *houses],
            input=json.dumps(REAL),
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(hashlib.sha256(run.stdout.encode()).hexdigest())
    assert len(digests) == 1
