"""Where the progress of training is kept, and removed in the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sagevocab.state import locked_file

_STATES = ("initial", "embeddings", "pruning")
_LOCK = "sagevocab.lock"


def beside(output: str | Path) -> Path:
    """Return the hidden folder beside `output` that keeps a training run's progress."""
    output = Path(output).resolve()
    return output.with_name(f".{output.name}.state")


def state_folder(work: Path, name: str) -> Path:
    """Return the folder that keeps the progress of one step."""
    return work / f"sagevocab.{name}"


@contextmanager
def workplace(state_dir: Path | None) -> Iterator[Path]:
    """Yield the folder of a training run's progress: `state_dir`, or one that goes when it ends.

    A second training is kept away. Progress is kept from the first epoch of the embeddings on.
    """
    if state_dir is None:
        with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
            yield Path(folder)
        return
    state_dir.mkdir(parents=True, exist_ok=True)
    refusal = (
        f"{state_dir}: another training run keeps its progress there; wait until it is done, or "
        "give another output or state folder"
    )
    try:
        with locked_file(state_dir / _LOCK, refusal):
            yield state_dir
    except BaseException:
        if not state_folder(state_dir, "embeddings").exists():
            forget(state_dir)
        raise
    finally:
        _remove_if_empty(state_dir)


def forget(state_dir: Path | None) -> None:
    """Remove progress, and its folder if it holds nothing else."""
    if state_dir is not None and state_dir.is_dir():
        for name in _STATES:
            shutil.rmtree(state_folder(state_dir, name), ignore_errors=True)
        _remove_if_empty(state_dir)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
