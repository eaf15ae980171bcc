"""Files of lines of text, in any compression."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from sagevocab.corpus.compression import DAMAGE, damaged, open_bytes
from sagevocab.errors import EncodingError, UserError
from sagevocab.files import atomic_path

log = logging.getLogger(__name__)

_ZSTD_LEVEL = 9
_BYTE_ORDER_MARK = "\ufeff"
_MOST_NUL = 0.05  # of a line's characters; a line with more is binary data


def read_lines(path: str | Path, errors: str = "strict") -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file, plain or compressed, without their line ends.

    Only \n and \r\n end a line: other Unicode line separators belong to the text. errors: how
    `bytes.decode` treats what is not UTF-8; unless `strict`, NUL characters are left in.

    Raises:
        UserError: bad UTF-8 or a line full of NUL characters (with the line's number), truncated
            compression.
    """
    with open_bytes(path) as file:
        yield from decoded_lines(file, path, errors)


def decoded_lines(file: BinaryIO, name: str | Path, errors: str = "strict") -> Iterator[str]:
    """Yield the lines of an open file as `read_lines` does; `name` is for messages."""
    number = 0
    try:
        for number, raw in enumerate(file, start=1):
            line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors)
            if "\0" in line and errors == "strict":
                line = _without_nul(line, f"{name}:{number}")
            yield line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
    except UnicodeDecodeError as error:
        _check_rest(file, name)
        raise EncodingError(
            f"{name}:{number}: is not UTF-8 (byte 0x{error.object[error.start]:02x} at "
            f"position {error.start + 1}); convert it, for example with iconv"
        ) from error
    except DAMAGE as error:
        raise damaged(name, error) from error


def _check_rest(file: BinaryIO, name: str | Path) -> None:
    """Refuse a damaged .gz, whose checksum comes last: a flipped bit may look like bad UTF-8."""
    try:
        while isinstance(file, gzip.GzipFile) and file.read(1 << 20):
            pass
    except DAMAGE as error:
        raise damaged(name, error) from error


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


def _without_nul(line: str, where: str) -> str:
    """Drop stray NUL characters, which now and then occur in texts from the web."""
    if line.count("\0") > _MOST_NUL * len(line):
        raise UserError(
            f"{where}: contains NUL characters, as no text does; give a text file in UTF-8, "
            "or bad_text='replace' or bad_text='skip'"
        )
    log.warning("%s: a NUL character was dropped", where)
    return line.replace("\0", "")
