"""Sentences that the notes under several tables share: presets, and where text comes from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError


def with_notes(note: str, notes: Iterable[str]) -> str:
    """Return a note followed by other sentences; empty ones are left out."""
    return " ".join(filter(None, (note, *notes)))


def presets_note(presets: Iterable[tuple[str, str]]) -> str:
    """Say which reading of the method each label stands for; empty if there are none.

    presets: label and preset (with its overrides, if it has any); the same pair counts once.
    """
    names = dict.fromkeys(f"{label} is {preset}" for label, preset in presets)
    return f"Presets: {'; '.join(names)}." if names else ""


def sources_note(sources: Sequence[Mapping[str, Any]], descriptions: Sequence[str | Path]) -> str:
    """Say what text a table's sentences are of, and under which licence; empty without sources.

    sources: of each language, `kind`, `title` and `licence` as configured. descriptions: files
    beside the retrieved corpora, in the order of those sources that are no local file; they tell
    what was taken in the end.

    Raises:
        UserError: a description is missing or damaged.
    """
    retrieved = iter(descriptions)
    taken = [
        source if source["kind"] == "path" else {**source, **_read(next(retrieved))}
        for source in sources
    ]
    texts = dict.fromkeys(map(_text_title, taken))
    return f"Sentences: {'; '.join(texts)}." if texts else ""


def _text_title(source: Mapping[str, Any]) -> str:
    return f"{source['title']}, {source['licence'] or 'licence not stated'}"


def _read(path: str | Path) -> dict[str, Any]:
    """Return title and licence of a description, as far as it has them."""
    try:
        description = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error
    return {name: description[name] for name in ("title", "licence") if description.get(name)}
