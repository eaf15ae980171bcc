"""WordPiece in sentencepiece's notation."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import reproduction
import sagevocab
from reproduction.wordpiece import train_wordpiece
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.pieces import WORD_START
from vocabulary_samples import english

KEY = "vocabulary.vocab_size"
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


@pytest.mark.parametrize(("size", "message"), [(20, "which take"), (10**6, "at most")])
def test_wordpiece_sizes_that_are_impossible(size, message):
    with pytest.raises(UserError, match=message):
        train_wordpiece(words_of(REAL[:30]), size, 1.0, KEY)


def test_wordpiece_is_the_same_in_every_process():
    """The trainer's hash tables are seeded anew in each process, and its threads race."""
    program = (
        "import sys, json; sys.path[:0] = sys.argv[1:];"
        "from reproduction.wordpiece import train_wordpiece;"
        "from sagevocab.corpus.words import Normalizer, WordCorpus;"
        "lines = json.load(sys.stdin);"
        "corpus = WordCorpus.from_lines(lines, Normalizer());"
        "print(json.dumps(train_wordpiece(corpus, 1500, 0.9995, 'key')))"
    )
    houses = [str(Path(house.__file__).parents[1]) for house in (sagevocab, reproduction)]
    digests = set()
    for threads in ("1", "4"):
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
