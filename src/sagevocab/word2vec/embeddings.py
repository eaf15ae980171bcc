"""Skip-gram embeddings of pieces: E_T and E_C of Equation 1.

They are trained by gensim's Word2Vec, whose output layer `syn1neg` is the context matrix, or by
`blocks`, which trains the same model in another order. With gensim one worker gives the same
bytes each time, whatever PYTHONHASHSEED is; with `blocks` any number of threads does.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import SettingError, UserError
from sagevocab.files import read_npz, write_npz
from sagevocab.progress import Listener, Progress, log_progress
from sagevocab.segmentation.counts import SegmentedCorpus, count_pieces
from sagevocab.segmentation.segmenter import Segmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.word2vec.gensim_trainer import train_gensim

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
        names = np.array(self.pieces, dtype=np.str_)
        write_npz(path, pieces=names, target=self.target, context=self.context)

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

    Args:
        corpus: the text.
        segmenter: how its words become pieces.
        settings: of Word2Vec.
        progress: called after each epoch, or chunk of one.

    Returns:
        The vectors of all pieces of the segmenter.

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
    train = _train_blocks if settings.trainer == "blocks" else train_gensim
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
    from sagevocab.word2vec.blocks import BlockTrainer

    trainer = BlockTrainer(text, settings)
    for _ in trainer.chunks(settings.workers):
        progress(Progress("word2vec", round(trainer.epochs, 2), settings.epochs))
    rows, (target, context) = np.flatnonzero(counts), trainer.matrices()
    return rows, target[rows], context[rows]
