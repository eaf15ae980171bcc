"""The readings of SaGe that have a name; imports nothing, so that the workflow's rules can ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # The paper's algorithm (SaGe, its Algorithm 3) as printed.
    "algorithm-1": {
        "decoder": "greedy",
        "loss": "total",
        "loss_lines": "all",
        "context_matrix": "own",
        "retrain": True,
        "push_back_line_start": False,
    },
    # How the authors' published code, version 1.0, reads it; docs/deviations.md has what is left.
    "released-1.0": {
        "decoder": "merges",
        "loss": "mean_string_lines",
        "loss_lines": 1000,
        "context_matrix": "shared",
        "retrain": False,
        "push_back_line_start": True,
    },
}
DEFAULT_PRESET = "algorithm-1"


def reading_settings(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a reading sets: its preset written out, single keys overridden.

    reading: `preset` (the paper's as printed, if left out) and the keys that override it; others
        (a label, a name) are left out.

    Raises:
        KeyError: there is no such preset.
    """
    return {**PRESETS[reading.get("preset", DEFAULT_PRESET)], **overrides(reading)}


def overrides(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys by which a reading differs from being its preset as it stands."""
    return {key: reading[key] for key in PRESETS[DEFAULT_PRESET] if key in reading}
