"""The figure of the main statements: of which it draws a panel; the reference holds the rest."""

from __future__ import annotations

import pandas as pd

from reproduction.paper.figures_controls import panels_of

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


def test_a_panel_has_sage_and_a_control() -> None:
    assert [*panels_of(CLAIMS, SHOWN, VOCABULARIES, LANGUAGES)] == [
        ("token_ratio", "en"),
        ("ratio_lower", "tr"),
    ]
    assert not panels_of(CLAIMS[CLAIMS["role"] == "reading"], SHOWN, VOCABULARIES, LANGUAGES)
    assert not panels_of(CLAIMS[CLAIMS["role"] == "control"], SHOWN, VOCABULARIES, LANGUAGES)
