"""The figure of the main statements: the values that it reads and refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from report_samples import frame_of, record
from reproduction.paper.figures_controls import panels_of, points_of, read_values
from reproduction.parquet import write_parquet

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


def test_a_control_is_the_mean_of_its_seeds_and_their_range():
    points = points_of(CLAIMS[CLAIMS["language"] == "en"])
    assert (points["random"].value, points["random"].low, points["random"].high) == (1.25, 1.1, 1.4)
    assert (points["sage"].value, points["sage"].low, points["sage"].high) == (1.25, 1.2, 1.3)
    assert [points[name].is_control for name in VOCABULARIES] == [True, True, False]


def test_a_panel_has_sage_and_a_control() -> None:
    assert [*panels_of(CLAIMS, SHOWN, VOCABULARIES, LANGUAGES)] == [
        ("token_ratio", "en"),
        ("ratio_lower", "tr"),
    ]
    assert not panels_of(CLAIMS[CLAIMS["role"] == "reading"], SHOWN, VOCABULARIES, LANGUAGES)
    assert not panels_of(CLAIMS[CLAIMS["role"] == "control"], SHOWN, VOCABULARIES, LANGUAGES)


def test_values_are_read_from_the_claims_and_those_of_controls_once(tmp_path: Path):
    measured = {"controls": {"random": [1.1, 1.4], "counts": ["words"]}, "language": "en"}
    sage, released = (
        record("token_ratio", name, "reproduced", value=1.25, low=1.2, high=1.3, **measured)
        for name in ("sage", "sage_released")
    )
    path = tmp_path / "claims.parquet"
    write_parquet(path, frame_of([{**sage, "seeds": [1.2, 1.3]}, {**released, "value": None}]))
    rows = read_values(str(path))
    assert rows[["vocabulary", "value"]].values.tolist() == [
        ["sage", 1.25],
        ["random", 1.1],
        ["random", 1.4],
    ]
    assert rows["seed"].isna().tolist() == [True, False, False]
