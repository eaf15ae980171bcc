"""SaGe minus its controls, seed by seed."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.paper.controls import paired_difference

SEEDS = [1.2, 1.1, 1.6, 1.3, 1.3]


@pytest.mark.parametrize(
    ("seeds", "control"),
    [
        pytest.param([1.0, 2.0], [0.5, 0.5], id="two seeds"),
        pytest.param(SEEDS, [1.0, 2.0], id="two seeds of the control"),
        pytest.param(SEEDS, [], id="no control"),
        pytest.param(["e", "ing", "e"], ["e"], id="words"),
    ],
)
def test_what_cannot_be_paired_is_not_compared(seeds: list, control: list) -> None:
    assert np.isnan(paired_difference(seeds, control)["difference"])


def test_seeds_that_differ_by_one_number_have_no_interval() -> None:
    found = paired_difference([3, 4, 5], [1, 2, 3])
    assert found["difference"] == 2
    assert np.isnan([found["low"], found["high"], found["p_value"]]).all()


def test_seeds_beyond_those_of_the_control_are_left_out() -> None:
    found = paired_difference([3, 4, 6, 90], [1, 2, 3])
    assert found["pairs"] == 3
    assert found["difference"] == pytest.approx(7 / 3)  # of 2, 2 and 3
