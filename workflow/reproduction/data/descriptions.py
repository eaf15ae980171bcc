"""The description beside what was retrieved: what it is, and how to read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.state import read_json


def read_source(source: dict[str, Any], files: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the data files of a source, and its description.

    The description of local files is as configured, else as they were retrieved.
    files: what a rule got for the source: its local files, or one file and its description.
    """
    if source["kind"] == "path":
        return list(files), source
    data, description = files
    return [data], read_json(description)


def retrieved_source(source: dict[str, Any], descriptions: Sequence[str | Path]) -> dict[str, Any]:
    """Return a configured source as it was really retrieved: a fallback may stand in for it.

    descriptions: the file beside what was retrieved; empty if nothing was. What a packaged text is,
    the configuration says.

    Raises:
        UserError: the description is missing or damaged.
    """
    for file in descriptions:
        retrieved = read_json(file)
        source = {**retrieved, **source} if source["kind"] == "package" else retrieved
    return source


@contextmanager
def source_errors(description: dict[str, Any]) -> Iterator[None]:
    """Add to a user's error about downloaded data where the download is kept."""
    try:
        yield
    except UserError as error:
        cached = description.get("cached")
        if not cached:
            raise
        raise UserError(
            f"{error}; {cached} is the download: delete it to fetch it again"
        ) from error
