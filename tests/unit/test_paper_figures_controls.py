"""The figure of the main statements: of which it draws a panel; the reference holds the rest."""

from __future__ import annotations

import pandas as pd

from reproduction.paper.figures_controls import panels_of

VOCABULARIES = {"random": "pruned at random", "zero": "SaGe without vectors", "sage": "SaGe"}
SHOWN = {"token_ratio": ("tokens, SaGe over BPE", 1.125), "ratio_lower": ("neighbours", "lower")}
LANGUAGES = {"en": "English", "tr": "Turkish"}


def row(vocabulary: str, **changes) -> dict:
    usual = {"statement": "token_ratio", "language": "en", "value": 1.2, "low": 1.1, "high": 1.3}
    return {**usual, "vocabulary": vocabulary, "is_control": vocabulary != "sage", **changes}


CLAIMS = pd.DataFrame(
    [
        row("random"), row("zero"), row("sage"), row("other"),
        row("random", statement="ratio_lower", language="tr"),
        row("sage", statement="ratio_lower", language="tr"),
        row("sage", statement="ratio_lower"),  # without controls: no panel
    ]
)  # fmt: skip


def test_a_panel_has_sage_and_a_control() -> None:
    assert [*panels_of(CLAIMS, SHOWN, VOCABULARIES, LANGUAGES)] == [
        ("token_ratio", "en"),
        ("ratio_lower", "tr"),
    ]
    assert not panels_of(CLAIMS[~CLAIMS["is_control"]], SHOWN, VOCABULARIES, LANGUAGES)
    assert not panels_of(CLAIMS[CLAIMS["is_control"]], SHOWN, VOCABULARIES, LANGUAGES)
