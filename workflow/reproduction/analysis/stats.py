"""Entropies, bootstrap intervals and tests: the statistics of this project, each in one place.

What is drawn is whole (a line, an example, a piece), under all tokenizers at once. Every random
procedure takes a seed. Intervals are percentile intervals of 1,000 samples unless a caller says
otherwise. `resample` is the one bootstrap: hundreds of thousands of lines often have few distinct
rows of counts, and a sample of lines is then a multinomial sample of these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from sagevocab.evaluation.measures import Numbers

# scipy.stats takes a second to import, and most jobs need none of it: functions import it.

CONFIDENCE = 0.95
RESAMPLES = 1000
PERMUTATIONS = 9999
# Most cells of a batch of samples, which is in memory at once.
_BATCH_CELLS = 1 << 22
# Rows of one block are drawn from while they are in the processor's cache.
_BLOCK_ROWS = 8192
# Drawing a count for each distinct row costs as much as drawing so many rows.
_DRAWS_OF_A_COUNT = 10
# Differences of means that are closer to 0 are 0.
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


class Comparison(NamedTuple):
    """A paired difference (first - second), its confidence interval and a two-sided p-value."""

    difference: float
    low: float
    high: float
    p_value: float


NOTHING = Estimate(float("nan"), float("nan"), float("nan"))

# --- bootstrap


def resample(
    table: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int | None,
    resamples: int = RESAMPLES,
) -> np.ndarray:
    """Return a statistic of the column sums of a table, then of its bootstrap samples.

    table: float64[rows, columns], a row for each line, example or piece. statistic: float64[...,
    columns] -> float64[...]. seed: None draws nothing.
    Returns float64[1 + resamples, ...]: the measurement and its replicates.
    """
    table = np.asarray(table, dtype=float)
    rows, counts = _kinds(table)
    sums = np.zeros((1 + (resamples if seed is not None else 0), table.shape[1]))
    sums[0] = table.sum(axis=0)
    for samples, place, drawn in _draws(counts, seed, len(sums) - 1):
        sums[1:][samples] += drawn.astype(float) @ rows[place]
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic(sums)


def resampled_weights(units: int, *, seed: int | None, resamples: int = RESAMPLES) -> np.ndarray:
    """Return how often each unit counts: once, then as often as it is in each bootstrap sample.

    For statistics that are no function of sums. seed: None draws nothing.
    Returns float64[1 + resamples, units].
    """
    weights = np.ones((1 + (resamples if seed is not None else 0), units))
    for samples, place, drawn in _draws(np.ones(units, dtype=int), seed, len(weights) - 1):
        weights[1:][samples, place] = drawn
    return weights


def _kinds(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a table and how many there are of each, if they are few."""
    kinds = pd.DataFrame(table).groupby(list(range(table.shape[1]))).size()
    if len(kinds) * _DRAWS_OF_A_COUNT > len(table):
        return table, np.ones(len(table), dtype=int)
    return kinds.index.to_frame().to_numpy(dtype=float), kinds.to_numpy()


def _draws(
    counts: np.ndarray, seed: int | None, resamples: int
) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield samples, kinds of units, and how often each is drawn: int64[samples, kinds].

    counts: how many units there are of each kind. Units that are all distinct are drawn one by
    one: first how many come from each block, then these.
    """
    rng, units = np.random.default_rng(seed), int(counts.sum())
    if not units or not resamples:
        return
    if len(counts) < units:
        for samples in _batches(resamples, len(counts)):
            drawn = rng.multinomial(units, counts / units, size=samples.stop - samples.start)
            yield samples, slice(None), drawn
        return
    starts = np.arange(0, units, _BLOCK_ROWS)
    sizes = np.diff(np.append(starts, units))
    numbers = rng.multinomial(units, sizes / units, size=resamples)
    for start, size, drawn in zip(starts, sizes, numbers.T, strict=True):
        for samples in _batches(resamples, size):
            chosen = (rng.integers(size, size=n, dtype=np.int32) for n in drawn[samples])
            counted = np.stack([np.bincount(one, minlength=size) for one in chosen])
            yield samples, slice(start, start + size), counted


def _batches(resamples: int, kinds: int) -> Iterator[slice]:
    batch = max(1, _BATCH_CELLS // kinds)
    for start in range(0, resamples, batch):
        yield slice(start, min(start + batch, resamples))


def estimate(values: np.ndarray) -> Estimate:
    """Return a measurement with the percentile interval of its replicates; nan ones left out.

    values: float64[1 + resamples], as `resample` returns them. Without a replicate the bounds are
    nan.
    """
    drawn = values[1:][np.isfinite(values[1:])]
    if not drawn.size:
        return Estimate(float(values[0]), float("nan"), float("nan"))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(float(values[0]), float(low), float(high))


def ratio_interval(
    numerators: Numbers, denominators: Numbers, *, seed: int | None, resamples: int = RESAMPLES
) -> Estimate:
    """Return sum(numerators) / sum(denominators) with its interval over resampled lines.

    Both are whole numbers by line, in the same order: tokens and words give fertility, the tokens
    of two tokenizers their relative cost. nan where the denominators sum to 0. seed: as for
    `resample`.
    """
    table = np.column_stack([np.asarray(numerators), np.asarray(denominators)])
    if not table.size or table[:, 1].sum() == 0:
        return NOTHING
    ratio = resample(
        table, lambda sums: sums[..., 0] / sums[..., 1], seed=seed, resamples=resamples
    )
    return estimate(ratio)


def proportion_interval(hits: int, total: int) -> Estimate:
    """Return hits / total with Wilson's score interval; nan of nothing."""
    if total == 0:
        return NOTHING
    from scipy import stats

    bounds = stats.binomtest(hits, total).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(hits / total, float(bounds.low), float(bounds.high))


