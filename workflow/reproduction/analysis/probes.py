"""Linear probes: what a linear model reads from the pieces of a tokenizer, or from their vectors.

They test segmentations and are not language models. A text is how often each piece occurs in it, or
the mean of its pieces' vectors; a word to tag is five words (itself and two to each side), each as
such a text. Logistic regression, with the same penalty for every tokenizer, does the rest. Two
texts with a score are compared by the cosine of their means, and nothing is fitted.
docs/appendix/statistics.md says which rows are predicted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from reproduction.analysis.probe_kinds import CLASSES, SIMILARITY, TAGS
from reproduction.parquet import read_parquet
from sagevocab.corpus.words import Normalizer, split_words
from sagevocab.errors import UserError
from sagevocab.segmentation.segmenter import UNCOVERED, Segmenter

log = logging.getLogger(__name__)

VALIDATION, HELDOUT = "validation", "heldout"
GOLD = {CLASSES: "label", TAGS: "tags", SIMILARITY: "label"}
PIECES = "pieces"
VECTORS = "vectors_"  # before the seed
_COLUMNS = {
    CLASSES: ["text", "label"],
    TAGS: ["tokens", "tags"],
    SIMILARITY: ["text", "text_pair", "label"],
}
_AROUND = 2  # words to each side of a word to tag
# Training rows that are asked, too: SST-2's 872 of validation show no small difference.
HELDOUT_ROWS = 10_000
_LARGEST_SHARE = 5  # at most one training row in so many is held out
_PENALTY = 1.0  # C of scikit-learn, its default
_ITERATIONS = 10_000  # a bound that no task reached
# Of the solver. With scikit-learn's 1e-4, answers depend on the order of the rows: 23 of 10,872.
_TOLERANCE = 1e-6
_DECIMALS = 4  # of a cosine; more of them decide nothing and can't be packed


# --- rows


@dataclass(frozen=True)
class Rows:
    """The rows of a task: those that are fitted, then those that are scored.

    frame: all of them. fitted: how many of the first are fitted. asked: of the others, the split
    that they come from and their number in it (from 0).
    """

    frame: pd.DataFrame
    fitted: int
    asked: pd.DataFrame


def read_rows(train: str | Path, validation: str | Path, kind: str, *, seed: int) -> Rows:
    """Read the prepared rows of a task and divide them (see `divide_rows`).

    Raises:
        UserError: a file is missing or damaged, or no row is left to fit.
    """
    frames = (read_parquet(path, _COLUMNS[kind]) for path in (train, validation))
    return divide_rows(*frames, kind, heldout_rows=HELDOUT_ROWS, seed=seed)


def divide_rows(
    train: pd.DataFrame, validation: pd.DataFrame, kind: str, *, heldout_rows: int, seed: int
) -> Rows:
    """Hold training rows out, to ask them beside the validation rows.

    Of a task with classes a seeded draw of `heldout_rows`, at most a fifth of all; where nothing is
    fitted, all; of tagged words none. A row with the text of one that is predicted is not fitted.

    Raises:
        UserError: no row is left to fit.
    """
    drawn = {CLASSES: min(heldout_rows, len(train) // _LARGEST_SHARE), SIMILARITY: len(train)}
    held = np.sort(np.random.default_rng(seed).permutation(len(train))[: drawn.get(kind, 0)])
    asked = pd.concat([train.iloc[held], validation], ignore_index=True)
    fitted = train.drop(index=train.index[held])
    if kind == CLASSES:
        fitted = fitted[~fitted["text"].isin(set(asked["text"]))]
    if kind != SIMILARITY and not len(fitted):
        raise UserError(
            "every training row of the task is a row to predict, too; train on other rows"
        )
    places = pd.DataFrame(
        {
            "split": [HELDOUT] * len(held) + [VALIDATION] * len(validation),
            "example": [*held.tolist(), *range(len(validation))],
        }
    )
    return Rows(pd.concat([fitted, asked], ignore_index=True), len(fitted), places)


# --- a task


def probe_task(
    rows: Rows,
    kind: str,
    segmenter: Segmenter,
    vectors: Mapping[str, np.ndarray],
    *,
    normalization: str,
    max_word_chars: int,
) -> pd.DataFrame:
    """Return what each probe answers to every row asked.

    Args:
        rows: of the task.
        kind: how the task is probed (`probe_kind`).
        segmenter: of the tokenizer.
        vectors: seed -> float32[pieces, dimension], in the order of the segmenter's pieces.
        normalization, max_word_chars: how texts become words.

    Returns:
        split, example, label (or tags), then what is predicted: `pieces`, unless nothing is fitted,
        and `vectors_1` and so on, by seed.
    """
    from threadpoolctl import threadpool_limits

    counts = PieceCounts(segmenter, Normalizer(normalization), max_word_chars)
    probe = {CLASSES: _Texts, TAGS: _Words, SIMILARITY: _Pairs}[kind](rows, counts)
    log.info("%d rows are fitted, %d asked", rows.fitted, len(rows.asked))
    probes = {f"{VECTORS}{seed}": partial(probe.by_vectors, own) for seed, own in vectors.items()}
    if kind != SIMILARITY:
        probes = {PIECES: probe.by_pieces, **probes}
    answers = rows.asked.copy()
    answers[GOLD[kind]] = rows.frame[GOLD[kind]][rows.fitted :].tolist()
    for name, ask in probes.items():
        # Sums of several threads depend on their number.
        with threadpool_limits(1):
            found = ask()
        answers[name] = probe.by_row(found)
    return answers


# --- texts as counts of pieces


class PieceCounts:
    """Counts the pieces of texts under one tokenizer; unknown pieces share the last column."""

    def __init__(self, segmenter: Segmenter, normalizer: Normalizer, max_word_chars: int) -> None:
        """Take the tokenizer, and how texts become words."""
        self._segmenter, self._normalizer = segmenter, normalizer
        self._max_word_chars = max_word_chars
        self.columns = len(segmenter.pieces) + 1

    def __call__(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return float64[texts, pieces + 1]."""
        words = [split_words(self._normalizer(text), self._max_word_chars) for text in texts]
        numbers: dict[str, int] = {}
        types = [numbers.setdefault(word, len(numbers)) for row in words for word in row]
        pieces, ends = self._segmenter.segment_words(list(numbers))
        columns = np.where(pieces == UNCOVERED, self.columns - 1, pieces)
        of_types = _counted(columns, ends, self.columns)
        return _counted(types, np.cumsum([0, *map(len, words)]), len(numbers)) @ of_types


