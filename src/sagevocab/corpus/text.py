"""Files of lines of text, plain or compressed (gz, bz2, xz, zst), as their first bytes say."""

from __future__ import annotations

import bz2
import gzip
import io
import logging
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sagevocab.errors import UserError
from sagevocab.files import atomic_path, path_text

log = logging.getLogger(__name__)

STANDARD_INPUT = "-"
_MOST_NUL = 0.05  # of a line's characters; a line with more is binary data, or UTF-16
_PACKED = 1 << 12  # four bytes of zstd may be 128 KiB of text, and all text of a step is in memory
_BLOCK = 1 << 17
_ZSTD_LEVEL = 9
# Errors that decompressors raise on damaged or truncated data.
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)


class _ZstdFile(io.RawIOBase):
    """The text of a .zst file of one or more frames.

    `zstandard`'s own reader mistakes the end of a truncated file for the end of the text.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read an open file."""
        self._parts, self._text = _unpacked(file), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with text, at least a byte of it before the end."""
        while not self._text and (part := next(self._parts, None)) is not None:
            self._text = memoryview(part)
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Yield the parts of the text of a .zst file.

    Raises:
        EOFError: the file ends amid a frame.
        OSError: it is damaged.
    """
    import zstandard

    frame = None  # one that has begun and not ended
    while packed := file.read(_PACKED):
        while packed:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(packed)
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from error
            packed = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("Truncated compressed stream")


_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"BZh": bz2.open,
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda file: io.BufferedReader(_ZstdFile(file), _BLOCK),
}
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


@contextmanager
def open_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed; `-` is standard input.

    Raises:
        UserError: it cannot be opened.
    """
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise UserError("standard input: is closed; open it, or name a file")
        yield _plain(sys.stdin.buffer)
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path_text(path)}: cannot be read ({reason}); check the path") from error
    with file:
        yield _plain(file)


def _plain(file: Any) -> BinaryIO:
    """Return what reads a file decompressed."""
    start = file.peek(6)
    opener = next((open_ for magic, open_ in _OPENERS.items() if start.startswith(magic)), None)
    return opener(file) if opener else file


def damaged(path: str | Path, error: Exception) -> UserError:
    """Return the error for a file that could not be decompressed."""
    is_cut = isinstance(error, EOFError) or "truncated" in str(error).lower()
    kind = "truncated" if is_cut else "damaged"
    return UserError(f"{path}: the compressed file is {kind} ({error}); fetch or copy it again")


# --- files of lines


def read_lines(path: str | Path, errors: str = "strict") -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file, plain or compressed, without their line ends.

    Only \n and \r\n end a line: other Unicode line separators belong to the text.

    Args:
        path: of the file; `-` is standard input.
        errors: how `bytes.decode` treats what is not UTF-8. If `strict`, stray NUL characters are
            dropped, with a warning; else they are left in.

    Raises:
        UserError: bad UTF-8 or a line full of NUL characters (with the line's number), truncated
            compression.
    """
    number = 0
    try:
        with open_bytes(path) as file:
            for number, raw in enumerate(file, start=1):
                line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors)
                if errors == "strict" and "\0" in line:
                    line = _without_nul(line, f"{path}:{number}")
                yield line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: is not UTF-8 (byte 0x{error.object[error.start]:02x} at "
            f"position {error.start + 1}); convert it, for example with iconv"
        ) from error
    except DAMAGE as error:
        raise damaged(path, error) from error


def _without_nul(line: str, place: str) -> str:
    """Drop stray NUL characters, which now and then occur in texts from the web."""
    if line.count("\0") > _MOST_NUL * len(line):
        raise UserError(f"{place}: holds many NUL characters; give a text file in UTF-8")
    log.warning("%s: a NUL character was dropped", place)
    return line.replace("\0", "")


def write_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Write lines as zstd-compressed UTF-8, whole or not at all; return how many.

    Equal lines give equal bytes: one frame, fixed level, no date.
    """
    count = 0
    import zstandard  # not needed to plan a workflow

    compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
    with atomic_path(path) as temporary, compressor.stream_writer(temporary.open("wb")) as stream:
        for line in lines:
            if "\n" in line:
                raise ValueError("a line of a corpus holds a line end")
            stream.write(f"{line}\n".encode())
            count += 1
    return count
