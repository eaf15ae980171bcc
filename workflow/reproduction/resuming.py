"""Work that survives a kill: its progress, what it leaves behind, and turns that jobs take."""

from __future__ import annotations

import fcntl
import logging
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sagevocab.errors import UserError
from sagevocab.files import read_npz, write_npz, write_text

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)

_MARK = "fingerprint"
_LOOKS, _LOOK_SECONDS = 50, 0.1  # at a lock that cannot be opened
_LEFTOVER = re.compile(r"\..+\.\d+\.partial\.npz")  # see `atomic_path`


@contextmanager
def scratch_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`, for what is needed until `path` is made."""
    path = Path(path)
    folder = path.with_name(f".{path.name}.{os.getpid()}.partial.d")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_lock(file: IO) -> bool:
    """Lock an open file for this process until it is closed; return whether that worked.

    The system releases the lock if the process is killed.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def turn(path: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock while the caller works, as a file that goes with it; wait for who holds it.

    The lock ends with its process, however that ends, and with the processes forked from it. Where
    the file system has no locks, nothing is held. tell: called before waiting, with the process
    number of the holder and its machine, "7 on NAME"; what it raises ends the wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked_in_turn(path, tell) as file:
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()} on {platform.node()}")
        file.flush()
        try:
            yield
        finally:
            with suppress(PermissionError):  # of another person, in a folder where all keep theirs
                path.unlink(missing_ok=True)


def _locked_in_turn(path: Path, tell: Callable[[str], None]) -> IO:
    """Return the file at `path`, opened and locked, after who holds it now."""
    while True:
        file = _opened_lock(path)
        with suppress(PermissionError):  # of another person
            os.fchmod(file.fileno(), 0o600 | path.parent.stat().st_mode & 0o066)
        try:
            if not try_lock(file):
                file.seek(0)
                tell(file.read())
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            log.warning("%s: cannot be locked (%s)", path, error.strerror)
            return file
        if _is_at(file, path):
            return file
        file.close()


def _opened_lock(path: Path) -> IO:
    """Open a lock, which whoever can write its folder can write: a kill may leave it to others.

    Raises:
        UserError: another person left it, and keeps it to themselves.
    """
    for _ in range(_LOOKS):
        try:
            # Of another person, Linux opens no file in a folder like /tmp that it might create.
            return path.open("r+" if path.exists() else "x+")
        except (FileExistsError, FileNotFoundError, PermissionError):
            if not path.exists() and not os.access(path.parent, os.W_OK):
                raise
            time.sleep(_LOOK_SECONDS)  # it may just be made, or removed
    raise UserError(
        f"{path}: another person left this lock, and it cannot be opened; its owner can delete it "
        "once nothing of theirs runs"
    )


def _is_at(file: IO, path: Path) -> bool:
    """Return whether `path` is this open file; who held its lock may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def remove_leftovers(path: str | Path) -> None:
    """Remove what `atomic_path` and the like left beside `path` in killed processes.

    Call it only where no other process can be writing `path`.
    """
    path = Path(path).resolve()
    names = "|".join(map(re.escape, {path.name, path.stem}))
    leftover = re.compile(rf"\.({names})\.\d+\.(partial|before)(\.\w+)?")
    for other in [other for other in path.parent.glob(".*") if leftover.fullmatch(other.name)]:
        if other.is_dir():
            shutil.rmtree(other, ignore_errors=True)
        else:
            other.unlink()


class ResumableState:
    """Named sets of arrays in a folder outside every rule's outputs.

    The folder belongs to one fingerprint of inputs, settings and code: progress made with others is
    discarded, never resumed. So is progress of which a file is damaged, with a warning: what is
    loaded here is whole, and the work starts over instead of failing at every attempt. Without a
    folder nothing is kept and `load` finds nothing.
    """

    def __init__(self, folder: str | Path | None, fingerprint: str) -> None:
        """Open `folder` for `fingerprint`; empty it if it belongs to another or is damaged."""
        self._folder = Path(folder) if folder is not None else None
        if self._folder is not None and not _is_usable(self._folder, fingerprint):
            shutil.rmtree(self._folder, ignore_errors=True)
            write_text(self._folder / _MARK, fingerprint)

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """Return the arrays last saved under `name`, or None."""
        if self._folder is None or not (self._folder / f"{name}.npz").exists():
            return None
        return read_npz(self._folder / f"{name}.npz")

    def save(self, name: str, **arrays: np.ndarray) -> None:
        """Keep `arrays` under `name`, replacing what was there in one step."""
        if self._folder is not None:
            write_npz(self._folder / f"{name}.npz", **arrays)

    def clear(self) -> None:
        """Remove the folder: the work is done and its outputs are written."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _is_usable(folder: Path, fingerprint: str) -> bool:
    """Return whether to resume the progress in `folder`; log why not."""
    mark = folder / _MARK
    if not mark.exists() or mark.read_bytes() != fingerprint.encode():
        if folder.exists():
            log.warning("%s: progress of other inputs, settings or code is discarded", folder)
        return False
    for path in folder.glob("*.npz"):
        if _LEFTOVER.fullmatch(path.name):  # killed amid a write; what was saved before is whole
            path.unlink()
            continue
        try:
            read_npz(path)
        except UserError:
            log.warning("%s: is damaged; its progress is discarded, and the work starts over", path)
            return False
    return True
