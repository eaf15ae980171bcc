"""Files plain or compressed (gz, bz2, xz, zst), as their first bytes say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from sagevocab.errors import UserError

_BLOCK = 1 << 17
_PACKED = 1 << 12  # four bytes of zstd may be 128 KiB of text, and all text of a step is in memory


class _ZstdFile(io.RawIOBase):
    """The text of a .zst file of one or more frames.

    `zstandard`'s own reader mistakes the end of a truncated file for the end of the text.
    """

    def __init__(self, file: str | Path | BinaryIO) -> None:
        """Open a path, or read a stream, which is left open."""
        self._is_path = isinstance(file, str | Path)
        self._file = open(file, "rb") if isinstance(file, str | Path) else file  # noqa: SIM115
        self._frame: Any = None  # the frame that has begun and not ended
        self._packed, self._text = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with text, at least a byte of it before the end.

        Raises:
            EOFError: the file ends amid a frame.
            OSError: it is damaged.
        """
        while not self._text and (packed := self._packed or self._file.read(_PACKED)):
            self._unpack(packed)
        if not self._text and self._frame is not None:
            raise EOFError("Truncated compressed stream")
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size

    def _unpack(self, packed: bytes) -> None:
        import zstandard

        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            self._text = memoryview(self._frame.decompress(packed))
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None

    def close(self) -> None:
        if self._is_path:
            self._file.close()
        super().close()


def _open_zstd(file: str | Path | BinaryIO) -> BinaryIO:
    return io.BufferedReader(_ZstdFile(file), _BLOCK)


_COMPRESSIONS = {
    b"BZh": bz2.open,
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
# Errors that decompressors raise on damaged or truncated data.
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a file for reading bytes, decompressed (gz, bz2, xz, zst) as its first bytes say.

    Raises:
        UserError: there is no such file, or its name alone says that it is compressed.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(6)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if opener := opener_of(start):
        return opener(path)
    if (ending := Path(path).suffix.lower()) in ENDINGS:
        raise UserError(
            f"{path}: is not compressed, though its name ends in {ending}; rename or compress it"
        )
    return Path(path).open("rb")


def opener_of(start: bytes) -> Callable | None:
    """Return what opens a compressed file that starts so; None for a plain one."""
    found = (opener for magic, opener in _COMPRESSIONS.items() if start.startswith(magic))
    return next(found, None)


def damaged(path: str | Path, error: Exception) -> UserError:
    """Return the error for a file that could not be decompressed."""
    is_cut = isinstance(error, EOFError) or "truncated" in str(error).lower()
    kind = "truncated" if is_cut else "damaged"
    return UserError(f"{path}: the compressed file is {kind} ({error}); fetch or copy it again")
