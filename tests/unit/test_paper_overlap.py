"""Pieces pruned in common: shares by hand, how much of a choice is accounted for, the table."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from readable import assert_nothing_is_cut, assert_readable
from reproduction.artefacts.registry import RESOURCES
from reproduction.paper import overlap
from reproduction.paper.overlap import (
    AMONG_SEEDS,
    figure_overlap,
    overlaps,
    read_pruned,
    table_overlap,
    what_chooses,
)

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
    found = iter(map(read_pruned, map(str, paths)))
    pruned = {
        language: {name: next(found) for name in PRUNED} for language in ("English", "Turkish")
    }
    compared = {"readings": READINGS, "controls": CONTROLS, "drawn": ["at random"]}
    table = table_overlap(pruned, **compared, notes=["A note."])
    lines = table.markdown().splitlines()
    assert lines[0] == f"|  | text | {AMONG_SEEDS} | counts | at random |"
    row = "75.0 % | 62.5 % (50.0 % to 75.0 %) | 25.0 % (25.0 % to 25.0 %)"
    assert lines[2:4] == [f"| SaGe | {language} | {row} |" for language in ("English", "Turkish")]
    assert len(table.data) == 6


REFERENCE = Path(__file__).parents[2] / "results/reference"
TABLE, SIZES = "intrinsic/tables/table_overlap.csv", "controls/table_overlap_sizes.csv"


def verdict_of(table: str, language: str, reading: str) -> str | None:
    """Return the verdict of the rule on a row of a committed table of overlaps."""
    frame = pd.read_csv(REFERENCE / table)
    rows = frame[(frame["language"] == language) & (frame["reading"] == reading)]
    controls = {row["control"]: row for row in rows.to_dict("records")}
    words = [f"{reading} without vectors", f"{reading}, shuffled words", ["counts", "extra tokens"]]
    return what_chooses(controls, *words)


@pytest.mark.parametrize("table, count", [(TABLE, 4), (SIZES, 12)])
def test_the_rule_gives_the_verdicts_of_the_results(table, count):
    rows = pd.read_csv(REFERENCE / table)[["language", "reading"]].drop_duplicates()
    assert len(rows) == count
    for language, reading in rows.itertuples(index=False):
        expected = {"SaGe": "both", "SaGe 1.0": "mostly counts"}[reading]
        if language.startswith("German"):
            expected = "both"
        assert verdict_of(table, language, reading) == expected


@pytest.mark.parametrize("language, highest", [("English", 0.69), ("Turkish", 0.61)])
def test_the_page_on_statistics_says_which_thresholds_give_other_verdicts(
    monkeypatch, language, highest
):
    monkeypatch.setattr(overlap, "ENOUGH", highest)
    assert verdict_of(TABLE, language, "SaGe") == "mostly counts"
    monkeypatch.setattr(overlap, "ENOUGH", highest + 0.01)
    assert verdict_of(TABLE, language, "SaGe") == "both"
    monkeypatch.setattr(overlap, "ENOUGH", 0.8)
    others = [(SIZES, f"{language}, {size} pieces") for size in ("8,000", "32,000")]
    russian = (SIZES, "Russian, 16,000 pieces")
    verdicts = {verdict_of(*one, "SaGe 1.0") for one in [(TABLE, language), *others, russian]}
    assert verdicts == {"mostly counts"}
    monkeypatch.setattr(overlap, "ENOUGH", 0.74)
    assert verdict_of(SIZES, "German, 16,000 pieces", "SaGe 1.0") == "mostly counts"


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


def test_the_rule_needs_two_seeds():
    rows = {name: {"mean": share, "accounts_for": share} for name, share in SHARES.items()}
    assert what_chooses(rows, "zero", "shuffled", ["counts"]) is None


def test_the_figure_has_a_panel_a_reading_and_rows_from_most_to_least(drawings, kept):
    given = {"low": 0.1, "high": 0.9}
    rows = [
        {"reading": "SaGe", "language": language, "control": control, "mean": mean, **given}
        for language, shares in (("English", (0.9, 0.4, 0.6)), ("Turkish", (0.8, 0.5, 0.7)))
        for control, mean in zip(
            (AMONG_SEEDS, "counts", "SaGe without vectors"), shares, strict=True
        )
    ]
    rows.append({**rows[0], "control": "SaGe 1.0 without vectors"})  # of another reading
    styles = [RESOURCES / name for name in ("style.mplstyle", "column.mplstyle")]
    controls = {"SaGe": ["counts", "SaGe without vectors"]}
    figure_overlap(rows, controls=controls, style=styles, **drawings)
    (axes,) = kept[0].axes
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert shown == ["another seed", "without vectors", "counts"]
    marks = {
        (x, y) for line in axes.lines if len(line.get_xdata()) == 1 for x, y in line.get_xydata()
    }
    by_row = sorted((round(y), y, round(x, 6)) for x, y in marks)
    # English above Turkish, and neither on its line.
    assert [x for *_, x in by_row] == [90.0, 80.0, 60.0, 70.0, 40.0, 50.0]
    assert len({y for _, y, _ in by_row}) == 6
    assert axes.get_xlim() == (0, 100)
    assert_readable(kept[0])
    assert_nothing_is_cut(kept[0])