# --- tests


def bootstrap_p_value(values: np.ndarray) -> float:
    """Return the two-sided p-value of a measurement against 0, by its bootstrap standard error.

    values: as for `estimate`. The replicates are taken as normal about the measurement: for
    comparisons whose labels can't be exchanged, since two texts differ in more than what is
    compared.
    """
    from scipy.special import ndtr

    value, drawn = float(values[0]), values[1:]
    error = float(np.std(drawn[np.isfinite(drawn)], ddof=1))
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * ndtr(-abs(value) / error))


def percentile_p_value(values: np.ndarray) -> float:
    """Return the two-sided p-value of 0 by the replicates of a difference.

    values: as for `estimate`. The p-value is the smallest level at which the percentile interval
    leaves 0 out, so interval and test agree. A replicate of 0 counts on both sides. One is added
    because a finite sample never shows that no replicate lies beyond 0 (Davison and Hinkley 1997,
    Section 4.2).
    """
    drawn = values[1:]
    beyond = min((drawn <= _ROUNDING).sum(), (drawn >= -_ROUNDING).sum())
    return min(1.0, 2 * (int(beyond) + 1) / (len(drawn) + 1))


def student(differences: Numbers) -> Comparison:
    """Return the mean of paired differences with Student's interval and test.

    One difference, or equal ones, have no interval and no test.
    """
    from scipy import stats

    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    if error == 0:
        return Comparison(mean, *NOTHING)
    law = stats.t(len(values) - 1)
    half = float(law.ppf((1 + CONFIDENCE) / 2) * error)
    return Comparison(mean, mean - half, mean + half, float(2 * law.sf(abs(mean) / error)))


def paired_permutation(first: Numbers, second: Numbers, *, seed: int) -> float:
    """Return the two-sided p-value of a paired difference of means under exchanged labels.

    All 2^n exchanges are enumerated when there are at most PERMUTATIONS of them, else that many are
    drawn, on the counts of the distinct absolute differences. Equal pairs give 1.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    differences = differences[differences != 0]
    if differences.size == 0:
        return 1.0
    exact = differences.size <= np.log2(PERMUTATIONS)
    sums = _all_flips(differences) if exact else _drawn_flips(differences, seed)
    observed = abs(differences.sum())
    hits = int((np.abs(sums) >= observed * (1 - 1e-12)).sum())
    return hits / len(sums) if exact else (hits + 1) / (len(sums) + 1)


def _all_flips(differences: np.ndarray) -> np.ndarray:
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _drawn_flips(differences: np.ndarray, seed: int) -> np.ndarray:
    sizes, counts = np.unique(np.abs(differences), return_counts=True)
    rng, sums = np.random.default_rng(seed), np.zeros(PERMUTATIONS)
    for size, count in zip(sizes, counts, strict=True):
        sums += size * (2.0 * rng.binomial(count, 0.5, size=PERMUTATIONS) - count)
    return sums


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
    gains = _sums_of_halves(moved, np.random.default_rng(seed), permutations)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (sums[0] + gains[:, 0]) / (sizes[0] + gains[:, 1])
        differences = means - (sums[1] - gains[:, 0]) / (sizes[1] - gains[:, 1])
    observed = abs(sums[0] / sizes[0] - sums[1] / sizes[1])
    # One that leaves a label without a piece (nan, in tiny vocabularies) counts as extreme.
    less = np.abs(differences) < observed * (1 - 1e-9)
    return int(permutations - less.sum() + 1) / (permutations + 1)


def _sums_of_halves(rows: np.ndarray, rng: np.random.Generator, permutations: int) -> np.ndarray:
    """Return sums over random halves of the rows: each is in or not, at even odds."""
    sums = np.empty((permutations, rows.shape[1]))
    batch = max(1, _BATCH_CELLS // len(rows))
    for start in range(0, permutations, batch):
        size = min(batch, permutations - start)
        sums[start : start + size] = rng.integers(2, size=(size, len(rows)), dtype=np.int8) @ rows
    return sums


def holm(p_values: Numbers, tests: int = 0) -> np.ndarray:
    """Return Holm's step-down adjusted p-values, in the order given.

    tests: the size of the family; those that could not be made count as p = 1.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * (max(tests, len(values)) - np.arange(len(values)))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def adjust(
    p_values: Numbers,
    families: Iterable[Hashable],
    tests: Mapping[Hashable, int] | None = None,
) -> np.ndarray:
    """Return p-values adjusted by Holm within their families, in the order given; nan is no test.

    families: of each p-value. tests: sizes of families, as for `holm`.
    """
    values, of = np.asarray(p_values, dtype=float), list(families)
    adjusted = np.full(len(values), np.nan)
    for family in dict.fromkeys(of):
        own = np.array([one == family for one in of]) & ~np.isnan(values)
        adjusted[own] = holm(values[own], (tests or {}).get(family, 0))
    return adjusted
