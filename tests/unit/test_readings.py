"""The named readings, and what the workflow's rules and checks ask of them."""

from __future__ import annotations

import dataclasses

from reproduction.readings import overrides, reading_settings
from sagevocab.presets import PRESETS
from sagevocab.pruning.sage import SageSettings


def test_a_reading_is_its_preset_with_single_keys_overridden() -> None:
    reading = {"label": "mine", "preset": "released", "decoder": "greedy"}
    assert reading_settings(reading) == {**PRESETS["released"], "decoder": "greedy"}
    assert overrides(reading) == {"decoder": "greedy"}
    assert overrides({"label": "as it stands", "preset": "released"}) == {}


def test_the_paper_is_what_is_read_when_nothing_is_said() -> None:
    assert reading_settings({}) == PRESETS["printed"]
    printed = dataclasses.asdict(SageSettings())
    assert {key: printed[key] for key in PRESETS["printed"]} == PRESETS["printed"]
