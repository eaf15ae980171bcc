"""The sentences that the notes under several tables share."""

from __future__ import annotations

import json

import pytest

from reproduction.paper.notes import presets_note, sources_note
from sagevocab.errors import UserError


def test_presets_are_named_once_with_their_overrides():
    pairs = [
        ("SaGe", "printed"),
        ("A", "released (retrain: True)"),
        ("SaGe", "printed"),
    ]
    note = presets_note(pairs)
    assert note.count("SaGe is printed") == 1
    assert note.count("A is released (retrain: True)") == 1
    assert presets_note([]) == ""


def test_sentences_are_given_as_configured_or_as_retrieved(tmp_path):
    description = tmp_path / "tr.source.json"
    description.write_text(json.dumps({"title": "Another dump", "licence": "CC0", "bytes": 3}))
    sources = [
        {"kind": "path", "title": "English Wikipedia", "licence": "CC BY-SA 3.0"},
        {"kind": "dataset", "title": "Turkish dump", "licence": "CC BY-SA 3.0"},
    ]
    note = sources_note(sources, [description])
    assert "English Wikipedia, CC BY-SA 3.0" in note and "Another dump, CC0" in note
    assert "Turkish dump" not in note


def test_a_damaged_description_is_named(tmp_path):
    description = tmp_path / "en.source.json"
    description.write_text("{")
    with pytest.raises(UserError, match=r"en\.source\.json: cannot be read"):
        sources_note([{"kind": "dataset", "title": "t", "licence": None}], [description])
