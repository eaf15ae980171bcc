"""Statistics of vocabularies, on lists and rankings small enough to count by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from reproduction.analysis import vocabulary
from reproduction.analysis.vocabulary import mean_correlation

BPE = ["▁", "a", "▁a", "og", "▁th", "▁the", "ing", "ings"]


@pytest.mark.parametrize(
    ("count_word_start", "expected"),
    [(False, {0: 1, 1: 2, 2: 2, 3: 2, 4: 1}), (True, {1: 2, 2: 2, 3: 2, 4: 2})],
)
def test_length_histogram_under_both_conventions(count_word_start, expected):
    assert vocabulary.length_histogram(BPE, count_word_start).to_dict() == expected


def test_frequency_differences_count_missing_pieces_as_zero_and_sort_ties_by_piece():
    sage = pd.Series({"ing": 5, "e": 9, "x": 1})
    bpe = pd.Series({"e": 4, "ings": 7, "x": 1})
    frame = vocabulary.frequency_differences(sage, bpe)
    assert frame.index.tolist() == ["e", "ing", "x", "ings"]
    assert frame["difference"].tolist() == [5, 5, 0, -7]


# --- rankings of the losses


def _rankings(losses: dict[int, dict[str, float]]) -> pd.DataFrame:
    rows = [(i, piece, loss) for i, taken in losses.items() for piece, loss in taken.items()]
    return pd.DataFrame(rows, columns=["iteration", "piece", "loss"])


SMALL = _rankings(
    {
        0: {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "gone": 0.0},
        4: {"a": 1.0, "b": 2.0, "c": 9.0, "d": 8.0, "gone": 0.5},
        30: {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0},
    }
)


def test_the_mean_is_over_the_distances_asked_for():
    assert mean_correlation(SMALL, 24, seed=1).value == pytest.approx((-1 - 0.8) / 2)
    assert mean_correlation(SMALL, 27, seed=1).value == pytest.approx(-1)
    assert all(math.isnan(number) for number in mean_correlation(SMALL, 31, seed=1))


def test_interval_is_that_of_resampled_and_newly_ranked_pieces():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 25, size=60).astype(float)
    second = np.round(first + rng.normal(0, 6, size=60))
    names = [f"p{number:02d}" for number in range(60)]
    rankings = _rankings(
        {0: dict(zip(names, first, strict=True)), 24: dict(zip(names, second, strict=True))}
    )
    ours = mean_correlation(rankings, 24, seed=5, resamples=400)
    rng, drawn = np.random.default_rng(5), []
    for _ in range(400):
        chosen = rng.integers(60, size=60)
        drawn.append(scipy_stats.spearmanr(first[chosen], second[chosen]).statistic)
    assert ours.value == pytest.approx(scipy_stats.spearmanr(first, second).statistic)
    assert (ours.low, ours.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]))
