"""SaGe minus its controls, seed by seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from reproduction.paper.controls import paired_difference

SEEDS = [1.2, 1.1, 1.6, 1.3, 1.3]


def test_seed_i_stands_beside_the_controls_seed_i() -> None:
    control = [1.0, 1.0, 1.3, 1.1, 1.2]
    found = paired_difference(SEEDS, control)
    # Differences .2, .1, .3, .2, .1: mean .18, standard deviation .0837, of five 2.776 .0374.
    assert found["difference"] == pytest.approx(0.18)
    assert (found["low"], found["high"]) == pytest.approx((0.0761, 0.2839), abs=1e-4)
    assert found["p_value"] == pytest.approx(stats.ttest_rel(SEEDS, control).pvalue)
    assert found["p_value"] < stats.ttest_ind(SEEDS, control).pvalue / 4


def test_a_control_without_seeds_is_one_value() -> None:
    found = paired_difference(SEEDS, [1.0])
    assert found["difference"] == pytest.approx(0.3)
    assert found["p_value"] == pytest.approx(stats.ttest_1samp(SEEDS, 1.0).pvalue)


@pytest.mark.parametrize(
    ("seeds", "control"),
    [
        pytest.param([1.0, 2.0], [0.5, 0.5], id="two seeds"),
        pytest.param(SEEDS, [1.0, 2.0], id="another number of seeds"),
        pytest.param(SEEDS, [], id="no control"),
        pytest.param(["e", "ing", "e"], ["e"], id="words"),
    ],
)
def test_what_cannot_be_paired_is_not_compared(seeds: list, control: list) -> None:
    assert np.isnan(list(paired_difference(seeds, control).values())).all()


def test_seeds_that_differ_by_one_number_have_no_interval() -> None:
    found = paired_difference([3, 4, 5], [1, 2, 3])
    assert found["difference"] == 2
    assert np.isnan([found["low"], found["high"], found["p_value"]]).all()
