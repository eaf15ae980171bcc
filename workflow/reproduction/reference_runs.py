"""The runs that the committed results are of, as their configurations give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from reproduction.config import load_run
from reproduction.run import Run

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results/reference"
# Each file is laid over those before it.
CONFIGURATIONS = {
    "intrinsic": ["config/wiki.yaml", "config/reference.yaml"],
    "lm": [
        "config/wiki.yaml",
        "config/small_models.yaml",
        "config/reference.yaml",
        "results/reference/lm/config.yaml",
    ],
}


def reference_run(folder: str) -> Run:
    """Return the run of a folder of results, as `committed_run` does."""
    return committed_run(CONFIGURATIONS[folder])


def committed_run(names: Iterable[str]) -> Run:
    """Return the run of committed configurations.

    Its texts are made as empty files in the working directory.

    Raises:
        UserError: a configuration is not one of today's code.
    """
    files = [ROOT / name for name in names]
    for file in files:
        for path in _source_paths(yaml.safe_load(file.read_text(encoding="utf-8"))):
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).touch()
    return load_run({}, files=files)


def _source_paths(given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        if isinstance(value, Mapping):
            yield from _source_paths(value)
        elif key == "path":
            yield from [value] if isinstance(value, str) else value
