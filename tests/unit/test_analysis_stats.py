"""Statistics against values worked by hand and against scipy."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from reproduction.analysis import stats
from sagevocab.evaluation import measures


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
def test_renyi_entropy_refuses_orders_without_meaning(alpha):
    with pytest.raises(ValueError, match="alpha"):
        measures.renyi_entropy([1, 2], alpha)


def test_efficiency_is_one_for_equal_counts_and_counts_unseen_pieces():
    assert measures.efficiency([3, 3, 3, 3], alpha=2.5) == pytest.approx(1.0)
    assert measures.efficiency([3, 3, 0, 0]) == pytest.approx(0.5)
    assert measures.efficiency([3]) == 0.0


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


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04 -> running maximum
    assert stats.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert stats.holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])
    assert stats.holm([]).size == 0
    # Of ten tests two were made.
    assert stats.holm([0.001, 0.01], 10) == pytest.approx([0.01, 0.09])


def test_thousands_of_pairs_are_tested():
    first = np.random.default_rng(2).integers(0, 9, size=5000)
    assert stats.paired_permutation(first, first + np.tile([1, -1], 2500), seed=1) == 1.0
    assert stats.paired_permutation(first + 1, first, seed=1) == 1 / 10_000


# --- samples of rows

SMALL = np.array([[3, 4, 0], [1, 5, 2], [0, 1, 7], [2, 2, 2]])


def _all_resamples(table: np.ndarray) -> np.ndarray:
    """Return the sums of all n^n bootstrap samples."""
    chosen = np.array(list(product(range(len(table)), repeat=len(table))))
    return table[chosen].sum(axis=1)


@pytest.mark.parametrize("columns", [1, 3])
def test_resampled_sums_are_distributed_as_all_resamples_are(columns: int):
    table = SMALL[:, :columns]
    drawn = stats.resample(table, lambda sums: sums, seed=1, resamples=20_000)[1:]
    expected = _all_resamples(table)
    assert drawn.mean(axis=0) == pytest.approx(expected.mean(axis=0), rel=0.02)
    assert np.cov(drawn.T) == pytest.approx(np.cov(expected.T, ddof=0), rel=0.05, abs=0.2)
    assert {tuple(row) for row in drawn} == {tuple(row) for row in expected}


def test_rows_of_many_blocks_are_drawn_from_all(monkeypatch):
    monkeypatch.setattr(stats, "_BLOCK_ROWS", 3)
    table = np.random.default_rng(0).integers(0, 50, size=(40, 3))
    drawn = stats.resample(table, lambda sums: sums, seed=1, resamples=5000)[1:]
    spread = np.sqrt(len(table)) * table.std(axis=0)
    assert drawn.mean(axis=0) == pytest.approx(table.sum(axis=0), rel=0.01)
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.04)


def test_replicates_without_a_meaning_are_left_out():
    found = stats.estimate(np.array([2.0, 1.0, np.nan, 3.0, np.inf]))
    assert found == pytest.approx((2, 1.05, 2.95))
    nothing = stats.estimate(np.array([2.0, np.nan]))
    assert math.isnan(nothing.low) and math.isnan(nothing.high)


def test_p_value_of_a_bootstrap_is_that_of_its_standard_error():
    drawn = np.random.default_rng(0).normal(1.96, 1.0, size=200_000)
    values = np.insert(drawn, 0, 1.96)
    assert stats.bootstrap_p_value(values) == pytest.approx(0.05, abs=0.001)
    assert stats.bootstrap_p_value(-values) == stats.bootstrap_p_value(values)
    assert stats.bootstrap_p_value(np.zeros(5)) == 1.0
    assert stats.bootstrap_p_value(np.full(5, 0.1)) == 0.0


# --- permutation of pieces


def _exact(pairs: list[tuple[float, float]], first: list[float], second: list[float]) -> float:
    """Enumerate all exchanges; one that leaves a label without a piece counts as extreme."""
    rows = [*pairs, *((value, None) for value in first), *((None, value) for value in second)]
    statistics = []
    for signs in product([False, True], repeat=len(rows)):
        drawn = [row[::-1] if sign else row for row, sign in zip(rows, signs, strict=True)]
        columns = [
            [value for value in column if value is not None] for column in zip(*drawn, strict=True)
        ]
        means = [np.mean(column) if column else math.inf for column in columns]
        statistics.append(abs(means[0] - means[1]))
    # The first exchange is none: the data themselves.
    return float(np.mean([number >= statistics[0] - 1e-9 for number in statistics]))


def _series(pairs, first, second) -> tuple[pd.Series, pd.Series]:
    ours = {f"pair {i}": pair[0] for i, pair in enumerate(pairs)}
    theirs = {f"pair {i}": pair[1] for i, pair in enumerate(pairs)}
    ours |= {f"first {i}": value for i, value in enumerate(first)}
    theirs |= {f"second {i}": value for i, value in enumerate(second)}
    return pd.Series(ours, dtype=float), pd.Series(theirs, dtype=float)


@pytest.mark.parametrize(
    ("pairs", "first", "second"),
    [
        ([(5, 3), (4, 4), (9, 2)], [7.0, 8.0], [1.0, 2.0, 3.0]),
        ([], [7.0, 8.0, 9.0], [1.0, 2.0, 8.0]),
        ([(5, 3), (4, 1), (9, 2), (1, 3), (2, 0), (6, 3)], [], []),
        ([(1, 3), (2, 5)], [4.0, 4.0, 6.0], [1.0]),
    ],
)
def test_p_value_is_that_of_all_exchanges(pairs, first, second):
    one, two = _series(pairs, first, second)
    drawn = stats.permute_pieces(one, two, seed=1, permutations=40_000)
    assert drawn == pytest.approx(_exact(pairs, first, second), abs=0.01)


@settings(max_examples=30)
@given(st.permutations(range(12)), st.integers(0, 5))
def test_neither_order_nor_side_changes_the_test(order, seed):
    rng = np.random.default_rng(seed)
    one = pd.Series(rng.random(8), [f"p{i}" for i in range(8)])
    two = pd.Series(rng.random(12), [f"p{i}" for i in range(4, 16)])
    p_value = stats.permute_pieces(one, two, seed=3, permutations=500)
    assert stats.permute_pieces(one, two.iloc[list(order)], seed=3, permutations=500) == p_value
    # The same exchanges of the same pieces: only the sign of the statistic differs.
    assert stats.permute_pieces(two, one, seed=3, permutations=500) == p_value


def test_families_are_adjusted_each_by_itself_and_nan_is_no_test():
    p_values, families = [0.04, 0.01, np.nan, 0.02, 0.03], ["a", "b", "a", "a", "b"]
    found = stats.adjust(p_values, families, {"b": 5})
    assert found == pytest.approx([0.04, 0.05, np.nan, 0.04, 0.12], nan_ok=True)
