"""Lines of text, from files in any compression, standard input or any iterable."""

from __future__ import annotations

import gzip
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from sagevocab.compression import DAMAGE, damaged, open_bytes, opener_of
from sagevocab.errors import EncodingError, UserError
from sagevocab.state import atomic_path, path_text

log = logging.getLogger(__name__)

_ZSTD_LEVEL = 9
_BYTE_ORDER_MARK = "\ufeff"
_MOST_NUL = 0.05  # of a line's characters; a line with more is binary data
STANDARD_INPUT = "-"
ENCODING_ERRORS = ("strict", "replace")
Texts = str | Path | Iterable[str | Path]


def read_lines(path: str | Path, errors: str = "strict") -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file, plain or compressed, without their line ends.

    Only \n and \r\n end a line: other Unicode line separators belong to the text. errors: `replace`
    puts U+FFFD in the place of bytes that are not UTF-8.

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
            line = raw.rstrip(b"\r\n").decode("utf-8", errors)
            if "\0" in line:
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
            f"{where}: contains NUL characters, as no text does; give a text file in UTF-8"
        )
    log.warning("%s: a NUL character was dropped", where)
    return line.replace("\0", "")


def lines_of(texts: Texts, errors: str = "strict") -> Iterator[str]:
    """Yield lines of text without their line ends.

    texts: a file, plain or compressed (gz, bz2, xz, zst); `-` for standard input; several files; or
    any iterable of strings, which are lines. A list of strings all of which name files is a list of
    files. errors: what to do with bytes that are not UTF-8, `strict` or `replace` (by U+FFFD).

    Raises:
        UserError: a file cannot be read, is not UTF-8 or full of NUL characters; tells the line.
    """
    if errors not in ENCODING_ERRORS:
        names = ", ".join(ENCODING_ERRORS)
        raise UserError(f"encoding_errors: {errors!r} is unknown; choose one of {names}")
    files = files_of(texts)
    if files is None:
        yield from _checked(texts)
        return
    for file in files:
        yield from _standard_input(errors) if file == STANDARD_INPUT else read_lines(file, errors)


def files_of(texts: Texts) -> list[str] | None:
    """Return the names of the files that `texts` means, `-` for standard input; None for lines."""
    if isinstance(texts, str | os.PathLike):
        return [os.fspath(texts)]
    if isinstance(texts, list | tuple) and texts and all(map(_names_file, texts)):
        return [os.fspath(item) for item in texts]
    return None


def describe_texts(texts: Texts) -> str:
    """Name `texts` in a message."""
    files = files_of(texts)
    if files is None:
        return "the text"
    names = ["standard input" if file == STANDARD_INPUT else path_text(file) for file in files]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def _names_file(item: str | Path) -> bool:
    is_path = isinstance(item, os.PathLike) or item == STANDARD_INPUT
    return is_path or (isinstance(item, str) and os.path.isfile(item))


def _standard_input(errors: str) -> Iterator[str]:
    stream = sys.stdin.buffer  # cannot be read twice
    opener = opener_of(stream.peek(6))
    return decoded_lines(opener(stream) if opener else stream, "standard input", errors)


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise UserError(f"texts: item {number} is of type {kind}; give strings, or one path")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UserError(
                f"texts: string {number} holds half a surrogate pair at position "
                f"{error.start + 1}; decode the text anew"
            ) from error
        if "\0" in text:
            raise UserError(f"texts: string {number} holds a NUL character; is it text?")
        for line in text.removesuffix("\n").split("\n"):
            yield line.removesuffix("\r")
