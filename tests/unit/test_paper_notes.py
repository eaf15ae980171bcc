"""The sentences that the notes under several tables share."""

from __future__ import annotations

import json

import pytest

from sagevocab.errors import UserError
from sagevocab.paper.notes import presets_note, sources_note
from sagevocab.paper.tables_examples import text_notes


def test_presets_are_named_once_with_their_overrides():
    pairs = [
        ("SaGe", "algorithm-1"),
        ("A", "released-1.0 (retrain: True)"),
        ("SaGe", "algorithm-1"),
    ]
    assert presets_note(pairs) == (
        "Presets: SaGe is algorithm-1; A is released-1.0 (retrain: True)."
    )
    assert presets_note([]) == ""


def test_sentences_are_told_as_configured_or_as_retrieved(tmp_path):
    description = tmp_path / "tr.source.json"
    description.write_text(json.dumps({"title": "Another dump", "licence": "CC0", "bytes": 3}))
    sources = [
        {"kind": "path", "title": "English Wikipedia", "licence": "CC BY-SA 3.0"},
        {"kind": "dataset", "title": "Turkish dump", "licence": "CC BY-SA 3.0"},
    ]
    assert sources_note(sources, [description]) == (
        "Sentences: English Wikipedia, CC BY-SA 3.0; Another dump, CC0."
    )
    notes = text_notes({"SaGe": "algorithm-1"}, sources[:1], [])
    assert notes == ["Sentences: English Wikipedia, CC BY-SA 3.0.", "Presets: SaGe is algorithm-1."]


def test_a_damaged_description_is_named(tmp_path):
    description = tmp_path / "en.source.json"
    description.write_text("{")
    with pytest.raises(UserError, match=r"en\.source\.json: cannot be read"):
        sources_note([{"kind": "dataset", "title": "t", "licence": None}], [description])
