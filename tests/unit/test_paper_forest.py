"""The forest plot: what is drawn where, what was not run, and where bands and labels are."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from readable import assert_readable
from reproduction.paper import forest as drawn
from reproduction.paper.forest import STROKE, forest

STYLE = Path(drawn.__file__).parents[2] / "resources" / "style.mplstyle"


def mark(panel: str, row: str, group: str, x: float, **changes) -> dict:
    look = {"colour": "#00508C", "marker": "o" if group == "one" else "D", "filled": True}
    place = {"strip": "", "panel": panel, "unit": "points", "row": row, "group": group, "x": x}
    return {**place, "low": x - 1, "high": x + 1, **look, **changes}


MARKS = [
    mark("first", "above", "one", 1),
    mark("first", "above", "other", 2, filled=False),
    mark("first", "below", "one", 3),
    mark("second", "above", "one", 4),
    mark("second", "below", "one", math.nan),
    mark("third", "above", "one", 5, colour="black", marker=STROKE),
    mark("third", "below", "one", 6),
]


def places(axes, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [(float(x), float(y)) for line in lines for x, y in line.get_xydata()]


def test_a_mark_is_in_the_row_of_its_label_and_groups_share_it(drawings, kept):
    forest(pd.DataFrame(MARKS), style=STYLE, **drawings)
    first, second, third = kept[0].axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["above", "below"]
    (one, other), (again,) = (
        [y for _, y in sorted(places(first, "o") + places(first, "D")) if round(y) == row]
        for row in (0, 1)
    )
    assert -0.5 < one < 0 < other < 0.5 and again == pytest.approx(1 + one)
    # Alone in its panel, a group is where the label is.
    assert places(second, "o") == [(4, 0)]
    (stroke,) = third.collections
    assert stroke.get_segments()[0][:, 0].tolist() == [5, 5]
    assert_readable(kept[0])


def test_what_was_not_run_says_so(drawings, kept):
    forest(pd.DataFrame(MARKS), **drawings)
    texts = [(text.get_text(), text.get_position()[1]) for text in kept[0].axes[1].texts]
    assert texts == [("not run", 1)]
    assert not kept[0].axes[0].texts and not kept[0].axes[2].texts


def test_an_open_mark_is_not_filled_and_the_legend_has_the_groups(drawings, kept):
    forest(pd.DataFrame(MARKS), **drawings)
    (hollow,) = [line for line in kept[0].axes[0].lines if line.get_marker() == "D"]
    assert hollow.get_markerfacecolor() == "white"
    assert [text.get_text() for text in kept[0].legends[0].get_texts()] == ["one", "other"]


@pytest.mark.parametrize("across", [2, 4])
def test_panels_continue_below_and_every_first_one_has_the_labels(drawings, kept, across):
    forest(pd.DataFrame(MARKS), across=across, style=STYLE, **drawings)
    shown = [axes for axes in kept[0].axes if axes.get_visible()]
    titles = [axes.get_title(loc="left") for axes in shown]
    assert titles == ["(a) first", "(b) second", "(c) third"]
    firsts = {axes.get_subplotspec().rowspan.start for axes in shown}
    assert len(firsts) == (2 if across == 2 else 1)
    assert_readable(kept[0])


def test_a_language_has_its_own_rows_and_its_name_at_the_left(drawings, kept):
    turkish = [{**MARKS[0], "strip": "Turkish", "row": "alone"}]
    english = [{**one, "strip": "English"} for one in MARKS]
    forest(pd.DataFrame(english + turkish), power={"first": 0.5}, style=STYLE, **drawings)
    axes = kept[0].axes
    assert [one.get_ylabel() for one in axes[::3]] == ["English", "Turkish"]
    assert [label.get_text() for label in axes[3].get_yticklabels()] == ["alone"]
    assert [text.get_text() for text in axes[4].texts] == ["not run"]
