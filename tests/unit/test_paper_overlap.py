"""Pieces pruned in common: shares, places and intervals by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reproduction.paper.overlap import (
    AMONG_SEEDS,
    jackknife,
    overlaps,
    table_of_overlaps,
)

# SaGe's two seeds share 3 of 4; counting has 3 and 2 of them, one random pruning 1 and 1.
PRUNED = {
    "sage": frozenset("abcd"),
    "sage.seed2": frozenset("abce"),
    "counts": frozenset("abdx"),
    "random": frozenset("axyzw"),
}
READINGS = {"SaGe (printed)": ["sage", "sage.seed2"]}
CONTROLS = {"counts": ["counts"], "at random": ["random"]}


def test_overlaps_are_shares_of_what_is_pruned() -> None:
    rows = overlaps({"English": PRUNED}, READINGS, CONTROLS, ["at random"]).set_index("control")
    assert list(rows["pairs"]) == [1, 2, 2]
    assert list(rows["mean"]) == [3 / 4, (3 / 4 + 2 / 4) / 2, 1 / 4]
    assert (rows.loc["counts", "low"], rows.loc["counts", "high"]) == (2 / 4, 3 / 4)
    # .25 of 1 is random's, .75 is another seed's; .625 is three quarters of the way.
    assert list(rows["place"]) == [1, 0.75, 0]


@pytest.mark.parametrize("drawn", [[], ["at random"]])
def test_without_a_second_seed_or_random_prunings_there_is_no_place(drawn) -> None:
    alone = overlaps({"English": PRUNED}, {"SaGe (printed)": ["sage"]}, CONTROLS, drawn)
    assert alone["place"].isna().all()
    assert math.isnan(alone["mean"][0]) and alone["pairs"][0] == 0


def test_an_interval_is_the_jackknifes_over_seeds() -> None:
    # Without each of three seeds: 1, 2, 3; e^2 = 2/3 * 2, and t of two degrees of freedom is 4.303.
    low, high = jackknife(2.0, [1.0, 2.0, 3.0])
    half = 4.302653 * math.sqrt(4 / 3)
    assert (low, high) == pytest.approx((2 - half, 2 + half))
    assert all(map(math.isnan, jackknife(2.0, [1.0, 3.0])))


def test_a_seed_of_the_reading_and_that_of_its_control_are_left_out_together() -> None:
    pruned = {
        **{f"sage{n}": frozenset("abcdef") - {"abc"[n]} | {f"s{n}"} for n in range(3)},
        **{f"zero{n}": frozenset("abcdxy") - {"abc"[n]} | {f"z{n}"} for n in range(3)},
        "random": frozenset("auvwxy"),
    }
    seeds, zero = [f"sage{n}" for n in range(3)], [f"zero{n}" for n in range(3)]
    rows = overlaps(
        {"English": pruned}, {"SaGe (printed)": seeds}, {"zero": zero, "r": ["random"]}, ["r"]
    )
    row = rows.set_index("control").loc["zero"]

    def place(without: int | None) -> float:
        left = [n for n in range(3) if n != without]
        share = lambda one, other: len(pruned[one] & pruned[other]) / 6  # noqa: E731
        own = np.mean([share(f"sage{m}", f"sage{n}") for m in left for n in left if m < n])
        of = np.mean([share(f"sage{m}", f"zero{n}") for m in left for n in left])
        floor = np.mean([share(f"sage{m}", "random") for m in left])
        return (of - floor) / (own - floor)

    assert row["place"] == pytest.approx(place(None))
    expected = jackknife(place(None), [place(n) for n in range(3)])
    assert (row["place_low"], row["place_high"]) == pytest.approx(expected)
    assert rows.set_index("control").loc[AMONG_SEEDS, "place"] == 1


def test_the_table_shows_what_is_lost_without_vectors() -> None:
    rows = overlaps({"English": PRUNED}, READINGS, CONTROLS, ["at random"])
    lacking = {"SaGe (printed)": {"zero": "counts"}, "another": {"shuffled": "none"}}
    table = table_of_overlaps(rows, lacking)
    [[[*_, vectors, words]]] = table.blocks
    assert (vectors, words) == ("25.0 %", "–")
    assert table.head[-2:] == ["all vectors", "shuffled words"]
