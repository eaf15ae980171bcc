"""Bootstrap of totals over lines or examples, and permutation tests over pieces.

A unit (a line, an example, a piece) is drawn or exchanged whole, under all tokenizers at once.
Every random procedure takes a seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pandas as pd
from scipy import stats

from sagevocab.analysis.stats import CONFIDENCE, PERMUTATIONS, RESAMPLES, Estimate

# Rows of one block are drawn from while they stand in the processor's cache.
_BLOCK_ROWS = 8192
_BATCH_CELLS = 1 << 22
_NARROW = 2
# Drawing a count for each distinct row costs as much as drawing so many rows.
_DRAWS_OF_A_COUNT = 10
# Differences of means that are closer to 0 are 0.
_ROUNDING = 1e-12


def resampled_sums(table: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Return the column sums of bootstrap samples of the rows: float64[resamples, columns].

    table: int[rows, columns], a row for each line. One or two columns of counts have few distinct
    rows, and a sample of rows is then a multinomial sample of these; otherwise rows are drawn.
    """
    rng = np.random.default_rng(seed)
    if not len(table):
        return np.zeros((resamples, table.shape[1]))
    if table.shape[1] <= _NARROW:
        return _sums_of_distinct(table, rng, resamples)
    return _sums_of_rows(table, rng, resamples)


def _sums_of_distinct(table, rng, resamples):
    values, counts = _distinct_rows(table)
    batch = max(1, _BATCH_CELLS // len(values))
    sizes = [min(batch, resamples - done) for done in range(0, resamples, batch)]
    shares = counts / counts.sum()
    return np.concatenate([rng.multinomial(counts.sum(), shares, size) @ values for size in sizes])


def _distinct_rows(table):
    """Return the distinct rows as float64 and how often each stands there."""
    low, high = table.min(axis=0).astype(np.int64), table.max(axis=0).astype(np.int64)
    spans = (high - low + 1).tolist()
    places = tuple((table.astype(np.int64) - low).T)
    keys, counts = _tallied(np.ravel_multi_index(places, spans), int(np.prod(spans)))
    return np.column_stack(np.unravel_index(keys, spans)) + low.astype(float), counts


def _tallied(keys, span):
    """Return the distinct keys, ascending, and how often each stands there."""
    if span > 4 * len(keys):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=span)
    seen = np.flatnonzero(counts)
    return seen, counts[seen]


def _sums_of_rows(table, rng, resamples):
    """Draw how many rows come from each block, then these rows: what drawing from all gives."""
    starts = np.arange(0, len(table), _BLOCK_ROWS)
    sizes = np.diff(np.append(starts, len(table)))
    drawn = rng.multinomial(len(table), sizes / len(table), size=resamples)
    sums = np.zeros((resamples, table.shape[1]), dtype=np.int64)
    for block, start in enumerate(starts):
        rows = np.ascontiguousarray(table[start : start + _BLOCK_ROWS])
        for number in range(resamples):
            chosen = rng.integers(len(rows), size=drawn[number, block], dtype=np.int32)
            _add_rows(rows, chosen, sums[number])
    return sums.astype(float)


@numba.njit(cache=True)
def _add_rows(rows, chosen, sums):
    for row in chosen:
        for column in range(rows.shape[1]):
            sums[column] += rows[row, column]


