"""A checkout of its own, for tests that run real rules."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("Snakefile", "config.yaml", "config", "src", "workflow")
COPIED += ("profiles", "envs", "pyproject.toml")


def copy_checkout(folder: Path) -> Path:
    """Copy the workflow, with its byte code: compiled kernels stay valid, times being kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy2(source, folder / name)
    return folder
