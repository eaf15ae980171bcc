"""What the tables and figures of the studies share: heads, cells, and that there is a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sagevocab.errors import UserError
from sagevocab.paper.formats import NOTHING
from sagevocab.paper.studies import QUANTITIES, Spread

# Of a language, what `assess_readings` wrote.
Assessments = Mapping[str, Mapping[str, Any]]

HEADS = {
    "sage_only_word_initial": ("SaGe-only", "word-initial %"),
    "bpe_only_word_initial": ("BPE-only", "word-initial %"),
    "bpe_only_short": ("BPE-only", "length 2–3 %"),
    "sage_only_long": ("SaGe-only", "length ≥ 5 %"),
    "token_ratio": ("Tokens", "SaGe / BPE"),
    "whole_words": ("Words", "whole %"),
    "long_words": ("Words", "≥ 5 pieces %"),
    "ratio_to_bpe": ("Neighbours per occurrence", "SaGe / BPE"),
}
_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def require_studies(rows: Sequence[Any] | Mapping[Any, Any]) -> None:
    """Check that the run has studies.

    Raises:
        UserError: it has none.
    """
    if not rows:
        raise UserError(
            "config key studies: the run has no such study; set studies.enabled to true and list "
            "studies.readings (and studies.varied, studies.values for stability and sensitivity)"
        )


def bare(spread: Spread) -> dict[str, Any]:
    """Return a spread as a CSV has it."""
    return {"mean": spread.mean, "lowest": spread.low, "highest": spread.high}


def cell(quantity: str, value: float | None) -> str:
    """Return the value of a quantity as a table shows it."""
    if value is None or pd.isna(value):
        return NOTHING
    return f"{100 * value:.1f}" if _BY_NAME[quantity].percent else f"{value:.3f}"
