"""Bootstrap and permutation against all resamples of small data, and against theory."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagevocab.analysis import resampling
from sagevocab.analysis.stats import ratio_interval

SMALL = np.array([[3, 4, 0], [1, 5, 2], [0, 1, 7], [2, 2, 2]])


def _all_resamples(table: np.ndarray) -> np.ndarray:
    """Return the sums of all n^n bootstrap samples."""
    chosen = np.array(list(product(range(len(table)), repeat=len(table))))
    return table[chosen].sum(axis=1)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_resampled_sums_are_distributed_as_all_resamples_are(columns: int):
    table = SMALL[:, :columns]
    drawn = resampling.resampled_sums(table, seed=1, resamples=20_000)
    expected = _all_resamples(table)
    assert drawn.mean(axis=0) == pytest.approx(expected.mean(axis=0), rel=0.02)
    assert np.cov(drawn.T) == pytest.approx(np.cov(expected.T, ddof=0), rel=0.05, abs=0.2)
    assert {tuple(row) for row in drawn} == {tuple(row) for row in expected}


def test_rows_of_many_blocks_are_drawn_from_all(monkeypatch):
    monkeypatch.setattr(resampling, "_BLOCK_ROWS", 3)
    table = np.random.default_rng(0).integers(0, 50, size=(40, 3))
    drawn = resampling.resampled_sums(table, seed=1, resamples=5000)
    spread = np.sqrt(len(table)) * table.std(axis=0)
    assert drawn.mean(axis=0) == pytest.approx(table.sum(axis=0), rel=0.01)
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.04)


def test_two_columns_agree_with_the_interval_of_a_ratio_and_are_seeded():
    rng = np.random.default_rng(4)
    words = rng.integers(1, 30, size=500)
    tokens = words + rng.integers(-1, 9, size=500)

    def ratio(sums):
        return sums[..., 0] / sums[..., 1]

    table = np.column_stack([tokens, words])
    assert resampling.total_interval(table, ratio, seed=7) == ratio_interval(tokens, words, seed=7)
    assert resampling.total_interval(table, ratio, seed=7) != resampling.total_interval(
        table, ratio, seed=8
    )


def test_negative_differences_are_resampled_as_they_are():
    table = np.column_stack([np.tile([-3, 1], 50), np.ones(100, dtype=int)])
    sums = resampling.resampled_sums(table, seed=1)
    assert set(sums[:, 1]) == {100.0}
    assert sums[:, 0].mean() == pytest.approx(-100, abs=3)


def test_replicates_without_a_meaning_are_left_out():
    assert resampling.interval_of(2.0, np.array([1.0, np.nan, 3.0, np.inf]), confidence=1) == (
        2,
        1,
        3,
    )
    nothing = resampling.interval_of(2.0, np.array([np.nan]))
    assert math.isnan(nothing.low) and math.isnan(nothing.high)


def test_p_value_of_a_bootstrap_is_that_of_its_standard_error():
    drawn = np.random.default_rng(0).normal(1.96, 1.0, size=200_000)
    assert resampling.bootstrap_p_value(1.96, drawn) == pytest.approx(0.05, abs=0.001)
    assert resampling.bootstrap_p_value(-1.96, drawn) == resampling.bootstrap_p_value(1.96, drawn)
    assert resampling.bootstrap_p_value(0.0, np.zeros(5)) == 1.0
    assert resampling.bootstrap_p_value(0.1, np.full(5, 0.1)) == 0.0


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
    drawn = resampling.permute_pieces(one, two, seed=1, permutations=40_000)
    assert drawn == pytest.approx(_exact(pairs, first, second), abs=0.01)


def test_a_value_that_is_missing_under_one_vocabulary_makes_no_pair():
    one = pd.Series({"a": 1.0, "b": math.nan, "c": 5.0})
    two = pd.Series({"a": 2.0, "b": 3.0, "d": 4.0})
    expected = _exact([(1, 2)], [5.0], [3.0, 4.0])
    assert resampling.permute_pieces(one, two, seed=1, permutations=40_000) == pytest.approx(
        expected, abs=0.01
    )
    assert math.isnan(resampling.permute_pieces(pd.Series(dtype=float), two, seed=1))


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(12)), st.integers(0, 5))
def test_neither_order_nor_side_changes_the_test(order, seed):
    rng = np.random.default_rng(seed)
    one = pd.Series(rng.random(8), [f"p{i}" for i in range(8)])
    two = pd.Series(rng.random(12), [f"p{i}" for i in range(4, 16)])
    p_value = resampling.permute_pieces(one, two, seed=3, permutations=500)
    assert (
        resampling.permute_pieces(one, two.iloc[list(order)], seed=3, permutations=500) == p_value
    )
    # The same exchanges of the same pieces: only the sign of the statistic differs.
    assert resampling.permute_pieces(two, one, seed=3, permutations=500) == p_value
