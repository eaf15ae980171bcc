"""The figure of the main statements: what is drawn of SaGe and of its controls, and where."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from report_samples import VALUES, frame_of, record
from reproduction.artefacts.registry import RESOURCES
from reproduction.paper.figures_controls import figure_controls, points_of, read_shown, read_values
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

VOCABULARIES = {"random": "pruned at random", "zero": "SaGe without vectors", "sage": "SaGe"}
SHOWN = {"token_ratio": ("tokens, SaGe over BPE", 1.125), "ratio_lower": ("neighbours", "lower")}
LANGUAGES = {"en": "English", "tr": "Turkish"}


def row(vocabulary: str, value: float, seed: int | None = None, **changes) -> dict:
    role = "reading" if seed is None else "control"
    given = {"statement": "token_ratio", "language": "en", "role": role, "low": None, "high": None}
    return {**given, "vocabulary": vocabulary, "value": value, "seed": seed, **changes}


def frame(*rows: dict) -> pd.DataFrame:
    return pd.DataFrame(rows).astype({"seed": "Int64", "low": float, "high": float})


CLAIMS = frame(
    row("random", 1.1, 1), row("random", 1.4, 2), row("zero", 1.2, 1),
    row("sage", 1.25, low=1.2, high=1.3), row("other", 9.0),
    row("random", -0.2, 1, statement="ratio_lower", language="tr"),
    row("sage", -0.1, statement="ratio_lower", language="tr"),
    row("sage", 0.5, statement="ratio_lower"),  # without controls: no panel
)  # fmt: skip


def draw(claims: pd.DataFrame, drawings: dict) -> None:
    given = {"shown": SHOWN, "vocabularies": VOCABULARIES, "languages": LANGUAGES}
    figure_controls(claims, **given, style=RESOURCES / "style.mplstyle", **drawings)


def marks(axes) -> dict[str, tuple[float, str]]:
    """Value and face of each mark, by its form."""
    found = [line for line in axes.lines if line.get_marker() not in ("None", "")]
    return {
        line.get_marker(): (float(line.get_xdata()[0]), line.get_markerfacecolor())
        for line in found
    }


def test_a_control_is_the_mean_of_its_seeds_and_their_range():
    points = points_of(CLAIMS[CLAIMS["language"] == "en"])
    assert (points["random"].value, points["random"].low, points["random"].high) == (1.25, 1.1, 1.4)
    assert (points["sage"].value, points["sage"].low, points["sage"].high) == (1.25, 1.2, 1.3)
    assert [points[name].is_control for name in VOCABULARIES] == [True, True, False]


def test_a_panel_has_raw_values_open_controls_and_the_papers_value(drawings, kept):
    draw(CLAIMS, drawings)
    tokens, neighbours = (axes for axes in kept[0].axes if axes.get_visible())
    orange = "#D55E00"
    assert marks(tokens) == {"v": (1.25, "white"), "<": (1.2, "white"), "D": (1.25, orange)}
    ends = {tuple(line.get_xdata()) for line in tokens.lines if len(line.get_xdata()) == 2}
    assert {(1.1, 1.4), (1.2, 1.3), (1.125, 1.125)} <= ends
    assert marks(neighbours) == {"v": (-0.2, "white"), "D": (-0.1, orange)}
    titles = [axes.get_title("left").replace("\n", " ") for axes in (tokens, neighbours)]
    assert titles == [
        "(a) tokens, SaGe over BPE, English",
        "(b) neighbours, Turkish (paper: lower)",
    ]
    legend = [text.get_text() for text in kept[0].legends[0].get_texts()]
    assert legend == [*VOCABULARIES.values(), "the paper's value"]


def test_without_controls_one_line_says_what_to_list(drawings):
    with pytest.raises(UserError, match="config key tokenizers: no statement"):
        draw(CLAIMS[CLAIMS["role"] == "reading"], drawings)


def test_values_are_read_from_the_claims_and_those_of_controls_once(tmp_path: Path):
    measured = {"controls": {"random": [1.1, 1.4], "counts": ["words"]}, "language": "en"}
    sage, released = (
        record("token_ratio", name, "reproduced", ours=1.25, low=1.2, high=1.3, **measured)
        for name in ("sage", "sage_released")
    )
    path = tmp_path / "claims.parquet"
    write_parquet(path, frame_of([{**sage, "seeds": [1.2, 1.3]}, {**released, "ours": None}]))
    rows = read_values(str(path))
    assert rows[["vocabulary", "value"]].values.tolist() == [
        ["sage", 1.25],
        ["random", 1.1],
        ["random", 1.4],
    ]
    assert rows["seed"].isna().tolist() == [True, False, False]


def test_the_statements_shown_have_headlines():
    shown = read_shown(str(VALUES))
    assert shown["token_ratio"] == ("tokens, SaGe over BPE", 1.125)
    assert all(headline for headline, _ in shown.values())
