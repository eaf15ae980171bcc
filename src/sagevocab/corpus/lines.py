"""What a user gives as text: files, tables, standard input, data sets, any iterable.

All of it becomes lines, one at a time: nothing is read whole but what is in memory already.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sagevocab.corpus.tables import (
    TABLE_ENDINGS,
    Row,
    column_texts,
    file_ending,
    numbered_texts,
    read_rows,
    require_column,
)
from sagevocab.corpus.text import COMPRESSED, STANDARD_INPUT, read_lines
from sagevocab.errors import UserError
from sagevocab.files import is_tokenizer, path_text

log = logging.getLogger(__name__)

BAD_TEXT = ("refuse", "replace", "skip")
_BAD_CHARACTER = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs
Texts = str | PathLike | Iterable[Any]
_FIRST = 1000  # items of a list that are looked at to tell files from lines
_BATCH = 1000  # rows of a data set
_TEXT_ENDINGS = (".txt", ".text", *TABLE_ENDINGS, *COMPRESSED)


def lines_of(texts: Texts, column: str | None = None, bad_text: str = "refuse") -> Iterator[str]:
    """Return the lines of text, without their line ends.

    Args:
        texts: a file, plain or compressed; `-` for standard input; a list of files; or any
            iterable of strings or of rows, such as a data set. A text that holds line ends is
            several lines.
        column: of a table, the one that holds text.
        bad_text: what to do with a line or row that is not UTF-8, or holds half a surrogate pair
            or a NUL: `refuse` it, `replace` these by U+FFFD, or `skip` it; skipped ones are
            counted in a warning.

    Raises:
        UserError: at once for what is not text and for a missing file; while reading for a table
            without `column` and a bad line or row, which it names.
    """
    if bad_text not in BAD_TEXT:
        raise UserError(f"bad_text: {bad_text!r} is unknown; choose {', '.join(BAD_TEXT)}")
    files = files_of(texts)
    if files is None:
        if isinstance(texts, bytes | Mapping) or not hasattr(texts, "__iter__"):
            raise UserError(
                f"texts: {type(texts).__name__} is not text; give a file, a list of lines, or one "
                "data set or data frame with column"
            )
        return _split(_usable(*_in_memory(texts, column), bad_text))
    for file in files:
        if file != STANDARD_INPUT:
            _check_file(file)
    return (line for file in files for line in _lines_of_file(file, column, bad_text))


def _lines_of_file(file: str, column: str | None, bad_text: str) -> Iterator[str]:
    errors = "replace" if bad_text == "replace" else "surrogateescape"  # half pairs of bad bytes
    format = TABLE_ENDINGS.get(file_ending(file), "jsonl" if column else None)
    name = "standard input" if file == STANDARD_INPUT else path_text(file)
    if format is None:
        lines = enumerate(read_lines(file, errors), start=1)
        return _usable(f"{name}, line", lines, bad_text)
    rows = read_rows(file, format, [column] if column else None, errors)
    return _split(_usable(f"{name}, row", column_texts(rows, column, name), bad_text))


def _in_memory(texts: Any, column: str | None) -> tuple[str, Iterator[tuple[int, str]]]:
    """Return the numbered texts of a data frame, a data set or an iterable.

    Before them comes what a text is called in messages.
    """
    names = getattr(texts, "column_names", None)  # of a data set; None where they are not known
    if names is None:
        names = getattr(texts, "columns", None)  # of a data frame
    if names is not None:
        require_column("texts", column, names)
        return "texts, row", column_texts(_rows_of(texts, column), column, "texts")
    items = iter(texts)
    first = list(itertools.islice(items, 1))
    items = itertools.chain(first, items)
    if first and isinstance(first[0], Mapping):
        return "texts, row", column_texts(items, column, "texts")
    if column is not None:
        raise UserError("column: texts has no columns, its items are lines; leave column out")
    return "texts, item", numbered_texts(enumerate(items, start=1), "texts, item")


def _rows_of(frame: Any, column: str) -> Iterator[Row]:
    """Yield the rows of one column of a data frame or data set."""
    if not hasattr(frame, "select_columns"):
        return ({column: cell} for cell in frame[column])
    # Of a data set: other columns may be costly to decode, and rows one by one are slow.
    batches = frame.select_columns([column]).iter(batch_size=_BATCH)
    return ({column: cell} for batch in batches for cell in batch[column])


def _usable(place: str, texts: Iterable[tuple[int, str]], bad_text: str) -> Iterator[str]:
    """Yield numbered texts; do what `bad_text` says with those that are bad."""
    skipped = 0
    for number, text in texts:
        if _is_well(text):  # as most are; to encode one costs less than a search
            yield text
        elif bad_text == "replace":
            yield _BAD_CHARACTER.sub("\ufffd", text)
        elif bad_text == "skip":
            skipped += 1
        else:
            found = _BAD_CHARACTER.search(text)
            kind = "a NUL character" if found[0] == "\0" else "what is not UTF-8"
            raise UserError(
                f"{place} {number}: holds {kind} at position {found.start() + 1}; mend it, or set "
                "bad_text to replace or skip"
            )
    if skipped:
        log.warning("%ss left out that are not text: %d", place, skipped)


def _split(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of texts."""
    for text in texts:
        for line in text.removesuffix("\n").split("\n"):
            yield line.removesuffix("\r")


def _is_well(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_file(file: str) -> None:
    shown = path_text(file) if len(file) < 100 else f"{file[:100]}..."
    try:
        is_folder = stat.S_ISDIR(os.stat(file).st_mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{shown}: cannot be read ({reason}); check the path; lines of text are given as a "
            "list, and a data set of the hub is loaded first"
        ) from error
    if is_tokenizer(Path(file)):
        raise UserError(
            f"{shown}: is a tokenizer, not text; give a text (what train prunes is initial)"
        )
    if is_folder:
        raise UserError(f"{shown}: is a folder; give the files in it, as {shown}/*.txt")


def files_of(texts: Texts) -> list[str] | None:
    """Return the names of the files that `texts` means, `-` for standard input; None for lines.

    A list is one of files if an item is a path or names a file and none has spaces.
    """
    if isinstance(texts, str | PathLike):
        return [os.fspath(texts)]
    if not isinstance(texts, list | tuple):
        return None
    is_input = list(texts) == [STANDARD_INPUT]
    if is_input or (any(map(_names_file, texts[:_FIRST])) and all(map(_may_name_file, texts))):
        return [os.fspath(item) for item in texts]
    return None


def _names_file(item: Any) -> bool:
    if not isinstance(item, str):
        return isinstance(item, PathLike)
    return os.path.isfile(item) or (_may_name_file(item) and item.endswith(_TEXT_ENDINGS))


def _may_name_file(item: Any) -> bool:
    return isinstance(item, PathLike) or (
        isinstance(item, str) and (item.split() == [item] or os.path.isfile(item))
    )


def describe_texts(texts: Texts) -> str:
    """Name `texts` in a message."""
    files = files_of(texts)
    if files is None:
        return "the text"
    names = ["standard input" if file == STANDARD_INPUT else path_text(file) for file in files]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"
