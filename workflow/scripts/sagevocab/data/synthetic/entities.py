"""Marked-up synthetic sentences become tokens with IOB2 tags."""

from __future__ import annotations

import re

_ENTITY = re.compile(r"\{(\w+):\s*([^}]*)\}")
# A word keeps its apostrophe, hyphen or title's dot (Ankara'da, Mr.); other marks stand alone.
_TOKEN = re.compile(r"(?:Mr|Dr)\.|\w+(?:['’-]\w+)*|[^\w\s]")


def tag_entities(text: str) -> tuple[list[str], list[str]]:
    """Split a text with ``{TYPE: words}`` marks into tokens and their IOB2 tags."""
    tokens: list[str] = []
    tags: list[str] = []
    for position, part in enumerate(_ENTITY.split(text)):
        if position % 3 == 1:
            kind = part
            continue
        words = _TOKEN.findall(part)
        entity = position % 3 == 2
        tokens += words
        tags += [f"{'I' if i else 'B'}-{kind}" if entity else "O" for i in range(len(words))]
    return tokens, tags
