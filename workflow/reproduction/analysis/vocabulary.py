"""Statistics of vocabularies: what one holds and another does not, and how stable a pruning is.

Lengths are in characters. The word-start mark `▁` is not counted unless asked for, because the
paper does not say which it did: both conventions are reported.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numba
import numpy as np
import pandas as pd

from reproduction.analysis.stats import (
    NOTHING,
    RESAMPLES,
    Estimate,
    estimate,
    proportion_interval,
    resampled_weights,
)
from reproduction.parquet import read_parquet
from sagevocab.pieces import WORD_START, piece_length, read_pieces


class Share(float):
    """A share of pieces as a float, with the two numbers it was counted from; nan of nothing.

    hits, total: number of pieces that have the property, and of all pieces asked.
    """

    hits: int
    total: int

    def __new__(cls, hits: int, total: int) -> Share:
        """Return hits / total."""
        share = super().__new__(cls, hits / total if total else float("nan"))
        share.hits, share.total = hits, total
        return share

    def estimate(self) -> Estimate:
        """Return the share with Wilson's 95 % interval."""
        return proportion_interval(self.hits, self.total)

    @classmethod
    def of(cls, answers: Iterable[bool]) -> Share:
        """Return the share of true answers."""
        counted = [bool(answer) for answer in answers]
        return cls(sum(counted), len(counted))


def only_in(first: Sequence[str], second: Collection[str]) -> list[str]:
    """Return the pieces of `first` that `second` lacks, in the order of `first`."""
    others = set(second)
    return [piece for piece in first if piece not in others]


def share_in(pieces: Iterable[str], vocabulary: Iterable[str]) -> Share:
    """Return the share of `pieces` that are in `vocabulary`."""
    known = set(vocabulary)
    return Share.of(piece in known for piece in pieces)


def read_lengths(path: str) -> pd.Series:
    """Read how many pieces of a vocabulary have each length."""
    return length_histogram(read_pieces(path))


def length_histogram(pieces: Iterable[str], count_word_start: bool = False) -> pd.Series:
    """Return the number of pieces by length in characters: every length up to the largest.

    The piece `▁` has length 0 where the mark is not counted. Source: paper, Figure 2.
    """
    lengths = pd.Series([piece_length(piece, count_word_start) for piece in pieces], dtype=int)
    counts = lengths.value_counts()
    first = min(1, int(lengths.min())) if len(lengths) else 1
    index = pd.RangeIndex(first, int(lengths.max()) + 1 if len(lengths) else first, name="length")
    return counts.reindex(index, fill_value=0).astype(int).rename("pieces")


def word_initial_share(pieces: Iterable[str]) -> Share:
    """Return the share of pieces that start a word (paper: 83 % SaGe-only, 22 % BPE-only)."""
    return Share.of(piece.startswith(WORD_START) for piece in pieces)


def share_of_length(
    pieces: Iterable[str], low: int, high: int | None = None, count_word_start: bool = False
) -> Share:
    """Return the share of pieces of `low` to `high` characters, both included; no `high`: above.

    Source: paper, Section 4, "Token Length": 56 % of BPE-only pieces have 2 or 3 characters, 55 %
    of SaGe-only pieces 5 or more.
    """
    top = float("inf") if high is None else high
    return Share.of(low <= piece_length(piece, count_word_start) <= top for piece in pieces)


def substring_share(pieces: Iterable[str], vocabulary: Iterable[str]) -> Share:
    """Return the share of `pieces` that are proper substrings of a piece of `vocabulary`.

    `▁` is a character like others here: `▁th` is a substring of `▁the`, `th` of both.
    """
    parts = _parts_of(tuple(vocabulary))
    return Share.of(piece in parts for piece in pieces)


@functools.lru_cache(maxsize=4)  # thousands of prunings are compared with one vocabulary
def _parts_of(vocabulary: tuple[str, ...]) -> frozenset[str]:
    return frozenset(part for piece in vocabulary for part in _proper_substrings(piece))


def _proper_substrings(piece: str) -> Iterable[str]:
    size = len(piece)
    for start in range(size):
        for stop in range(start + 1, size + 1):
            if stop - start < size:
                yield piece[start:stop]


