"""How stable the ranking of the ablation losses is from one batch to another (paper, Section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numba
import numpy as np
import pandas as pd
from scipy import stats

from sagevocab.analysis.stats import CONFIDENCE, RESAMPLES, Estimate
from sagevocab.errors import UserError

COLUMNS = ("iteration", "piece", "loss")


def read_rankings(path: Path | str) -> pd.DataFrame:
    """Return iteration, piece, loss: the losses of all pieces left at several iterations.

    Raises:
        UserError: the file is missing, damaged or has other columns.
    """
    try:
        return pd.read_parquet(path, columns=list(COLUMNS))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: holds no rankings ({reason}); make it again") from error


def rank_correlations(rankings: pd.DataFrame) -> pd.DataFrame:
    """Return Spearman's correlation of every two rankings, on the pieces that are in both.

    rankings: iteration, piece, loss, as `read_rankings` gives them.
    Returns first, second, distance (iterations), pieces, correlation; one row per pair with first
    before second, in order. The correlation is nan where it has no meaning: fewer than two pieces,
    or equal losses throughout.
    """
    rows = [
        (first, second, second - first, len(ours), _spearman(ours, theirs))
        for first, second, ours, theirs in _pairs(rankings)
    ]
    return pd.DataFrame(rows, columns=["first", "second", "distance", "pieces", "correlation"])


def mean_correlation(
    rankings: pd.DataFrame, shortest: int, *, seed: int, resamples: int = RESAMPLES
) -> Estimate:
    """Return the mean correlation of pairs `shortest` or more iterations apart, with an interval.

    Percentile bootstrap over pieces: a resampled piece is resampled in all rankings at once. nan
    where no two rankings are so far apart.
    """
    table = _by_iteration(rankings)
    ranked = [
        _RankedPair(table, first, second)
        for first, second in combinations(table.columns, 2)
        if second - first >= shortest
    ]
    if not ranked:
        return Estimate(float("nan"), float("nan"), float("nan"))
    rng, size = np.random.default_rng(seed), len(table)
    value = np.mean([pair.correlation(np.ones(size)) for pair in ranked])
    drawn = np.empty(resamples)
    for number in range(resamples):
        weights = np.bincount(rng.integers(size, size=size), minlength=size).astype(float)
        drawn[number] = np.mean([pair.correlation(weights) for pair in ranked])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Estimate(float(value), float(low), float(high))


def _by_iteration(rankings: pd.DataFrame) -> pd.DataFrame:
    return rankings.pivot(index="piece", columns="iteration", values="loss").sort_index(axis=1)


def _pairs(rankings: pd.DataFrame) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    table = _by_iteration(rankings)
    for first, second in combinations(table.columns, 2):
        both = table[[first, second]].dropna()
        yield int(first), int(second), both[first].to_numpy(), both[second].to_numpy()


def _spearman(first: np.ndarray, second: np.ndarray) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(stats.spearmanr(first, second).statistic)


class _RankedPair:
    """Two rankings of the same pieces, ready to be correlated under weights.

    A weight says how often a piece stands in a resample. Ranks are those within the resample, so
    the correlation is Spearman's of the resample itself, though nothing is sorted anew.
    """

    def __init__(self, table: pd.DataFrame, first: int, second: int) -> None:
        both = table[[first, second]].notna().all(axis=1).to_numpy()
        self._rows = np.flatnonzero(both)
        self._levels = [
            np.unique(table[column].to_numpy()[both], return_inverse=True)[1]
            for column in (first, second)
        ]
        self._sizes = [int(levels.max(initial=-1)) + 1 for levels in self._levels]

    def correlation(self, weights: np.ndarray) -> float:
        """Return Spearman's correlation; weights: float64, one a piece of the table."""
        return _weighted_spearman(weights[self._rows], *self._levels, *self._sizes)


@numba.njit(cache=True)
def _weighted_spearman(weights, one, two, one_levels, two_levels):
    """Correlate the mid-ranks of two rankings in which every observation stands `weights` times.

    one, two: int64, the place of each observation's value among the distinct values.
    """
    first, second = _midranks(weights, one, one_levels), _midranks(weights, two, two_levels)
    centre = (weights.sum() + 1) / 2
    both = spread = other = 0.0
    for row in range(len(weights)):
        a, b = first[one[row]] - centre, second[two[row]] - centre
        both += weights[row] * a * b
        spread += weights[row] * a * a
        other += weights[row] * b * b
    product = spread * other
    return both / np.sqrt(product) if product > 0 else np.nan


@numba.njit(cache=True)
def _midranks(weights, levels, n_levels):
    """Return the mean rank of each distinct value; equal values share theirs."""
    ranks = np.zeros(n_levels)
    for row in range(len(weights)):
        ranks[levels[row]] += weights[row]
    below = 0.0
    for level in range(n_levels):
        size = ranks[level]
        ranks[level] = below + (size + 1) / 2
        below += size
    return ranks
