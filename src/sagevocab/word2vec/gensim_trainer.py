"""Word2Vec of gensim, which the paper used: epoch by epoch, the same bytes in every process."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from sagevocab.progress import Listener, Progress
from sagevocab.segmentation.counts import SegmentedCorpus
from sagevocab.segmentation.segmenter import UNCOVERED
from sagevocab.settings import Word2VecSettings

if TYPE_CHECKING:
    from gensim.models import Word2Vec

_LONGEST_SENTENCE = 10_000  # tokens; gensim drops without a word what goes beyond


def train_gensim(
    text: SegmentedCorpus,
    counts: np.ndarray,
    settings: Word2VecSettings,
    progress: Listener,
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Train E_T and E_C of the pieces that occur.

    Args:
        text: the segmented corpus.
        counts: int64[pieces], how often each occurs.
        settings: of Word2Vec.
        progress: called after each epoch.

    Returns:
        The numbers of the pieces that occur, and their rows of E_T and of E_C.
    """
    sentences = _Sentences(text)
    frequencies = {str(number): int(counts[number]) for number in np.flatnonzero(counts)}
    model = _make_model(frequencies, len(sentences), settings)
    _train(model, sentences, settings, progress)

    rows = [int(token) for token in model.wv.index_to_key]
    return rows, model.wv.vectors, model.syn1neg


class _Sentences:
    """The corpus as lists of tokens, which are piece numbers in decimal; can be read again."""

    def __init__(self, text: SegmentedCorpus) -> None:
        names = [str(number) for number in range(len(text.pieces))]
        self._words = [
            [names[number] for number in text.flat[a:b] if number != UNCOVERED]
            for a, b in pairwise(text.offsets)
        ]
        self._text = text
        self._length = sum(1 for _ in self)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Sequence[str]]:
        for first, last in pairwise(self._text.line_offsets):
            types = self._text.types[first:last].tolist()
            sentence = list(chain.from_iterable(self._words[number] for number in types))
            for start in range(0, len(sentence), _LONGEST_SENTENCE):
                yield sentence[start : start + _LONGEST_SENTENCE]


def _make_model(
    frequencies: dict[str, int], sentences: int, settings: Word2VecSettings
) -> Word2Vec:
    from gensim.models import Word2Vec

    model = Word2Vec(
        sg=1,
        hs=0,
        min_count=1,
        vector_size=settings.dimension,
        window=settings.window,
        negative=settings.negative,
        epochs=settings.epochs,
        sample=settings.sample,
        alpha=settings.alpha,
        shrink_windows=settings.shrink_windows,
        workers=settings.workers,
        seed=settings.seed,
        hashfxn=_hash,
    )
    model.build_vocab_from_freq(frequencies, corpus_count=sentences)
    return model


def _hash(text: str) -> int:
    """Hash like `hash`, but equally in every process."""
    return zlib.crc32(text.encode("utf-8"))


def _train(
    model: Word2Vec,
    sentences: _Sentences,
    settings: Word2VecSettings,
    progress: Listener,
) -> None:
    """Train epoch by epoch; over all of them the learning rate falls linearly, as gensim's does."""
    rates = np.linspace(settings.alpha, model.min_alpha, settings.epochs + 1).tolist()
    for epoch in range(settings.epochs):
        model.train(
            sentences,
            total_examples=len(sentences),
            epochs=1,
            start_alpha=rates[epoch],
            end_alpha=rates[epoch + 1],
        )
        progress(Progress("word2vec", epoch + 1, settings.epochs))
