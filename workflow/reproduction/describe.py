"""What a text is, in words, for the cards of tokenizers and models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any


def describe_source(source: Mapping[str, Any]) -> str:
    """Say in words what a corpus was made of.

    source: kind, name, and what its data set is, as `cards.text_of` gives it.
    """
    name, title = source["name"], source.get("title")
    if source["kind"] == "path":
        files = [f"`{PurePath(file).name}`" for file in ([name] if isinstance(name, str) else name)]
        listed = f"the file{'s' * (len(files) > 1)} {' and '.join(files)}"
        return "; ".join(filter(None, [title, source.get("licence"), listed]))
    return "; ".join(filter(None, [title or f"`{name}`", source.get("licence"), source["origin"]]))
