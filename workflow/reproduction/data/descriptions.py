"""The description beside what was retrieved, as pages and cards read it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sagevocab.state import read_json


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
