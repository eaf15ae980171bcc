"""Files plain or compressed (gz, bz2, xz, zst), as their first bytes say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TextIO

from sagevocab.errors import UserError

_BLOCK = 1 << 17


def _open_zstd(file: str | Path | BinaryIO) -> BinaryIO:
    """Open a .zst file of one or more frames; the text of one that was cut short is an OSError.

    `zstandard`'s own reader mistakes the end of a truncated file for the end of the text.
    """
    import pyarrow

    return io.BufferedReader(pyarrow.input_stream(file, compression="zstd"), _BLOCK)


_COMPRESSIONS = {
    b"BZh": bz2.open,
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}
# Errors that decompressors raise on damaged or truncated data.
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a file for reading bytes, decompressed (gz, bz2, xz, zst) as its first bytes say.

    Raises:
        UserError: there is no such file.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(6)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    opener = opener_of(start)
    return opener(path) if opener else Path(path).open("rb")


def opener_of(start: bytes) -> Callable | None:
    """Return what opens a compressed file that starts so; None for a plain one."""
    found = (opener for magic, opener in _COMPRESSIONS.items() if start.startswith(magic))
    return next(found, None)


def open_text(path: str | Path) -> TextIO:
    """Open a UTF-8 file for reading text, decompressed like `open_bytes`.

    A byte order mark, which spreadsheets write, is no part of the text.
    """
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def damaged(path: str | Path, error: Exception) -> UserError:
    """Return the error for a file that could not be decompressed."""
    is_cut = isinstance(error, EOFError) or "truncated" in str(error).lower()
    kind = "truncated" if is_cut else "damaged"
    return UserError(f"{path}: the compressed file is {kind} ({error}); fetch or copy it again")