def _counted(columns: Sequence[int], ends: np.ndarray, width: int) -> sparse.csr_matrix:
    """Return a row of counts for each part of `columns`; ends: where parts begin and end."""
    matrix = sparse.csr_matrix((np.ones(len(columns)), columns, ends), (len(ends) - 1, width))
    matrix.sum_duplicates()
    return matrix


def mean_vectors(counts: sparse.csr_matrix, vectors: np.ndarray) -> np.ndarray:
    """Return the mean vector of the known pieces of each row, 0 without one: float64[rows, d].

    counts: float64[rows, pieces and more]; what is behind the pieces has no vector.
    vectors: float32[pieces, d].
    """
    known = counts[:, : len(vectors)]
    total = np.asarray(known.sum(axis=1)).reshape(-1, 1)
    return (known @ vectors.astype(np.float64)) / np.maximum(total, 1)


# --- probes: `by_pieces` and `by_vectors` return answers, flat; `by_row` gives each row its own


class _Texts:
    """A class for each text."""

    def __init__(self, rows: Rows, counts: PieceCounts) -> None:
        self._counts = counts(rows.frame["text"].tolist())
        self._labels = rows.frame["label"].to_numpy(np.int64)[: rows.fitted]

    def by_pieces(self) -> np.ndarray:
        return _answers(self._counts, self._labels)

    def by_vectors(self, vectors: np.ndarray) -> np.ndarray:
        means = mean_vectors(self._counts, vectors)
        return _answers(_scaled(means, len(self._labels)), self._labels)

    @staticmethod
    def by_row(answers: np.ndarray) -> list[int]:
        return answers.tolist()