def frequency_differences(first: pd.Series, second: pd.Series) -> pd.DataFrame:
    """Return first, second, difference (first - second) by piece, from high to low difference.

    first, second: counts by piece on one corpus under two tokenizers; a piece that a vocabulary
    lacks has count 0. Ties are sorted by piece. Source: paper, Table "Tokens with high difference".
    """
    frame = pd.DataFrame({"first": first, "second": second}).fillna(0).astype("int64")
    frame["difference"] = frame["first"] - frame["second"]
    frame.index.name = "piece"
    frame = frame.sort_index()
    return frame.sort_values("difference", ascending=False, kind="stable")


# --- stability of the ranking of the ablation losses (paper, Section 3)


def read_rankings(path: Path | str) -> pd.DataFrame:
    """Return iteration, piece, loss: the losses of all pieces left at several iterations.

    Raises:
        UserError: the file is missing, damaged or has other columns.
    """
    return read_parquet(path, ["iteration", "piece", "loss"])


def mean_correlation(
    rankings: pd.DataFrame, shortest: int, *, seed: int, resamples: int = RESAMPLES
) -> Estimate:
    """Return the mean correlation of pairs `shortest` or more iterations apart, with an interval.

    Percentile bootstrap over pieces: a resampled piece is resampled in all rankings at once. nan
    where no two rankings are so far apart.
    """
    far = [pair for first, second, pair in _pairs(rankings) if second - first >= shortest]
    if not far:
        return NOTHING
    return estimate(correlation_of(far, seed=seed, resamples=resamples).mean(axis=1))


def correlation_of(
    values: Sequence[pd.DataFrame], *, seed: int | None, resamples: int = RESAMPLES
) -> np.ndarray:
    """Return Spearman's correlations of some tables, then those of resampled pieces.

    values: by piece, two columns each. A resampled piece is resampled in all tables at once.
    Returns float64[1 + resamples, tables]; only the first row if the seed is None.
    """
    pieces = pd.Index(sorted(set().union(*(table.index for table in values))))
    ranked = [_levels_of(table.reindex(pieces)) for table in values]
    weights = resampled_weights(len(pieces), seed=seed, resamples=resamples)
    return np.array([[_correlation(own[rows], a, b) for rows, a, b in ranked] for own in weights])


def _pairs(rankings: pd.DataFrame) -> list[tuple[int, int, pd.DataFrame]]:
    """Return first and second iteration and the losses of all pieces in both, nan where pruned."""
    table = rankings.pivot(index="piece", columns="iteration", values="loss").sort_index(axis=1)
    pairs = combinations(table.columns, 2)
    return [(int(first), int(second), table[[first, second]]) for first, second in pairs]


def _levels_of(pair: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows that are in both rankings and, for each, its place among distinct losses."""
    losses = pair.to_numpy()
    rows = np.flatnonzero(~np.isnan(losses).any(axis=1))
    first, second = (np.unique(column, return_inverse=True)[1] for column in losses[rows].T)
    return rows, first, second


@numba.njit(cache=True)
def _correlation(weights, first, second):
    """Return Spearman's correlation of pieces that occur `weights` times in a resample.

    first, second: int64, the place of each piece's loss among the distinct ones. All sums are of
    multiples of 1/4, so they are exact in any order.
    """
    if not len(weights):
        return np.nan
    ours, theirs = _midranks(weights, first), _midranks(weights, second)
    centre = (weights.sum() + 1) / 2
    both = own = other = 0.0
    for piece in range(len(weights)):
        x, y = ours[first[piece]] - centre, theirs[second[piece]] - centre
        both += weights[piece] * x * y
        own += weights[piece] * x * x
        other += weights[piece] * y * y
    return both / np.sqrt(own * other) if own * other > 0 else np.nan


@numba.njit(cache=True)
def _midranks(weights, levels):
    """Return the mean rank of each level; equal losses share theirs."""
    ranks = np.zeros(levels.max() + 1)
    for piece in range(len(weights)):
        ranks[levels[piece]] += weights[piece]
    before = 0.0
    for level in range(len(ranks)):
        size = ranks[level]
        ranks[level] = before + (size + 1) / 2
        before += size
    return ranks
