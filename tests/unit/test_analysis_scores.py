"""The bootstrap of scores: what is drawn together, how wide it is, what it tells apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from reproduction.analysis.scores import (
    EXAMPLES_AND_SEEDS,
    ScoreSums,
    _student,
    resample_scores,
    score_sums,
)
from reproduction.analysis.stats import percentile_p_value

RNG = np.random.default_rng(5)


def accuracy_of(right: np.ndarray) -> ScoreSums:
    """right: bool[models, examples]."""
    return score_sums(np.ones(right.shape[1], int), right.astype(int), "accuracy", 2)


def test_the_p_value_is_the_level_at_which_the_interval_leaves_0_out():
    drawn = np.linspace(-0.05, 0.95, 10_000)
    p_value = percentile_p_value(drawn)
    assert p_value == pytest.approx(0.1, abs=1e-3)
    assert np.quantile(drawn, 0.5 * p_value) == pytest.approx(0.0, abs=1e-3)
    assert percentile_p_value(-drawn) == p_value
    assert percentile_p_value(np.zeros(100)) == 1.0
    assert percentile_p_value(np.full(10_000, 0.1)) == pytest.approx(2 / 10_000)


def test_models_are_paired_by_example():
    # The second is right on the same hard or easy examples, and on one in ten more.
    first = RNG.random(500) < 0.5
    second = first | (RNG.random(500) < 0.1)
    scores = resample_scores(accuracy_of(np.stack([first, second])), ["bpe", "sage"], seed=1)
    paired = scores.difference("sage", "bpe")
    alone = [scores.mean(name) for name in ("bpe", "sage")]
    assert paired.low > 0 and paired.p_value < 0.001
    assert paired.high - paired.low < 0.5 * min(e.high - e.low for e in alone)
    share = paired.difference
    error = np.sqrt(share * (1 - share) / 500)
    assert paired.high - paired.low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_seeds_that_differ_widen_the_interval_by_their_unbiased_variance():
    # Every example counts alike, so only seeds vary: s^2 / 3 for the mean of three.
    table = np.zeros((50, 3, 2))
    table[:, :, 0], table[:, :, 1] = (0.5, 0.6, 0.7), 1.0
    sums = ScoreSums(table, lambda totals: totals[..., 0] / totals[..., 1])
    scores = resample_scores(sums, ["sage"] * 3, seed=1, resamples=40_000)
    half = stats.t(2).ppf(0.975) * 0.1 / np.sqrt(3)
    assert scores.mean("sage") == pytest.approx((0.6, 0.6 - half, 0.6 + half))
    assert scores.unit("sage") == EXAMPLES_AND_SEEDS


def test_seeds_are_compared_in_pairs_where_models_share_them():
    # Seeds move both tokenizers alike; examples add nothing.
    table = np.zeros((50, 6, 2))
    bpe, sage = np.array([0.5, 0.6, 0.7]), np.array([0.53, 0.64, 0.72])
    table[:, :, 0], table[:, :, 1] = [*bpe, *sage], 1.0
    sums = ScoreSums(table, lambda totals: totals[..., 0] / totals[..., 1])
    scores = resample_scores(sums, ["bpe"] * 3 + ["sage"] * 3, seed=1, resamples=100)
    in_pairs = scores.difference("sage", "bpe").p_value
    assert in_pairs == pytest.approx(stats.ttest_rel(sage, bpe).pvalue)
    apart = scores.difference("sage", "bpe", are_seeds_shared=False).p_value
    assert apart == pytest.approx(stats.ttest_ind(sage, bpe, equal_var=False).pvalue)


@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_seeds_alone_call_equal_tokenizers_different_no_more_often(spread):
    # Scores of three seeds each; the examples add little or nothing.
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(600):
        values = rng.normal(0.7, 0.02, size=(2, 3))
        drawn = values[:, None, :] + spread * rng.normal(size=(2, 200, 1)) * [[[0]], [[1]]]
        value = values[0].mean() - values[1].mean() + spread * rng.normal()
        replicates = drawn[0].mean(axis=1) - drawn[1].mean(axis=1)
        p_values.append(_student(np.insert(replicates, 0, value), list(values)).p_value)
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.07
    assert np.mean(np.array(p_values) < 0.005) <= 0.015
