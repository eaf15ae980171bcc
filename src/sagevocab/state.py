"""Files that appear whole or not at all, and progress that survives a kill."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sagevocab.errors import UserError

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)

# A table: columns of equal length by name, in a fixed order; lists or arrays of one dimension.
# `pandas.DataFrame` takes it as it is.
Columns = dict[str, Any]
# The errors of a disk, or a share of it, without room.
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def path_text(path: str | Path) -> str:
    """Return a path as text that can be written; what is not UTF-8 in it becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` on success, remove it on error.

    The temporary name keeps the suffix, because writers choose their format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; rename it to `path` on success, remove it on error.

    replace: allow it to replace a folder at `path`; otherwise that raises OSError.
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    before = path.with_name(f".{path.name}.{os.getpid()}.before")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if replace and path.is_dir():
            path.rename(before)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if before.exists() and not path.exists():
            before.rename(path)
        shutil.rmtree(before, ignore_errors=True)


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
def locked_file(path: Path, refusal: str) -> Iterator[None]:
    """Hold a lock while the caller works, as a file that goes with it.

    Raises:
        UserError: another process holds it; `refusal` is the message.
    """
    with path.open("a") as file:
        if not (try_lock(file) and _is_at(file, path)):
            raise UserError(refusal)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def turn(path: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock while the caller works, as a file that goes with it; wait for who holds it.

    The lock ends with its process, however that ends, and with the processes forked from it. Where
    the file system has no locks, nothing is held. tell: called before waiting, with the process
    number of the holder and its machine, "7 on NAME".
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked_in_turn(path, tell) as file:
        file.truncate(0)
        file.write(f"{os.getpid()} on {platform.node()}")
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked_in_turn(path: Path, tell: Callable[[str], None]) -> IO:
    """Return the file at `path`, opened and locked, after who holds it now."""
    while True:
        file = path.open("a+")
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


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as JSON with sorted keys, so that equal values are equal bytes."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=_plain)
    write_text(path, text + "\n")


def write_json_lines(path: str | Path, columns: Columns) -> None:
    """Write a table as a JSON object a row, whole or not at all."""
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    lines = (json.dumps(row, ensure_ascii=False, default=_plain) for row in rows)
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_json(path: str | Path) -> Any:
    """Read a JSON file.

    Raises:
        UserError: it is missing or damaged.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays and paths to values that JSON has."""
    if isinstance(value, Path):
        return value.as_posix()
    if type(value).__module__ == "numpy":
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def write_npz(path: str | Path, **arrays: np.ndarray) -> None:
    """Write named arrays (no objects, so no pickle), whole or not at all."""
    import numpy as np

    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def read_npz(path: str | Path, mapped: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Read what `write_npz` wrote.

    mapped: arrays of one dimension that may be too long for memory.

    Raises:
        UserError: the file is missing, damaged or holds pickled objects.
    """
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return {
                name: _map(archive.zip, name) if name in mapped else archive[name]
                for name in archive.files
            }
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        if (
            getattr(error, "errno", None) in FULL_DISK
        ):  # the disk for mapped arrays: the file is good
            raise
        # NumPy's own message may advise to load the file unsafely.
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise UserError(f"{path}: cannot be read ({reason}); delete it and run again") from error


def _map(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    from numpy.lib import format as npy

    from sagevocab.mapped import ArrayFile

    with archive.open(f"{name}.npy") as file:
        npy.read_magic(file)
        _, _, dtype = npy.read_array_header_1_0(file)
        numbers = ArrayFile(dtype)
        numbers.copy(file)
    return numbers.mapped()


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(*parts: Any) -> str:
    """SHA-256 over `parts`: paths count by content, bytes as they are, the rest as JSON."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            data = file_digest(part).encode()
        elif isinstance(part, bytes | memoryview):
            data = part
        else:
            data = json.dumps(part, sort_keys=True, default=_plain).encode()
        digest.update(hashlib.sha256(data).digest())
    return digest.hexdigest()


_MARK = "fingerprint"
_LEFTOVER = re.compile(r"\..+\.\d+\.partial\.npz")  # see `atomic_path`


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

    @property
    def folder(self) -> Path | None:
        """Where the caller may keep other files beside the arrays; None if nothing is kept."""
        return self._folder

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
