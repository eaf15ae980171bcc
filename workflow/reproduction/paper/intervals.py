"""Estimates with 95 % intervals and tests for the differences that the paper states.

Each measurement names what is resampled: lines of the corpus or pieces of the vocabularies. A line
or piece that two tokenizers share is drawn, and exchanged, under both at once. Scores of language
models are in `analysis.scores`.

Resampling is the costly part. With the seed None nothing is drawn: the value stands alone, its
bounds are nan and it has no test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from reproduction.analysis.stats import (
    CONFIDENCE,
    NOTHING,
    Estimate,
    bootstrap_p_value,
    estimate,
    paired_permutation,
    permute_pieces,
    ratio_interval,
    resample,
)
from reproduction.analysis.vocabulary import Share, correlation_of
from reproduction.paper.measures import Measurement

LINES = "lines"
PIECES = "pieces"
WORDS = "words of the list"
SEEDS = "seeds"

LINES_EXCHANGED = "permutation, labels exchanged within lines"
PIECES_EXCHANGED = "permutation, labels exchanged within pieces"
FISHER = "Fisher's exact, two sets of pieces"
LINES_RESAMPLED = "bootstrap standard error over lines"
WORDS_RESAMPLED = "bootstrap standard error over words"
PIECES_RESAMPLED = "bootstrap standard error over pieces"


# --- seeds


def over_seeds(measured: Sequence[Measurement]) -> Measurement:
    """Return what vocabularies that differ only in their seed say together.

    A number is their mean. Its variance is that of the text, as the intervals of the seeds have it
    on average, and s^2 / n of the n seeds; the interval is Student's (degrees of freedom by Welch
    and Satterthwaite). The p-value is the largest of the seeds: all must be significant. Where a
    seed has only a bound, a mean says nothing: the number is their median, without interval. Words
    are those of the first seed. `holds` and `agrees` are what more than half of the seeds say.
    """
    first = measured[0]
    if len(measured) == 1:
        return first
    values = tuple(member.value for member in measured)
    together = replace(
        first,
        seeds=values,
        holds=_most(member.holds for member in measured),
        agrees=_most(member.agrees for member in measured),
    )
    if isinstance(first.value, str):
        return together
    if any(member.is_bound for member in measured):
        return replace(together, value=float(np.median(values)), low=None, high=None, unit=None)
    value, low, high = _student_interval(np.array(values), measured)
    p_values = [member.p_value for member in measured if member.p_value is not None]
    return replace(
        together,
        value=value,
        low=low,
        high=high,
        unit=f"{first.unit} and {SEEDS}" if first.has_interval else SEEDS,
        p_value=max(p_values, default=None),
    )


def beyond_spread(value: float, spread: Sequence[float], seeds: int) -> Measurement:
    """Return a value minus the mean of what every two of some seeds give, as one more of these.

    The values of pairs depend on each other: there are as many degrees of freedom as seeds less 1.
    """
    from scipy import stats

    difference = float(value - np.mean(spread))
    if len(spread) < 2:
        return Measurement(difference)
    error = float(np.std(spread, ddof=1) * np.sqrt(1 + 1 / len(spread)))
    half = error * float(stats.t.isf((1 - CONFIDENCE) / 2, seeds - 1))
    return Measurement(difference, difference - half, difference + half, unit=SEEDS)


def _most(answers: Iterable[bool | None]) -> bool | None:
    known = [answer for answer in answers if answer is not None]
    return sum(known) * 2 > len(known) if known else None


def _student_interval(values: np.ndarray, measured: Sequence[Measurement]) -> Estimate:
    from scipy import stats

    of_text = np.mean([_variance(member) for member in measured])
    of_seeds = float(np.var(values, ddof=1) / len(values))
    mean, variance = float(values.mean()), of_text + of_seeds
    if not of_seeds:  # the seeds make no difference
        return Estimate(mean, measured[0].low, measured[0].high)
    degrees = variance**2 / (of_seeds**2 / (len(values) - 1))
    half = float(stats.t.isf((1 - CONFIDENCE) / 2, degrees) * np.sqrt(variance))
    return Estimate(mean, mean - half, mean + half)


def _variance(measured: Measurement) -> float:
    """Return the variance that a 95 % interval stands for; 0 without one."""
    from scipy import stats

    if not measured.has_interval:
        return 0.0
    half = (measured.high - measured.low) / 2
    return float((half / stats.norm.isf((1 - CONFIDENCE) / 2)) ** 2)


# --- lines


def line_share_difference(
    first: np.ndarray, second: np.ndarray, words: np.ndarray, *, seed: int | None
) -> Measurement:
    """Return the difference of two shares of the words of a corpus, all counted by line."""
    return _exchanged(ratio_interval(first - second, words, seed=seed), first, second, seed)


def line_ratio(first: np.ndarray, second: np.ndarray, *, seed: int | None) -> Measurement:
    """Return the ratio of two totals, both counted by line."""
    return _exchanged(ratio_interval(first, second, seed=seed), first, second, seed)


def line_log_ratio(first: np.ndarray, second: np.ndarray, *, seed: int | None) -> Measurement:
    """Return log(total / total) of two counts by line; the test is of the difference of the totals.

    One half is added to each total, so that a total of 0 has a logarithm.
    """

    def statistic(sums: np.ndarray) -> np.ndarray:
        return np.log((sums[..., 0] + 0.5) / (sums[..., 1] + 0.5))

    values = resample(np.column_stack([first, second]), statistic, seed=seed)
    return _exchanged(estimate(values), first, second, seed)


def resampled_distance(table: np.ndarray, *, seed: int | None) -> np.ndarray:
    """Return the total variation distance of two histograms and its replicates over lines.

    table: int[lines, bins + 1], by line the difference of the histograms and, last, the words.
    """
    return resample(
        table, lambda sums: np.abs(sums[..., :-1]).sum(axis=-1) / sums[..., -1] / 2, seed=seed
    )


def change(here: np.ndarray, there: np.ndarray) -> Measurement:
    """Return a number of one text minus that of another, each resampled by line independently.

    The test is by the bootstrap standard error: the labels of texts can't be exchanged, because
    texts differ in more than what is compared.
    """
    return _by_error(here - there, LINES, LINES_RESAMPLED)


def _by_error(values: np.ndarray, unit: str, test: str) -> Measurement:
    untested = np.isnan(values[0]) or len(values) == 1
    p_value = None if untested else bootstrap_p_value(values)
    return Measurement(*estimate(values), unit=unit, test=test, p_value=p_value)


def _exchanged(
    found: Estimate, first: np.ndarray, second: np.ndarray, seed: int | None
) -> Measurement:
    p_value = None if seed is None else paired_permutation(first, second, seed=seed)
    return Measurement(*found, unit=LINES, test=LINES_EXCHANGED, p_value=p_value)


# --- words of a list


def f1_difference(table: np.ndarray, *, seed: int | None) -> Measurement:
    """Return the difference of two F1 scores over words, both resampled at once.

    table: int[words, 6], by word what two tokenizers placed, what was wanted, and what they shared.
    """

    def difference(sums: np.ndarray) -> np.ndarray:
        compared, baseline = (
            2 * sums[..., i + 2] / (sums[..., i] + sums[..., i + 1]) for i in (0, 3)
        )
        return compared - baseline

    return _by_error(resample(table, difference, seed=seed), WORDS, WORDS_RESAMPLED)


# --- pieces


def share_difference(first: Share, second: Share) -> Measurement:
    """Return the difference of two shares of two sets without a common piece.

    Source of the interval: Newcombe 1998, method 10 (the limits of two Wilson intervals, combined).
    """
    one, two = first.estimate(), second.estimate()
    below = np.hypot(one.value - one.low, two.high - two.value)
    above = np.hypot(one.high - one.value, two.value - two.low)
    difference = one.value - two.value
    low, high = float(difference - below), float(difference + above)
    p_value = fisher(first, second)
    return Measurement(difference, low, high, unit=PIECES, test=FISHER, p_value=p_value)


def fisher(first: Share, second: Share) -> float | None:
    """Return the two-sided p-value of equal shares; None of nothing."""
    from scipy import stats

    if not (first.total and second.total):
        return None
    table = [[share.hits, share.total - share.hits] for share in (first, second)]
    return float(stats.fisher_exact(table).pvalue)


def bootstrap_means(
    columns: Sequence[pd.Series], statistic: Callable[..., np.ndarray], *, seed: int | None
) -> Estimate:
    """Return `statistic(*means of the columns)` with its interval over resampled pieces.

    columns: values by piece. A piece that a column lacks does not count in that column's mean;
    a resampled piece is resampled in all columns at once, so what they share is paired.
    """
    return estimate(_resampled_means(columns, statistic, seed))


def difference_of_means(first: pd.Series, second: pd.Series, *, seed: int | None) -> Measurement:
    """Return the difference of two means over pieces with the test that exchanges their labels."""
    found = bootstrap_means([first, second], lambda a, b: a - b, seed=seed)
    p_value = np.nan if seed is None else permute_pieces(first, second, seed=seed)
    known = None if np.isnan(p_value) else p_value
    return Measurement(*found, unit=PIECES, test=PIECES_EXCHANGED, p_value=known)


def change_of_ratio(columns: Sequence[pd.Series], *, seed: int | None) -> Measurement:
    """Return mean / mean of the first two columns minus that of the last two, over pieces.

    The pairs of columns are of two texts, whose labels can't be exchanged: the test is by the
    bootstrap standard error.
    """
    values = _resampled_means(columns, lambda a, b, c, d: a / b - c / d, seed)
    return _by_error(values, PIECES, PIECES_RESAMPLED)


def difference_of_correlations(
    first: pd.DataFrame, second: pd.DataFrame, *, seed: int | None
) -> Measurement:
    """Return the difference of two Spearman correlations, each of two columns by piece.

    A piece's values are not exchangeable between the tables' other pieces: the test is by the
    bootstrap standard error.
    """
    differences = -np.diff(correlation_of([first, second], seed=seed), axis=1)[:, 0]
    return _by_error(differences, PIECES, PIECES_RESAMPLED)


def _resampled_means(
    columns: Sequence[pd.Series], statistic: Callable[..., np.ndarray], seed: int | None
) -> np.ndarray:
    table = pd.concat(columns, axis=1, join="outer").sort_index().to_numpy(dtype=float)
    present = ~np.isnan(table)
    if not present.any(axis=0).all():
        return np.array([np.nan])

    def of_means(sums: np.ndarray) -> np.ndarray:
        values, counts = np.split(sums, 2, axis=-1)
        return statistic(*np.moveaxis(values / counts, -1, 0))

    return resample(np.column_stack([np.where(present, table, 0), present]), of_means, seed=seed)


def distribution_distance(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the Kolmogorov-Smirnov distance of two samples with a conservative interval.

    Half its width is how far two samples of one distribution are apart in 1 of 20 cases.
    """
    from scipy import stats

    sizes = len(first), len(second)
    if not all(sizes):
        return NOTHING
    distance = float(stats.ks_2samp(first, second, method="asymp").statistic)
    error = float(stats.kstwobign.ppf(CONFIDENCE) * np.sqrt(1 / sizes[0] + 1 / sizes[1]))
    return Estimate(distance, max(0.0, distance - error), min(1.0, distance + error))