class _Words:
    """A tag for each word, by the words around it."""

    def __init__(self, rows: Rows, counts: PieceCounts) -> None:
        sentences = rows.frame["tokens"].tolist()
        numbers: dict[str, int] = {}
        typed = [[numbers.setdefault(word, len(numbers)) for word in row] for row in sentences]
        self._windows = windows(typed, outside=len(numbers))
        # Where a sentence has no word, there is one without pieces, which has a column of its own.
        inside = counts(list(numbers))
        inside.resize(len(numbers), counts.columns + 1)
        outside = sparse.csr_matrix(([1.0], ([0], [counts.columns])), (1, counts.columns + 1))
        self._types = sparse.vstack([inside, outside], format="csr")
        self._tags = np.concatenate(rows.frame["tags"][: rows.fitted].tolist()).astype(str)
        self._lengths = [len(row) for row in sentences[rows.fitted :]]

    def by_pieces(self) -> np.ndarray:
        parts = [self._types[words] for words in self._windows]
        return _answers(sparse.hstack(parts, format="csr"), self._tags)

    def by_vectors(self, vectors: np.ndarray) -> np.ndarray:
        means = mean_vectors(self._types, vectors).astype(np.float32)
        features = np.concatenate([means[words] for words in self._windows], axis=1)
        return _answers(_scaled(features, len(self._tags)), self._tags)

    def by_row(self, answers: np.ndarray) -> list[list[str]]:
        return [part.tolist() for part in np.split(answers, np.cumsum(self._lengths)[:-1])]


def windows(sentences: Sequence[Sequence[int]], outside: int) -> list[np.ndarray]:
    """Return the words at -2, ..., 2 from every word of all sentences: five times int64[words].

    sentences: numbers of words. outside: the number where a sentence has no word.
    """
    edge = [outside] * _AROUND
    padded = np.array([*edge, *(word for row in sentences for word in [*row, *edge])])
    lengths = np.array([len(row) for row in sentences])
    # Before the words of a sentence stand one edge and those behind the sentences before.
    edges = _AROUND * np.arange(1, len(sentences) + 1)
    places = np.arange(lengths.sum()) + np.repeat(edges, lengths)
    return [padded[places + shift] for shift in range(-_AROUND, _AROUND + 1)]


class _Pairs:
    """The cosine of two texts; nothing is fitted."""

    def __init__(self, rows: Rows, counts: PieceCounts) -> None:
        asked = rows.frame[rows.fitted :]
        self._pair = [counts(asked[name].tolist()) for name in ("text", "text_pair")]

    def by_vectors(self, vectors: np.ndarray) -> np.ndarray:
        first, second = (mean_vectors(counts, vectors) for counts in self._pair)
        lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        products = (first * second).sum(axis=1)
        cosines = products / np.where(lengths > 0, lengths, 1)
        return cosines.round(_DECIMALS).astype(np.float32)

    @staticmethod
    def by_row(answers: np.ndarray) -> np.ndarray:
        return answers


def _scaled(features: np.ndarray, fitted: int) -> np.ndarray:
    """Return features with mean 0 and variance 1 over the rows that are fitted."""
    mean, spread = features[:fitted].mean(axis=0), features[:fitted].std(axis=0)
    return (features - mean) / np.where(spread > 0, spread, 1)


def _answers(features: sparse.csr_matrix | np.ndarray, known: np.ndarray) -> np.ndarray:
    """Fit the first rows to what is known of them; return what is predicted for the others."""
    from sklearn.linear_model import LogisticRegression

    fitted, asked = features[: len(known)], features[len(known) :]
    if len(np.unique(known)) == 1:  # in tiny tasks
        return np.repeat(known[:1], asked.shape[0])
    model = LogisticRegression(C=_PENALTY, tol=_TOLERANCE, max_iter=_ITERATIONS)
    return model.fit(fitted, known).predict(asked)
