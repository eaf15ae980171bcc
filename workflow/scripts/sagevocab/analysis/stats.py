"""Entropies, intervals and paired tests: small wrappers that fix the conventions used here.

Every random procedure takes a seed. Corpora have hundreds of thousands of lines but few distinct
(words, tokens) pairs, so resampling lines is done exactly on the counts of the distinct values
(a bootstrap sample of lines is a multinomial sample of values), in seconds instead of hours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 1000
PERMUTATIONS = 9999
_BATCH_CELLS = 1 << 24


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


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


def shannon_entropy(counts: Sequence[int] | np.ndarray) -> float:
    """Return the Shannon entropy of a frequency distribution in bits; 0 without observations."""
    return renyi_entropy(counts, alpha=1.0)


def renyi_entropy(counts: Sequence[int] | np.ndarray, alpha: float) -> float:
    """Return the Renyi entropy of order `alpha` in bits; order 1 is Shannon's (the limit).

    Raises:
        ValueError: alpha is negative or not finite.
    """
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be finite and at least 0, not {alpha}")
    shares = _shares(counts)
    if shares.size == 0:
        return 0.0
    if alpha == 1:
        return float(-(shares * np.log2(shares)).sum()) + 0.0
    return float(np.log2((shares**alpha).sum()) / (1 - alpha)) + 0.0


def efficiency(
    counts: Sequence[int] | np.ndarray, alpha: float = 1.0, outcomes: int | None = None
) -> float:
    """Return the Renyi entropy of order `alpha` as a share of its maximum, log2(outcomes).

    outcomes: size of the vocabulary, unseen pieces included; `len(counts)` if not given.
    Source: Zouhar et al. 2023, "Tokenization and the Noiseless Channel" (alpha = 2.5).
    """
    size = len(counts) if outcomes is None else outcomes
    return renyi_entropy(counts, alpha) / float(np.log2(size)) if size > 1 else 0.0


def proportion_interval(hits: int, total: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a share; (nan, nan) of nothing."""
    if total == 0:
        return Interval(float("nan"), float("nan"))
    from scipy import stats  # a second to import, and most jobs need none of it

    bounds = stats.binomtest(hits, total).proportion_ci(confidence, method="wilson")
    return Interval(float(bounds.low), float(bounds.high))


def bootstrap_interval(
    values: Sequence[float] | np.ndarray,
    statistic: Callable[..., float] = np.mean,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return a statistic of independent values (pieces, scores) with its percentile interval.

    statistic: called as `statistic(samples, axis=-1)`.
    """
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        return Estimate(float("nan"), float("nan"), float("nan"))
    value = float(statistic(data, axis=-1))
    if np.all(data == data[0]):
        return Estimate(value, value, value)
    from scipy import stats

    result = stats.bootstrap(
        (data,),
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        vectorized=True,
        batch=max(1, _BATCH_CELLS // data.size),
        rng=np.random.default_rng(seed),
    )
    bounds = result.confidence_interval
    return Estimate(value, float(bounds.low), float(bounds.high))


def ratio_interval(
    numerators: Sequence[int] | np.ndarray,
    denominators: Sequence[int] | np.ndarray,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return sum(numerators) / sum(denominators) with its interval over resampled lines.

    Both are given per line, in the same order: tokens and words make mean fertility, the tokens
    of two tokenizers make their encoding cost. Percentile bootstrap, lines resampled together.
    """
    pairs = np.column_stack([np.asarray(numerators), np.asarray(denominators)])
    if pairs.size == 0 or pairs[:, 1].sum() == 0:
        return Estimate(float("nan"), float("nan"), float("nan"))
    values, counts = np.unique(pairs, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    sums = np.concatenate(list(_resampled_sums(values, counts, rng, resamples)))
    sums = sums[sums[:, 1] > 0]
    tail = (1 - confidence) / 2
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [tail, 1 - tail])
    totals = counts @ values
    return Estimate(float(totals[0] / totals[1]), float(low), float(high))


def paired_permutation(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    *,
    seed: int,
    permutations: int = PERMUTATIONS,
) -> float:
    """Return the two-sided p-value of a paired difference of means under exchanged labels.

    All 2^n exchanges are enumerated when there are at most `permutations` of them, else that many
    are drawn, on the counts of the distinct absolute differences. Equal pairs give 1.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    differences = differences[differences != 0]
    if differences.size == 0:
        return 1.0
    exact = differences.size <= np.log2(permutations)
    sums = _all_flips(differences) if exact else _drawn_flips(differences, seed, permutations)
    observed = abs(differences.sum())
    hits = int((np.abs(sums) >= observed * (1 - 1e-12)).sum())
    return hits / len(sums) if exact else (hits + 1) / (len(sums) + 1)


def compare_paired(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Return the mean paired difference with its bootstrap interval and permutation p-value.

    Pairs are lines, pieces, examples or seeds measured under two tokenizers, in the same order.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    bounds = ratio_interval(
        differences,
        np.ones_like(differences),
        seed=seed,
        resamples=resamples,
        confidence=confidence,
    )
    return Comparison(*bounds, paired_permutation(first, second, seed=seed))


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return Holm's step-down adjusted p-values, in the order given."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def _shares(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    seen = np.asarray(counts, dtype=float)
    seen = seen[seen > 0]
    return seen / seen.sum() if seen.size else seen


def _resampled_sums(values, counts, rng, resamples):
    """Yield bootstrap samples' sums of both columns: arrays (at most one batch, 2)."""
    shares, batch = counts / counts.sum(), max(1, _BATCH_CELLS // len(counts))
    for done in range(0, resamples, batch):
        size = min(batch, resamples - done)
        yield rng.multinomial(counts.sum(), shares, size=size) @ values


def _all_flips(differences: np.ndarray) -> np.ndarray:
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _drawn_flips(differences: np.ndarray, seed: int, permutations: int) -> np.ndarray:
    sizes, counts = np.unique(np.abs(differences), return_counts=True)
    rng, sums = np.random.default_rng(seed), np.zeros(permutations)
    for size, count in zip(sizes, counts, strict=True):
        sums += size * (2.0 * rng.binomial(count, 0.5, size=permutations) - count)
    return sums
