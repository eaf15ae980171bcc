"""SaGe beside the controls: the table and the figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from latex_checks import widths_of
from report_samples import VALUES, record
from reproduction.paper import controls
from reproduction.paper.controls import figure_controls, table_controls
from sagevocab.errors import UserError
from table_files import markdown_rows, rows_of, text_of

STYLE = Path(controls.__file__).parents[2] / "resources" / "style.mplstyle"
# The setting figures.width -> the style files that a figure gets.
STYLES = {"page": [STYLE], "column": [STYLE, STYLE.with_name("column.mplstyle")]}
LABELS = {"sage": "SaGe", "sage_released": "SaGe 1.0"}
SHOWN = ["BPE", *LABELS.values()]
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


def marks(axes, marker: str) -> list[tuple[float, float]]:
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [(float(x), float(y)) for line in lines for x, y in line.get_xydata()]


def draw(claims: Path, drawings, width: str = "page") -> None:
    options = {"shown": SHOWN, "languages": LANGUAGES, "style": STYLES[width]}
    figure_controls(claims, VALUES, labels=LABELS, **options, **drawings)


def test_right_is_where_the_statement_points(claims: Path, drawings, kept):
    draw(claims, drawings)
    (axes,) = kept[0].axes
    # (0.45 - 0.3) / 0.1 towards the paper's 0.5; lower is right in the second statement.
    found = [x for x, _ in marks(axes, "o")]
    assert found == pytest.approx([1.5, 0, 2, -4])
    assert marks(axes, "D") == [(pytest.approx(2), 0)]
    assert [x for x, _ in marks(axes, "x")] == pytest.approx([-2, -2, -2])
    assert [x for x, _ in marks(axes, "|")] == pytest.approx([-1, 0, 1, 1, 0, -1, 1, 0, -1])
    assert axes.patches[0].get_width() == pytest.approx(2)  # from the lowest seed to the highest
    filled = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert [face == "white" for face in filled] == [False, True, False, False]


def test_a_statement_on_which_all_seeds_agree_is_left_out(claims: Path, drawings, kept):
    same = {**VALUE, "controls": beside(0.1, [0.3, 0.3, 0.3])}
    claims.write_text(json.dumps([same, LESS]), encoding="utf-8")
    draw(claims, drawings)
    (axes,) = kept[0].axes
    assert len(marks(axes, "o")) == 1


@pytest.mark.parametrize("width", ["page", "column"])
def test_where_all_seeds_agree_on_everything_the_figure_says_so(claims, drawings, kept, width):
    claims.write_text(json.dumps([{**VALUE, "controls": beside(0.1, [0.3] * 3)}]), encoding="utf-8")
    draw(claims, drawings, width)
    figure = kept[0]
    (text,) = figure.axes[0].texts
    assert "random prunings agree on every main statement" in text.get_text()
    box = text.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width


@pytest.mark.parametrize("width", ["page", "column"])
def test_no_name_of_a_row_overlaps_another_and_all_are_inside(claims, drawings, kept, width):
    names = ["bpe_only_short_with_mark", "sage_only_long_with_mark", "words_of_5_more"]
    claims.write_text(json.dumps([{**VALUE, "id": name} for name in names]), encoding="utf-8")
    draw(claims, drawings, width)
    figure = kept[0]
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert min(text.get_fontsize() for text in [*axes.texts, figure._supxlabel]) >= 7
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 6
    for number, box in enumerate(boxes):
        assert not any(map(box.overlaps, boxes[number + 1 :])), axes.texts[number].get_text()
    boxes += [text.get_window_extent() for text in figure.legends[0].get_texts()]
    boxes.append(figure._supxlabel.get_window_extent())
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


def test_in_a_column_a_statement_stands_above_its_rows(claims: Path, drawings, kept):
    draw(claims, drawings, "column")
    (axes,) = kept[0].axes
    words = {text.get_text(): text.xy[1] for text in axes.texts}
    assert words["SaGe-only pieces that start a word"] == 0
    assert marks(axes, "D") == [(pytest.approx(2), 1)]
    assert [y for _, y in marks(axes, "x")] == [1, 3, 4]
    assert axes.get_ylim() == (4.5, -0.5)


@pytest.mark.parametrize("records", [[], [RECORDS[-1]]])
def test_a_run_without_nulls_says_what_to_list(claims: Path, drawings, records):
    claims.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(UserError, match="two or more of method random"):
        draw(claims, drawings)