def sampled_sums(table: np.ndarray, *, seed: int, resamples: int) -> np.ndarray:
    """Return the column sums of bootstrap samples of the rows: float64[resamples, columns].

    table: float64[rows, columns], thousands of rows, a row for each example of a task. Rows that
    agree in all columns are drawn together: a sample of rows is a multinomial sample of these.
    """
    rng = np.random.default_rng(seed)
    rows, kinds, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    kinds, total = kinds.ravel(), len(table)
    few = len(rows) * _DRAWS_OF_A_COUNT <= total
    batch = max(1, _BATCH_CELLS // max(1, len(rows)))
    sums = np.empty((resamples, table.shape[1]))
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        if few:
            drawn = rng.multinomial(total, counts / total, size)
        else:
            drawn = _counts_of_kinds(kinds, len(rows), rng, size)
        sums[start : start + size] = drawn.astype(float) @ rows
    return sums


def _counts_of_kinds(kinds, size, rng, resamples):
    """Draw as many rows as there are and count their kinds: int64[resamples, size]."""
    total = len(kinds)
    samples = (kinds[rng.integers(total, size=total)] for _ in range(resamples))
    return np.stack([np.bincount(sample, minlength=size) for sample in samples])


def interval_of(value: float, drawn: np.ndarray, confidence: float = CONFIDENCE) -> Estimate:
    """Return a value with the percentile interval of its bootstrap replicates; nan ones left out.

    Without a replicate the bounds are nan.
    """
    drawn = drawn[np.isfinite(drawn)]
    if not drawn.size:
        return Estimate(float(value), float("nan"), float("nan"))
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(float(value), float(low), float(high))


def total_interval(
    table: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return a statistic of column sums with its interval over resampled rows.

    statistic: float64[..., columns] -> float64[...].
    """
    drawn = statistic(resampled_sums(table, seed=seed, resamples=resamples))
    return interval_of(float(statistic(table.sum(axis=0).astype(float))), drawn)


def bootstrap_p_value(value: float, drawn: np.ndarray) -> float:
    """Return the two-sided p-value of `value` against 0, by its bootstrap standard error.

    The replicates are taken as normal about the value: for comparisons whose labels can't be
    exchanged, since two texts differ in more than what is compared.
    """
    error = float(np.std(drawn[np.isfinite(drawn)], ddof=1))
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stats.norm.sf(abs(value) / error))


def percentile_p_value(drawn: np.ndarray) -> float:
    """Return the two-sided p-value of 0 by the replicates of a difference.

    It is the smallest level at which the percentile interval leaves 0 out, so interval and test
    agree. A replicate of 0 counts on both sides; that none is beyond 0 is never quite sure, hence
    the one that is added (Davison and Hinkley 1997, Section 4.2).
    """
    beyond = min((drawn <= _ROUNDING).sum(), (drawn >= -_ROUNDING).sum())
    return min(1.0, 2 * (int(beyond) + 1) / (len(drawn) + 1))


def permute_pieces(
    first: pd.Series, second: pd.Series, *, seed: int, permutations: int = PERMUTATIONS
) -> float:
    """Return the two-sided p-value of the difference of two means over pieces.

    first, second: values by piece under two vocabularies; nan counts as missing. Within each piece
    the two labels are exchanged or not: a piece in both swaps its values, a piece in one goes over
    to the other. So the number of pieces under each label varies, as it does from one vocabulary
    to another, and the statistic is symmetric about 0. nan where either mean is of nothing.
    """
    table = pd.concat([first, second], axis=1, join="outer").sort_index().to_numpy(dtype=float)
    table = table[~np.isnan(table).all(axis=1)]
    present = ~np.isnan(table)
    values = np.where(present, table, 0.0)
    sums, sizes = values.sum(axis=0), present.sum(axis=0)
    if not sizes.all():
        return float("nan")
    # What the first label gains, in value and in pieces, where a piece exchanges its labels.
    moved = np.column_stack([np.diff(values), np.diff(present.astype(float))])
    gains = _drawn_sums(moved, np.random.default_rng(seed), permutations)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (sums[0] + gains[:, 0]) / (sizes[0] + gains[:, 1])
        differences = means - (sums[1] - gains[:, 0]) / (sizes[1] - gains[:, 1])
    observed = abs(sums[0] / sizes[0] - sums[1] / sizes[1])
    # One that leaves a label without a piece (nan, in tiny vocabularies) counts against us.
    less = np.abs(differences) < observed * (1 - 1e-9)
    return int(permutations - less.sum() + 1) / (permutations + 1)


def _drawn_sums(rows: np.ndarray, rng: np.random.Generator, permutations: int) -> np.ndarray:
    """Return sums over random halves of the rows: each is in or not, at even odds."""
    sums = np.empty((permutations, rows.shape[1]))
    batch = max(1, _BATCH_CELLS // len(rows))
    for start in range(0, permutations, batch):
        size = min(batch, permutations - start)
        sums[start : start + size] = rng.integers(2, size=(size, len(rows)), dtype=np.int8) @ rows
    return sums
