"""Imports point one way between the rooms of the library."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sagevocab

LIBRARY = Path(sagevocab.__file__).parent
# From the bottom up; a room knows only those before it.
ROOMS = (
    "corpus",
    "segmentation",
    "word2vec",
    "pruning",
    "huggingface",
    "trimming",
    "initial",
    "evaluation",
)
# What all rooms may use, and what these modules themselves use.
BELOW = {
    "errors": set(),
    "presets": set(),
    "progress": set(),
    "versions": set(),
    "numba_cache": set(),
    "validation": {"errors"},
    "files": {"errors"},
    "pieces": {"errors", "files"},
    "settings": {"errors", "presets", "validation", "corpus"},
}


def used_by(path: Path) -> Iterator[str]:
    """Yield the rooms and modules of the library that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sagevocab"):
            _, *parts = node.module.split(".")
            yield from parts[:1] or [alias.name for alias in node.names]


def test_every_folder_is_a_room() -> None:
    folders = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    assert folders == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_knows_those_below(room: str) -> None:
    used = {name for path in (LIBRARY / room).glob("*.py") for name in used_by(path)}
    assert used <= {*ROOMS[: ROOMS.index(room) + 1], *BELOW}


@pytest.mark.parametrize("module", BELOW)
def test_what_all_rooms_use_knows_no_room(module: str) -> None:
    assert set(used_by(LIBRARY / f"{module}.py")) <= BELOW[module]
