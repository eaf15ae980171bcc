"""SaGe beside the controls: the table and the figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from claim_samples import VALUES
from latex_checks import widths_of
from readable import assert_readable
from report_samples import record
from reproduction.paper import controls
from reproduction.paper.controls import figure_controls, table_controls
from reproduction.paper.forest import SHADE
from sagevocab.errors import UserError
from table_files import markdown_rows, rows_of, text_of

STYLE = Path(controls.__file__).parents[2] / "resources" / "style.mplstyle"
LABELS = {"sage": "SaGe", "sage_released": "SaGe 1.0"}
LANGUAGES = {"en": "English", "tr": "Turkish"}
# Mean 0.3, standard deviation 0.1.
SEEDS = [0.2, 0.3, 0.4]


def beside(frequency: float, seeds: list[float] = SEEDS) -> dict:
    return {"random": seeds, "frequency": [frequency], "counts": [0.35], "zero": [0.4, 0.42]}


MET_BY = {"random": 2, "frequency": 0, "counts": 1, "zero": 1}


def of(name: str, kind: str, tokenizer: str = "sage", **changes) -> dict:
    given = record(name, tokenizer, "reproduced", kind=kind, controls=beside(0.1), **changes)
    given["met_by"] = MET_BY
    return {"chance_p_value": 0.01, "chance_p_adjusted": 0.04, **given}


VALUE = of("sage_only_word_initial", "value", paper=0.5, ours=0.45, low=0.4, high=0.5)
LESS = of("ratio_lower", "less", paper="lower", ours=0.1, low=0.0, high=0.2)
LESS = {**LESS, "controls": beside(0.5)}
RECORDS = [
    VALUE,
    {**VALUE, "tokenizer": "sage_released", "ours": 0.3, "chance": "as chance"},
    LESS,
    {**LESS, "language": "tr", "ours": 0.7, "chance": "below chance", "verdict": "undecided"},
    of("prefers_word_initial", "more", ours=0.9),
    {**of("cost_ratio", "factor", chance=None), "controls": {}},
]


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.json"
    path.write_text(json.dumps(RECORDS), encoding="utf-8")
    return path


def test_the_table_sets_both_verdicts_beside_the_controls(claims: Path, outputs):
    titles = {"random": "random", "frequency": "least frequent", "zero": "blind"}
    titles |= {"counts": "counts"}
    columns = {"labels": LABELS, "languages": LANGUAGES, "controls": titles}
    table_controls(claims, VALUES, **columns, without_contexts={"sage": ["zero"]}).write(**outputs)
    head = text_of(outputs, "md").splitlines()[0].strip("| ").split(" | ")
    shared = ["text", "paper", "random", "least frequent", "counts"]
    assert head == [*shared, "blind", "SaGe", "SaGe 1.0"]
    rows = markdown_rows(outputs)
    assert rows[0] == [
        "SaGe-only pieces that start a word",
        "English",
        "0.5",
        "0.300 (0.200 to 0.400) ✓",
        "0.1",
        "0.35 ✓",
        "0.410 (0.400 to 0.420)",
        r"0.450 \[0.400, 0.500\] ✓ beyond chance",
        r"0.300 \[0.400, 0.500\] ✓ as chance",
    ]
    assert [row[7].split()[-3:] for row in rows[1:3]] == [
        ["✓", "beyond", "chance"],
        ["?", "below", "chance"],
    ]
    assert [row[-1] for row in rows[1:]] == ["–", "–", "–"]
    # What no control has, such as a time, is a main statement all the same.
    assert rows[3][3] == "–" and rows[3][7].endswith("✓")
    assert widths_of(text_of(outputs, "tex")) == [9]
    # What has no headline is in the CSV alone.
    assert {row["id"] for row in rows_of(outputs)} == {
        "sage_only_word_initial",
        "ratio_lower",
        "prefers_word_initial",
        "cost_ratio",
    }


def marks(axes, marker: str) -> list[float]:
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [float(x) for line in lines for x in line.get_xdata()]


def strokes(axes) -> list[float]:
    return [line.get_segments()[0][0, 0] for line in axes.collections]


def draw(claims: Path, drawings) -> None:
    options = {"controls": {"sage": {"counts": "counts"}, "sage_released": {}}, "style": STYLE}
    figure_controls(claims, VALUES, labels=LABELS, languages=LANGUAGES, **options, **drawings)


def test_right_is_where_the_statement_points(claims: Path, drawings, kept):
    draw(claims, drawings)
    sage, released, turkish, _ = kept[0].axes
    # (0.45 - 0.3) / 0.1 towards the paper's 0.5; lower is right in the second statement.
    assert marks(sage, "D") == pytest.approx([1.5, 2])
    assert marks(released, "s") == pytest.approx([0])
    assert marks(turkish, "D") == pytest.approx([-4])
    assert strokes(sage) == pytest.approx([2])
    assert marks(sage, "^") == pytest.approx([-2, -2])
    assert marks(sage, "P") == pytest.approx([0.5, -0.5])  # counts, beside this version alone
    assert not marks(released, "P")
    # From the lowest seed to the highest, on either side of the mean.
    (band,) = [one for one in sage.patches if to_hex(one.get_facecolor()) == SHADE.lower()]
    assert band.get_width() == pytest.approx(2)
    assert [axes.get_ylabel() for axes in (sage, turkish)] == ["English", "Turkish"]
    # Open is what is as chance, and a control.
    looks = {
        (line.get_marker(), line.get_markerfacecolor() == "white")
        for axes in (sage, released)
        for line in axes.lines
        if line.get_marker() not in ("", "None", None)
    }
    assert looks == {("D", False), ("s", True), ("^", True), ("P", True)}
    assert_readable(kept[0])


def test_a_statement_on_which_all_seeds_agree_is_left_out(claims: Path, drawings, kept):
    same = {**VALUE, "controls": beside(0.1, [0.3, 0.3, 0.3])}
    claims.write_text(json.dumps([same, LESS]), encoding="utf-8")
    draw(claims, drawings)
    assert len(marks(kept[0].axes[0], "D")) == 1


def test_where_all_seeds_agree_on_everything_the_figure_says_so(claims, drawings, kept):
    claims.write_text(json.dumps([{**VALUE, "controls": beside(0.1, [0.3] * 3)}]), encoding="utf-8")
    draw(claims, drawings)
    figure = kept[0]
    (text,) = figure.axes[0].texts
    assert "random prunings agree on every main statement" in text.get_text()
    box = text.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_the_axis_breaks_where_something_is_far_and_says_so(claims: Path, drawings, kept):
    claims.write_text(json.dumps([{**VALUE, "ours": 8.3, "low": None, "high": None}]), "utf-8")
    draw(claims, drawings)
    (axes, _) = kept[0].axes
    place = axes.transData.transform
    assert marks(axes, "D") == pytest.approx([80])
    inside, outside = (place((x + 5, 0))[0] - place((x, 0))[0] for x in (0, 20))
    assert inside > 4 * outside > 0
    assert [text.get_text() for text in axes.texts if text.get_text() == "//"] == ["//"] * 2
    assert [tick for tick in axes.get_xticks() if tick > 0] == [10, 80]


@pytest.mark.parametrize("records", [[], [RECORDS[-1]]])
def test_a_run_without_nulls_says_what_to_list(claims: Path, drawings, records):
    claims.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(UserError, match="two or more of method random"):
        draw(claims, drawings)
