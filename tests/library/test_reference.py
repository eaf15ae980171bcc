"""The readable form of SaGe: its example by hand, and the fast engine beside it."""

from __future__ import annotations

import doctest

from hypothesis import given, settings
from hypothesis import strategies as st

from sage_samples import PIECES, SINGLES, vectors_for
from sagevocab import reference
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.pruning.sage import build_sage
from sagevocab.settings import settings_from
from sagevocab.word2vec.embeddings import Word2VecSettings

WORDS = st.text("abc", min_size=1, max_size=6)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=6)


def test_the_example_by_hand() -> None:
    outcome = doctest.testmod(reference)
    assert outcome.attempted > 5
    assert not outcome.failed


@given(LINES, st.integers(0, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=40)
def test_the_engine_prunes_as_the_reference_does(lines, kept, batch, every, retrain_every) -> None:
    sizes = {
        "vocab_size": SINGLES + kept,
        "prune_batch": batch,
        "candidates": batch * every + 1,
        "rerank_every": every,
        "retrain_every": retrain_every,
        "window": 2,
    }

    def numbers(pieces):
        made = vectors_for(pieces)
        matrices = made.target.astype(float).tolist(), made.context.astype(float).tolist()
        return tuple(dict(zip(pieces, matrix, strict=True)) for matrix in matrices)

    def train(corpus, segmenter, *_):
        return vectors_for(segmenter.pieces)

    corpus = WordCorpus.from_lines(lines, Normalizer())
    engine = settings_from("printed", **sizes)
    start = vectors_for(PIECES)
    built = build_sage(corpus, PIECES, None, start, engine, Word2VecSettings(), train=train)
    assert built.pieces == reference.sage(lines, PIECES, numbers, **sizes)
