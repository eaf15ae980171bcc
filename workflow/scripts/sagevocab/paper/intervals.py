"""Estimates with 95 % intervals for the differences that the paper's statements are about.

Shares of a population of words are compared as if words were drawn independently: the fertility
histograms do not say which line a word stood on. Where lines are known they are resampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from sagevocab.analysis.stats import CONFIDENCE, RESAMPLES, Estimate, proportion_interval

_NORMAL_QUANTILE = float(stats.norm.ppf((1 + CONFIDENCE) / 2))


def share(hits: int, total: int) -> Estimate:
    """Return a share with Wilson's interval; nan of nothing."""
    low, high = proportion_interval(hits, total)
    return Estimate(hits / total if total else float("nan"), low, high)


def share_difference(first: tuple[int, int], second: tuple[int, int]) -> Estimate:
    """Return the difference of two shares, each (hits, total), with Newcombe's interval.

    Source: Newcombe 1998, method 10 (the limits of two Wilson intervals, combined).
    """
    one, two = share(*first), share(*second)
    below = np.hypot(one.value - one.low, two.high - two.value)
    above = np.hypot(one.high - one.value, two.value - two.low)
    difference = one.value - two.value
    return Estimate(difference, float(difference - below), float(difference + above))


def log_ratio(first: int, second: int) -> Estimate:
    """Return log(first / second) of two counts; one half is added to each, so 0 is no trouble.

    The interval takes the counts as Poisson variables.
    """
    value = float(np.log((first + 0.5) / (second + 0.5)))
    error = _NORMAL_QUANTILE * float(np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5)))
    return Estimate(value, value - error, value + error)


def bootstrap_means(
    columns: Sequence[pd.Series],
    statistic: Callable[..., float],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return `statistic(*means of the columns)` with its interval over resampled pieces.

    columns: values by piece. A piece that a column lacks does not count in that column's mean;
    a resampled piece is resampled in all columns at once, so what they share is paired.
    """
    table = pd.concat(columns, axis=1, join="outer").sort_index().to_numpy(dtype=float)
    present = ~np.isnan(table)
    if not present.any(axis=0).all():
        return Estimate(float("nan"), float("nan"), float("nan"))
    values = np.where(present, table, 0.0)
    rng = np.random.default_rng(seed)
    size, drawn = len(values), []
    for _ in range(resamples):
        weights = np.bincount(rng.integers(size, size=size), minlength=size)
        seen = weights @ present
        if seen.all():
            drawn.append(statistic(*((weights @ values) / seen)))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    value = statistic(*(values.sum(axis=0) / present.sum(axis=0)))
    return Estimate(float(value), float(low), float(high))


def bootstrap_histograms(
    histograms: Sequence[pd.Series],
    statistic: Callable[..., float],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return `statistic(*shares)` of histograms with its interval over resampled words.

    histograms: words by number of subwords. statistic: called with one array of shares each, all
    over the same bins, which is also what is returned for the histograms themselves.
    """
    table = pd.concat(histograms, axis=1, join="outer").fillna(0).sort_index().to_numpy(dtype=int)
    totals = table.sum(axis=0)
    if not totals.all():
        return Estimate(float("nan"), float("nan"), float("nan"))
    shares = (table / totals).T
    rng = np.random.default_rng(seed)
    samples = [
        rng.multinomial(total, row, size=resamples) / total
        for total, row in zip(totals, shares, strict=True)
    ]
    drawn = [statistic(*rows) for rows in zip(*samples, strict=True)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(float(statistic(*shares)), float(low), float(high))


def distribution_distance(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the Kolmogorov-Smirnov distance of two samples with a conservative interval.

    Half its width is how far two samples of one distribution are apart in 1 of 20 cases.
    """
    sizes = len(first), len(second)
    if not all(sizes):
        return Estimate(float("nan"), float("nan"), float("nan"))
    distance = float(stats.ks_2samp(first, second, method="asymp").statistic)
    error = float(stats.kstwobign.ppf(CONFIDENCE) * np.sqrt(1 / sizes[0] + 1 / sizes[1]))
    return Estimate(distance, max(0.0, distance - error), min(1.0, distance + error))


def mean_of_seeds(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Return the mean over seeds with Student's interval; None for the bounds of one seed."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    error = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * stats.sem(values))
    return mean, mean - error, mean + error
