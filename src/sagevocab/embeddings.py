"""Skip-gram embeddings of pieces: E_T and E_C of Equation 1.

They are trained by gensim's Word2Vec, whose output layer `syn1neg` is the context matrix, or by
`skipgram`, which trains the same model in another order. With gensim one worker gives the same
bytes each time, whatever PYTHONHASHSEED is; with `skipgram` any number of threads does.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sagevocab.counting import SegmentedCorpus, count_pieces
from sagevocab.errors import SettingError, UserError
from sagevocab.progress import Listener, Progress, log_progress
from sagevocab.segment import UNCOVERED, Segmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.state import read_npz, write_npz
from sagevocab.words import WordCorpus

if TYPE_CHECKING:
    from gensim.models import Word2Vec

_LONGEST_SENTENCE = 10_000  # tokens; gensim drops without a word what goes beyond
_UNSEEN = 0.01  # bound of the vectors of pieces that the corpus does not show


@dataclass(frozen=True)
class Embeddings:
    """Vectors of pieces. target (E_T) and context (E_C): float32[pieces, dimension]."""

    pieces: list[str]
    target: np.ndarray
    context: np.ndarray

    @classmethod
    def zero(cls, pieces: Sequence[str], dimension: int) -> Embeddings:
        """Return vectors of zero for `pieces`."""
        target, context = np.zeros((2, len(pieces), dimension), dtype=np.float32)
        return cls(list(pieces), target, context)

    def save(self, path: str | Path) -> None:
        """Write the embeddings as npz: pieces, target, context."""
        write_npz(path, **self.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what `save` writes."""
        names = np.array(self.pieces, dtype=np.str_)
        return {"pieces": names, "target": self.target, "context": self.context}

    @classmethod
    def load(cls, path: str | Path) -> Embeddings:
        """Read what `save` wrote.

        Raises:
            UserError: the file is missing, damaged or holds no embeddings.
        """
        arrays = read_npz(path)
        if not {"pieces", "target", "context"} <= arrays.keys():
            raise UserError(f"{path}: holds no embeddings; delete it and run again")
        return cls(arrays["pieces"].tolist(), arrays["target"], arrays["context"])


def require_trainer(settings: Word2VecSettings) -> None:
    """Refuse the trainer gensim where it is not installed.

    Raises:
        UserError: it is not.
    """
    if settings.trainer == "gensim" and importlib.util.find_spec("gensim") is None:
        raise SettingError(
            "word2vec.trainer",
            "gensim is not installed; install it (pip install 'sagevocab[gensim]'), or use blocks",
        )


def train_embeddings(
    corpus: WordCorpus,
    segmenter: Segmenter,
    settings: Word2VecSettings,
    progress: Listener = log_progress,
) -> Embeddings:
    """Train skip-gram embeddings of the segmenter's pieces over the segmented corpus.

    A piece that the lines trained on do not show gets a seeded uniform(-0.01, 0.01) vector in both
    matrices. Uncovered characters are left out.
    progress: called after each epoch, or chunk of one.

    Raises:
        UserError: the corpus shows no piece at all, or the trainer is not installed.
    """
    require_trainer(settings)
    if settings.lines != "all":
        corpus = corpus.sample(settings.lines, settings.seed)
    shape = (2, len(segmenter.pieces), settings.dimension)
    matrices = np.random.default_rng(settings.seed).uniform(-_UNSEEN, _UNSEEN, shape)
    text = SegmentedCorpus(corpus, segmenter)
    counts, _ = count_pieces(text)
    if not counts.any():
        raise UserError("corpus: no piece occurs in it; use the corpus of the vocabulary")
    train = _train_blocks if settings.trainer == "blocks" else _train_gensim
    rows, *trained = train(text, counts, settings, progress)
    matrices[:, rows] = trained
    target, context = matrices.astype(np.float32)
    return Embeddings(list(segmenter.pieces), target, context)


def _train_blocks(
    text: SegmentedCorpus,
    counts: np.ndarray,
    settings: Word2VecSettings,
    progress: Listener,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of the pieces that occur, and their rows of E_T and E_C.

    counts: int64[pieces], how often each occurs.
    """
    from sagevocab.skipgram import BlockTrainer

    trainer = BlockTrainer(text, settings)
    for _ in trainer.chunks(settings.workers):
        progress(Progress("word2vec", round(trainer.epochs, 2), settings.epochs))
    rows, (target, context) = np.flatnonzero(counts), trainer.matrices()
    return rows, target[rows], context[rows]


def _train_gensim(
    text: SegmentedCorpus,
    counts: np.ndarray,
    settings: Word2VecSettings,
    progress: Listener,
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return what `_train_blocks` returns, of the same."""
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
