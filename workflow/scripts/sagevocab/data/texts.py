"""Text in any of the forms that a user may have it in, as one stream of lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sagevocab.data.corpus import decoded_lines, open_stream, read_lines
from sagevocab.errors import UserError
from sagevocab.state import path_text

STANDARD_INPUT = "-"
ENCODING_ERRORS = ("strict", "replace")

Texts = str | Path | Iterable[str | Path]


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
    return decoded_lines(open_stream(sys.stdin.buffer), "standard input", errors)


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise UserError(f"texts: item {number} is of type {kind}; give strings, or one path")
        if not text.isascii():
            _check_encodable(text, number)
        if "\0" in text:
            raise UserError(f"texts: string {number} holds a NUL character; is it text?")
        for line in text.removesuffix("\n").split("\n"):
            yield line.removesuffix("\r")


def _check_encodable(text: str, number: int) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f"texts: string {number} holds half a surrogate pair at position {error.start + 1}; "
            "decode the text anew"
        ) from error
