"""Pieces pruned in common: shares by hand, how much of a choice is accounted for, the table."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from reproduction.paper.overlap import OWN, overlaps, read_pruned, table_overlap

# SaGe's two seeds share 3 of 4; counting has 3 and 2 of them, one random pruning 1 and 1.
PRUNED = {
    "sage": frozenset("abcd"),
    "sage.seed2": frozenset("abce"),
    "counts": frozenset("abdx"),
    "random": frozenset("axyz"),
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


def test_the_table_has_a_row_a_reading_and_language(tmp_path: Path) -> None:
    paths = []
    for language in ("en", "tr"):
        for name, pieces in PRUNED.items():
            paths.append(tmp_path / f"{language}.{name}.parquet")
            pd.DataFrame({"piece": sorted(pieces)}).to_parquet(paths[-1])
    pruned = read_pruned(list(map(str, paths)), ["English", "Turkish"], list(PRUNED))
    rows = overlaps(pruned, READINGS, CONTROLS, ["at random"])
    table = table_overlap(rows, notes=["A note."])
    lines = table.markdown().splitlines()
    assert lines[0] == f"|  | text | {OWN} | counts | at random |"
    row = "75.0 % | 62.5 % (50.0 % to 75.0 %) | 25.0 % (25.0 % to 25.0 %)"
    assert lines[2:4] == [f"| SaGe | {language} | {row} |" for language in ("English", "Turkish")]
    assert len(table.data) == 6
