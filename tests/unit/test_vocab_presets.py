"""The named readings, and what the workflow's rules and checks ask of them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sagevocab.vocab.presets import PRESETS, overrides, reading_settings
from sagevocab.vocab.sage import SageSettings, settings_from

ROOT = Path(__file__).parents[2]


def test_a_reading_is_its_preset_with_single_keys_overridden() -> None:
    reading = {"label": "mine", "preset": "released-1.0", "decoder": "greedy"}
    assert reading_settings(reading) == {**PRESETS["released-1.0"], "decoder": "greedy"}
    assert overrides(reading) == {"decoder": "greedy"}
    assert overrides({"label": "as it stands", "preset": "released-1.0"}) == {}


def test_the_paper_is_what_is_read_when_nothing_is_said() -> None:
    assert reading_settings({}) == PRESETS["algorithm-1"]
    printed = dataclasses.asdict(SageSettings())
    assert {key: printed[key] for key in PRESETS["algorithm-1"]} == PRESETS["algorithm-1"]


@pytest.mark.parametrize("preset", PRESETS)
def test_rules_and_builds_read_a_preset_alike(preset: str) -> None:
    built = dataclasses.asdict(settings_from(preset, loss_lines="all", loss="mean_piece_lines"))
    asked = reading_settings({"preset": preset, "loss_lines": "all", "loss": "mean_piece_lines"})
    assert {key: built[key] for key in asked} == asked


def test_the_schema_knows_the_same_presets_and_keys() -> None:
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    for section, others in (
        ("tokenizer_settings", {"label", "method", "path", "preset"}),
        ("reading_settings", {"label", "preset"}),
    ):
        stanza = schema["properties"][section]["additionalProperties"]["properties"]
        assert stanza["preset"]["enum"] == list(PRESETS)
        assert stanza.keys() - others == PRESETS["algorithm-1"].keys()


def test_they_are_cheap_to_ask() -> None:
    code = "import sys, sagevocab.vocab.presets; sys.exit('numpy' in sys.modules)"
    folder = ROOT / "workflow/scripts"
    assert subprocess.run([sys.executable, "-c", code], cwd=folder, check=False).returncode == 0
