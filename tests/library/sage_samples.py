"""A vocabulary, a corpus and embeddings small enough for a brute-force oracle to prune."""

from __future__ import annotations

import zlib

import numpy as np

from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.pruning.sage import build_sage
from sagevocab.settings import SageSettings
from sagevocab.word2vec.embeddings import Embeddings, Word2VecSettings

MERGES = [
    ("▁", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("▁a", "b"), ("ab", "c"), ("▁", "b"),
    ("ab", "ab"), ("▁b", "c"), ("ca", "b"), ("▁ab", "c"), ("bc", "a"), ("▁", "c"), ("c", "c"),
    ("▁c", "a"), ("abc", "a"),
]  # fmt: skip
PIECES = ["▁", "a", "b", "c", *dict.fromkeys(left + right for left, right in MERGES)]
SINGLES = sum(len(piece.lstrip("▁")) <= 1 for piece in PIECES)


def make_corpus(seed: int = 0, lines: int = 40) -> WordCorpus:
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcd"), rng.integers(1, 8), p=[0.4, 0.3, 0.25, 0.05]))
             for _ in range(25)]  # fmt: skip
    return WordCorpus.from_lines(
        [" ".join(rng.choice(words, rng.integers(1, 8))) for _ in range(lines)], Normalizer()
    )


def vectors_for(pieces: list[str], dimension: int = 4) -> Embeddings:
    """Embeddings that depend on each piece and on how many pieces there are."""
    rows = []
    for piece in pieces:
        rng = np.random.default_rng([zlib.crc32(piece.encode()), len(pieces)])
        rows.append(rng.normal(size=(2, dimension)))
    target, context = np.array(rows, dtype=np.float32).transpose(1, 0, 2)
    return Embeddings(list(pieces), target.copy(), context.copy())


class Trainer:
    """Stands in for Word2Vec and remembers what it embedded."""

    def __init__(self) -> None:
        self.segmenters = []

    def __call__(self, corpus, segmenter, word2vec, progress) -> Embeddings:
        self.segmenters.append(segmenter)
        return vectors_for(segmenter.pieces)


SMALL = {"vocab_size": SINGLES + 2, "prune_batch": 2, "candidates": 6, "rerank_every": 2,
         "retrain_every": 1, "window": 2, "threads": 2}  # fmt: skip


def objective(window: int = 5, loss: str = "total", lines: int | None = None, **others: int):
    """Settings that say which loss of a piece is meant."""
    return SageSettings(window=window, loss=loss, loss_lines=lines or "all", **others)


def build(settings: SageSettings, corpus=None, train=None, **options):
    corpus = corpus or make_corpus()
    return build_sage(
        corpus, PIECES, MERGES, vectors_for(PIECES), settings, Word2VecSettings(),
        train=train or Trainer(), **options,
    )  # fmt: skip
