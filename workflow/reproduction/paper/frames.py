"""What figures, tables and the report page are made from, in a folder of its own, without texts.

`calls.json` has the call of each: its function, the files that it reads, its settings, its caption.
A file or folder of the run is named `frames:` and its path in the run's folder, a file of the
pipeline `resources:` and its name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.files import read_json, write_text

Calls = dict[str, dict[str, Any]]
# The path of a file, or paths in lists and mappings, as the function takes what is read from them.
Paths = str | Sequence[Any] | Mapping[str, Any]
CALLS = "calls.json"
LARGEST_FRAMES = 2_000_000  # bytes, of what one figure or table is drawn from


def each(change: Callable[[str], Any], value: Any) -> Any:
    """Change every string in nested lists and mappings."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: each(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [each(change, part) for part in value]
    return value


def flat(paths: Paths) -> list[str]:
    """Return the paths in nested lists and mappings."""
    if isinstance(paths, str):
        return [paths]
    parts = paths.values() if isinstance(paths, Mapping) else paths
    return [file for part in parts for file in flat(part)]


def write_frames(folder: Path, calls: Mapping[str, Mapping[str, Any]], results: Path) -> list[str]:
    """Copy what figures and tables read, and write how each is made.

    calls: name -> function, reads (paths, nested as the function takes them), settings, caption.
    results: the run's folder. Returns the names of those whose files are too large together; they
    are left out.
    """
    copied: set[Path] = set()

    def copy(path: str) -> str:
        file = Path(path)
        if not file.is_relative_to(results):
            return f"resources:{file.name}"
        place = file.relative_to(results)
        if place not in copied:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / place)
            copied.add(place)
        return f"frames:{place.as_posix()}"

    def name(setting: str) -> str:
        inside = Path(setting).is_relative_to(results)
        return f"frames:{Path(setting).relative_to(results).as_posix()}" if inside else setting

    def size(path: str) -> int:
        return Path(path).stat().st_size

    sizes = {name: sum(map(size, flat(call["reads"]))) for name, call in calls.items()}
    heavy = [name for name in calls if sizes[name] > LARGEST_FRAMES]
    written = {
        artefact: call
        | {"reads": each(copy, call["reads"]), "settings": each(name, call["settings"])}
        for artefact, call in calls.items()
        if artefact not in heavy
    }
    # Keys stay as they are: rows, columns and tokenizers are shown in their order.
    write_text(folder / CALLS, json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    return heavy


def read_calls(folder: Path, resources: Path) -> Calls:
    """Return the calls of a folder of frames, with paths that can be read from here.

    Raises:
        UserError: the folder has no `calls.json`, or it is damaged.
    """
    places = {"frames": folder, "resources": resources}

    def locate(name: str) -> str:
        kind, _, place = name.partition(":")
        return str(places[kind] / place) if kind in places else name

    if not (folder / CALLS).is_file():
        raise UserError(
            f"{folder / CALLS}: is missing; name a folder that build_reference wrote, not one from "
            "before it kept what figures are drawn from"
        )
    calls = read_json(folder / CALLS)
    return {
        artefact: call | {part: each(locate, call[part]) for part in ("reads", "settings")}
        for artefact, call in calls.items()
    }
