"""Files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagevocab.errors import UserError

if TYPE_CHECKING:
    import numpy as np

# A table: columns of equal length by name, in a fixed order; lists or arrays of one dimension.
# `pandas.DataFrame` takes it as it is.
Columns = dict[str, Any]
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
TABLES = ("jsonl", "parquet", "csv", "tsv")
TABLE_ENDINGS = {f".{name}": name for name in TABLES} | {".ndjson": "jsonl", ".json": "jsonl"}


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

    Args:
        path: the folder.
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


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Read what `write_npz` wrote.

    Raises:
        UserError: the file is missing, damaged or holds pickled objects.
    """
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        # NumPy's own message may advise to load the file unsafely.
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise UserError(f"{path}: cannot be read ({reason}); delete it and run again") from error


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


# --- what is at a path


def file_ending(path: str | Path) -> str:
    """Return the ending of a file's name, in small letters, without that of a compression."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    return endings[-1] if endings else ""
