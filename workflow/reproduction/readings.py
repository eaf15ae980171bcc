"""Readings of SaGe: a preset, and the keys that a tokenizer's stanza overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sagevocab.presets import DEFAULT_PRESET, PRESETS

# What a tokenizer may set for itself beside the keys of a preset.
NUMBERS = ("prune_batch", "candidates", "rerank_every", "retrain_every", "seed")


def reading_settings(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a reading: those of its preset, with its own on top.

    reading: `preset` (DEFAULT_PRESET if left out) and the keys that override it. Other keys, such
        as a label, are ignored; so is a key that is None.

    Raises:
        KeyError: there is no such preset.
    """
    return {**PRESETS[reading.get("preset", DEFAULT_PRESET)], **overrides(reading)}


def overrides(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a reading that override its preset, or the run's numbers and seed.

    One that only says what the preset says overrides nothing.
    """
    preset = PRESETS[reading.get("preset", DEFAULT_PRESET)]
    given = {key: reading.get(key) for key in (*preset, *NUMBERS)}
    return {k: v for k, v in given.items() if v is not None and v != preset.get(k)}
