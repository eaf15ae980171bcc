"""Estimates with 95 % intervals and tests for the differences that the paper speaks of.

What is drawn anew is named in each measurement: lines of the corpus or pieces of the vocabularies.
Those that two tokenizers share are drawn, and exchanged, under both at once. Scores of language
models have `score_intervals`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from sagevocab.analysis.resampling import (
    bootstrap_p_value,
    interval_of,
    permute_pieces,
    resampled_sums,
    total_interval,
)
from sagevocab.analysis.stats import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    paired_permutation,
    proportion_interval,
)
from sagevocab.paper.verdicts import Measurement

LINES = "lines"
PIECES = "pieces"

LINES_EXCHANGED = "permutation, labels exchanged within lines"
PIECES_EXCHANGED = "permutation, labels exchanged within pieces"
FISHER = "Fisher's exact, two sets of pieces"
LINES_RESAMPLED = "bootstrap standard error over lines"
PIECES_RESAMPLED = "bootstrap standard error over pieces"


# --- lines


def line_share_difference(
    first: np.ndarray, second: np.ndarray, words: np.ndarray, *, seed: int
) -> Measurement:
    """Return the difference of two shares of the words of a corpus, both counted by line."""
    table = np.column_stack([first - second, words])
    estimate = total_interval(table, _ratio, seed=seed)
    return _exchanged(estimate, first, second, seed)


def line_ratio(first: np.ndarray, second: np.ndarray, *, seed: int) -> Measurement:
    """Return the ratio of two totals, both counted by line."""
    estimate = total_interval(np.column_stack([first, second]), _ratio, seed=seed)
    return _exchanged(estimate, first, second, seed)


def line_log_ratio(first: np.ndarray, second: np.ndarray, *, seed: int) -> Measurement:
    """Return log(total / total) of two counts by line; the test is of the difference of the totals.

    One half is added to each total, so that 0 is no trouble.
    """

    def statistic(sums: np.ndarray) -> np.ndarray:
        return np.log((sums[..., 0] + 0.5) / (sums[..., 1] + 0.5))

    estimate = total_interval(np.column_stack([first, second]), statistic, seed=seed)
    return _exchanged(estimate, first, second, seed)


def line_mean(values: np.ndarray, *, seed: int) -> Estimate:
    """Return the mean over lines."""
    return total_interval(np.column_stack([values, np.ones_like(values)]), _ratio, seed=seed)


Resampled = tuple[float, np.ndarray]


def resampled_distance(table: np.ndarray, *, seed: int) -> Resampled:
    """Return the total variation distance of two histograms, and its replicates over lines.

    table: int[lines, bins + 1], by line the difference of the histograms and, last, the words.
    """
    return float(_distance(table.sum(axis=0))), _distance(resampled_sums(table, seed=seed))


def change(here: Resampled, there: Resampled) -> Measurement:
    """Return a number of one text minus that of another, the two resampled by line independently.

    There is no exchange of labels, for texts differ in more than what is compared: the test is by
    the bootstrap standard error.
    """
    value, drawn = here[0] - there[0], here[1] - there[1]
    estimate = interval_of(value, drawn)
    p_value = None if np.isnan(value) else bootstrap_p_value(value, drawn)
    return Measurement(*estimate, unit=LINES, test=LINES_RESAMPLED, p_value=p_value)


def _ratio(sums: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[..., 0] / sums[..., 1]


def _distance(sums: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(sums[..., :-1]).sum(axis=-1) / sums[..., -1] / 2


def _exchanged(estimate: Estimate, first: np.ndarray, second: np.ndarray, seed: int) -> Measurement:
    p_value = paired_permutation(first, second, seed=seed)
    return Measurement(*estimate, unit=LINES, test=LINES_EXCHANGED, p_value=p_value)


# --- pieces


def share(hits: int, total: int) -> Estimate:
    """Return a share of pieces with Wilson's interval; nan of nothing."""
    low, high = proportion_interval(hits, total)
    return Estimate(hits / total if total else float("nan"), low, high)


def share_difference(first: tuple[int, int], second: tuple[int, int]) -> Measurement:
    """Return the difference of two shares, each (hits, total), of two sets without a common piece.

    Source of the interval: Newcombe 1998, method 10 (the limits of two Wilson intervals, combined).
    """
    one, two = share(*first), share(*second)
    below = np.hypot(one.value - one.low, two.high - two.value)
    above = np.hypot(one.high - one.value, two.value - two.low)
    difference = one.value - two.value
    return Measurement(
        difference,
        float(difference - below),
        float(difference + above),
        unit=PIECES,
        test=FISHER,
        p_value=fisher(first, second),
    )


def fisher(first: tuple[int, int], second: tuple[int, int]) -> float | None:
    """Return the two-sided p-value of equal shares, each (hits, total); None of nothing."""
    if not (first[1] and second[1]):
        return None
    table = [[hits, total - hits] for hits, total in (first, second)]
    return float(stats.fisher_exact(table).pvalue)


def bootstrap_means(
    columns: Sequence[pd.Series], statistic: Callable[..., np.ndarray], *, seed: int
) -> Estimate:
    """Return `statistic(*means of the columns)` with its interval over resampled pieces.

    columns: values by piece. A piece that a column lacks does not count in that column's mean;
    a resampled piece is resampled in all columns at once, so what they share is paired.
    """
    value, drawn = _resampled_means(columns, statistic, seed)
    return interval_of(value, drawn)


def difference_of_means(first: pd.Series, second: pd.Series, *, seed: int) -> Measurement:
    """Return the difference of two means over pieces with the test that exchanges their labels."""
    estimate = bootstrap_means([first, second], lambda a, b: a - b, seed=seed)
    p_value = permute_pieces(first, second, seed=seed)
    return Measurement(
        *estimate,
        unit=PIECES,
        test=PIECES_EXCHANGED,
        p_value=None if np.isnan(p_value) else p_value,
    )


def change_of_ratio(columns: Sequence[pd.Series], *, seed: int) -> Measurement:
    """Return mean / mean of the first two columns minus that of the last two, over pieces.

    The pairs of columns are of two texts, whose labels can't be exchanged; hence a test by the
    bootstrap standard error.
    """
    value, drawn = _resampled_means(columns, lambda a, b, c, d: a / b - c / d, seed)
    p_value = None if np.isnan(value) else bootstrap_p_value(value, drawn)
    return Measurement(
        *interval_of(value, drawn), unit=PIECES, test=PIECES_RESAMPLED, p_value=p_value
    )


def _resampled_means(
    columns: Sequence[pd.Series], statistic: Callable[..., np.ndarray], seed: int
) -> tuple[float, np.ndarray]:
    table = pd.concat(columns, axis=1, join="outer").sort_index().to_numpy(dtype=float)
    present = ~np.isnan(table)
    if not present.any(axis=0).all():
        return float("nan"), np.zeros(0)
    both = np.column_stack([np.where(present, table, 0.0), present])
    rng, size = np.random.default_rng(seed), len(both)
    sums = np.empty((RESAMPLES, both.shape[1]))
    for number in range(RESAMPLES):
        weights = np.bincount(rng.integers(size, size=size), minlength=size)
        sums[number] = weights.astype(float) @ both
    return float(_of_means(both.sum(axis=0), statistic)), _of_means(sums, statistic)


def _of_means(sums: np.ndarray, statistic: Callable[..., np.ndarray]) -> np.ndarray:
    """sums: float64[..., 2 * columns], of the values and of the pieces that have one."""
    values, present = np.split(sums, 2, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic(*np.moveaxis(values / present, -1, 0))


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
