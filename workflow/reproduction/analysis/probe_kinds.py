"""Which tasks can be probed, and how. Imports nothing: the rules ask before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CLASSES, TAGS, SIMILARITY = "classes", "tags", "similarity"


def probe_kind(task: Mapping[str, Any]) -> str | None:
    """Return how a task is probed: a class of a text, tags of words, a score of two texts.

    None for any other task. task: kind, labels and columns of its stanza in `task_settings`.
    """
    if task["kind"] == "tokens":
        return TAGS
    paired = bool(task["columns"].get("text_pair"))
    if task.get("labels"):
        return None if paired else CLASSES
    return SIMILARITY if paired else None
