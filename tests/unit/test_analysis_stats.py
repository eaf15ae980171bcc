"""Statistics against values worked by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from sagevocab.analysis import stats


def test_shannon_entropy_of_halves_and_quarters():
    # 1/2 * 1 + 2 * 1/4 * 2 = 1.5 bits
    assert stats.shannon_entropy([2, 1, 1]) == pytest.approx(1.5)
    assert stats.shannon_entropy([7, 0]) == 0.0
    assert stats.shannon_entropy([]) == 0.0


def test_renyi_entropy_of_order_two_is_collision_entropy():
    # -log2(1/4 + 1/16 + 1/16) = -log2(3/8)
    assert stats.renyi_entropy([2, 1, 1], alpha=2) == pytest.approx(-np.log2(3 / 8))


def test_renyi_entropy_approaches_shannons_at_one_and_hartleys_at_zero():
    counts = [5, 3, 1, 0]
    near = stats.renyi_entropy(counts, alpha=1 + 1e-7)
    assert near == pytest.approx(stats.shannon_entropy(counts), abs=1e-5)
    assert stats.renyi_entropy(counts, alpha=0) == pytest.approx(np.log2(3))


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
def test_renyi_entropy_refuses_orders_without_meaning(alpha):
    with pytest.raises(ValueError, match="alpha"):
        stats.renyi_entropy([1, 2], alpha)


def test_efficiency_is_one_for_equal_counts_and_counts_unseen_pieces():
    assert stats.efficiency([3, 3, 3, 3], alpha=2.5) == pytest.approx(1.0)
    assert stats.efficiency([3, 3, 0, 0]) == pytest.approx(0.5)
    assert stats.efficiency([3, 3], outcomes=4) == pytest.approx(0.5)
    assert stats.efficiency([3]) == 0.0


def test_proportion_interval_is_wilsons():
    # Wilson, 1 of 10, z = 1.959964: centre (0.1 + z^2/20) / (1 + z^2/10), by hand
    low, high = stats.proportion_interval(1, 10)
    assert (low, high) == pytest.approx((0.01787621, 0.40415003), abs=1e-6)
    assert np.isnan(stats.proportion_interval(0, 0)).all()


def test_bootstrap_interval_covers_the_mean_as_theory_says():
    values = np.random.default_rng(0).normal(3, 1, size=400)
    value, low, high = stats.bootstrap_interval(values, seed=1)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert value == pytest.approx(values.mean())
    assert (low, high) == pytest.approx((value - half, value + half), abs=0.02)


def test_bootstrap_interval_is_seeded_and_takes_other_statistics():
    values = np.random.default_rng(0).exponential(size=50)
    first = stats.bootstrap_interval(values, np.median, seed=3)
    assert first == stats.bootstrap_interval(values, np.median, seed=3)
    assert first != stats.bootstrap_interval(values, np.median, seed=4)
    assert first.low <= np.median(values) <= first.high


def test_bootstrap_interval_of_constant_and_of_no_values():
    assert stats.bootstrap_interval([2.0, 2.0], seed=0) == (2.0, 2.0, 2.0)
    assert np.isnan(stats.bootstrap_interval([], seed=0)).all()


def test_ratio_interval_agrees_with_scipys_bootstrap_of_paired_lines():
    rng = np.random.default_rng(5)
    words = rng.integers(1, 12, size=300)
    tokens = words + rng.integers(0, 9, size=300)
    ours = stats.ratio_interval(tokens, words, seed=1, resamples=4000)
    theirs = scipy_stats.bootstrap(
        (tokens, words),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ours.value == tokens.sum() / words.sum()
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_ratio_interval_resamples_in_batches_of_any_size(monkeypatch):
    tokens, words = [3, 5, 2, 9], [1, 2, 2, 3]
    whole = stats.ratio_interval(tokens, words, seed=1)
    monkeypatch.setattr(stats, "_BATCH_CELLS", 40)
    assert stats.ratio_interval(tokens, words, seed=1) == whole


def test_ratio_interval_of_nothing():
    assert np.isnan(stats.ratio_interval([], [], seed=0)).all()
    assert np.isnan(stats.ratio_interval([1], [0], seed=0)).all()


def test_paired_permutation_by_hand():
    # differences 1, 2, 3: of 8 sign patterns only +++ and --- reach |6|
    assert stats.paired_permutation([1, 2, 3], [0, 0, 0], seed=0) == pytest.approx(2 / 8)
    assert stats.paired_permutation([1, 2], [1, 2], seed=0) == 1.0


def test_paired_permutation_agrees_with_scipy():
    rng = np.random.default_rng(7)
    first, second = rng.normal(0.35, 1, size=(10,)), rng.normal(0, 1, size=10)
    theirs = scipy_stats.permutation_test(
        (first, second),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert stats.paired_permutation(first, second, seed=0) == pytest.approx(theirs)


def test_drawn_permutations_approach_the_exact_value():
    first = np.array([2, 1, 3, 1, -1, 2, 1, -2, 1, 1])
    exact = stats.paired_permutation(first, np.zeros(10), seed=0)
    drawn = stats.paired_permutation(first, np.zeros(10), seed=0, permutations=1000)
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.03)


def test_compare_paired_sees_a_steady_difference_and_no_other():
    rng = np.random.default_rng(1)
    base = rng.normal(size=200)
    shifted = stats.compare_paired(base + 0.5 + rng.normal(scale=0.1, size=200), base, seed=1)
    assert 0.4 < shifted.low < shifted.difference < shifted.high < 0.6
    assert shifted.p_value == pytest.approx(1 / 10_000)
    same = stats.compare_paired(base, rng.permutation(base), seed=1)
    assert same.low < 0 < same.high
    assert same.p_value > 0.05


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04 -> running maximum
    assert stats.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert stats.holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])
    assert stats.holm([]).size == 0


def test_thousands_of_pairs_are_tested():
    first = np.random.default_rng(2).integers(0, 9, size=5000)
    assert stats.paired_permutation(first, first + np.tile([1, -1], 2500), seed=1) == 1.0
    assert stats.paired_permutation(first + 1, first, seed=1) == 1 / 10_000
