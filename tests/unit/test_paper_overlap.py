"""Pieces pruned in common: shares by hand, how much of a choice is accounted for, the rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reproduction.paper.overlap import (
    AMONG_SEEDS,
    overlaps,
    what_chooses,
)

# SaGe's two seeds share 3 of 4; counting has 3 and 2 of them, one random pruning 1 and 1.
PRUNED = {
    "sage": frozenset("abcd"),
    "sage.seed2": frozenset("abce"),
    "counts": frozenset("abdx"),
    "random": frozenset("axyzw"),
}
READINGS = {"SaGe": ["sage", "sage.seed2"]}
CONTROLS = {"counts": ["counts"], "at random": ["random"]}


def test_overlaps_are_shares_of_what_is_pruned() -> None:
    rows = overlaps({"English": PRUNED}, READINGS, CONTROLS, ["at random"]).set_index("control")
    assert list(rows["pairs"]) == [1, 2, 2]
    assert list(rows["mean"]) == [3 / 4, (3 / 4 + 2 / 4) / 2, 1 / 4]
    assert (rows.loc["counts", "low"], rows.loc["counts", "high"]) == (2 / 4, 3 / 4)
    # .25 of 1 is random's, .75 is another seed's; .625 is three quarters of the way.
    assert list(rows["accounts_for"]) == [1, 0.75, 0]


@pytest.mark.parametrize("drawn", [[], ["at random"]])
def test_without_a_second_seed_or_random_prunings_nothing_is_accounted_for(drawn) -> None:
    alone = overlaps({"English": PRUNED}, {"SaGe": ["sage"]}, CONTROLS, drawn)
    assert alone["accounts_for"].isna().all()
    assert math.isnan(alone["mean"][0]) and alone["pairs"][0] == 0


SHARES = {"zero": 0.9, "shuffled": 0.9, "counts": 0.9, "extra": 0.3}


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, "mostly counts"),
        ({"counts": 0.76}, "both"),  # within two points of the threshold
        ({"zero": 0.5}, "both"),
        ({"extra": 0.9, "counts": 0.1}, "mostly counts"),
        ({"zero": 0.2, "shuffled": 0.2}, "mostly contexts"),
        ({"zero": 0.2, "shuffled": 0.24}, "both"),
        ({"shuffled": 1.0}, "contexts do not choose"),
        ({"counts": None}, "mostly counts if another counts"),
        ({"zero": None}, None),
    ],
)
def test_the_rule(changes, expected):
    shares = {**SHARES, **changes}
    rows = {
        name: {"mean": np.nan if share is None else share, "accounts_for": share, "low": 0}
        for name, share in shares.items()
    }
    rows[AMONG_SEEDS] = {"mean": 1.0, "low": 0.98, "accounts_for": 1.0}
    if expected == "mostly counts if another counts":
        rows["extra"] |= {"mean": 0.9, "accounts_for": 0.9}
        expected = "mostly counts"
    assert what_chooses(rows, "zero", "shuffled", ["counts", "extra"]) == expected
