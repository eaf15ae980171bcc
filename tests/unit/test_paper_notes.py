"""The sentence under tables of examples that says where they are from."""

from __future__ import annotations

import json

import pytest

from reproduction.paper.notes import sources_note
from sagevocab.errors import UserError

SOURCES = [
    {"kind": "path", "title": "English Wikipedia", "licence": "CC BY-SA 3.0"},
    {"kind": "dataset", "title": "Turkish dump", "licence": "CC BY-SA 3.0"},
]


def test_sentences_are_given_as_configured_or_as_retrieved(tmp_path):
    description = tmp_path / "tr.source.json"
    description.write_text(json.dumps({"title": "Another dump", "licence": "CC0", "bytes": 3}))
    note = sources_note(SOURCES, [description])
    assert "English Wikipedia, CC BY-SA 3.0" in note and "Another dump, CC0" in note
    assert "Turkish dump" not in note
    description.write_text("{")
    with pytest.raises(UserError, match=r"tr\.source\.json: "):
        sources_note(SOURCES, [description])
