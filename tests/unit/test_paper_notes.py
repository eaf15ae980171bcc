"""The sentence under tables of examples that says where they are from."""

from __future__ import annotations

from reproduction.paper.notes import sources_note


def test_sentences_are_given_with_their_licence():
    english = {"title": "English Wikipedia", "licence": "CC BY-SA 3.0", "language": "en"}
    note = sources_note([english, english, {"title": "Turkish text", "licence": None}])
    assert note == ("Sentences: English Wikipedia, CC BY-SA 3.0; Turkish text, licence not stated.")
    assert sources_note([]) == ""
