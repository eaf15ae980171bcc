"""Text as a user gives it: files, plain or compressed, tables, standard input, data in memory.

All of it becomes lines, one at a time: nothing is read whole but what is in memory already.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import json
import logging
import lzma
import math
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from sagevocab.errors import UserError
from sagevocab.files import (
    COMPRESSED,
    TABLE_ENDINGS,
    atomic_path,
    file_ending,
    path_text,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

log = logging.getLogger(__name__)

STANDARD_INPUT = "-"
BAD_TEXT = ("refuse", "replace", "skip")
Texts = str | PathLike | Iterable[Any]
Row = Mapping[str, Any]
_BAD_CHARACTER = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs
_MOST_NUL = 0.05  # of a line's characters; a line with more is binary data, or UTF-16
# How a PDF, a zip (docx, epub, npz, ...) and a sentencepiece model begin.
_NO_TEXT = re.compile(rb"%PDF-|PK\x03\x04|\n.\n\x05.{5}\x15", re.DOTALL)
_BLOCK = 1 << 17
_ZSTD = {zstd.CompressionParameter.compression_level: 9, zstd.CompressionParameter.checksum_flag: 1}
_FIRST = 1000  # items of a list that are looked at to tell files from lines
_BATCH = 1000  # rows of a data set
_TEXT_ENDINGS = (".txt", ".text", *TABLE_ENDINGS, *COMPRESSED)
_DIALECTS = {"csv": "excel", "tsv": "excel-tab"}
_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"BZh": bz2.open,
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": zstd.open,
}
# What these raise where a file is damaged or cut.
_DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstd.ZstdError)


# --- what a user gives


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
        return _split(_in_memory(texts, column, bad_text))
    for file in files:
        if file != STANDARD_INPUT:
            _check_file(file)
    return (line for file in files for line in _lines_of_file(file, column, bad_text))


def _lines_of_file(file: str, column: str | None, bad_text: str) -> Iterator[str]:
    errors = "replace" if bad_text == "replace" else "surrogateescape"  # half pairs of bad bytes
    format = TABLE_ENDINGS.get(file_ending(file), "jsonl" if column else None)
    if format is None:
        return _usable(f"{_name_of(file)}, line", read_lines(file, errors), bad_text)
    rows = table_rows(file, format, [column] if column else None, errors)
    return _split(column_texts(rows, column, _name_of(file), bad_text))


def _in_memory(texts: Any, column: str | None, bad_text: str) -> Iterator[str]:
    """Return the texts of a data frame, a data set or an iterable."""
    names = getattr(texts, "column_names", None)  # of a data set; None where they are not known
    if names is None:
        names = getattr(texts, "columns", None)  # of a data frame
    if names is not None:
        require_column("texts", column, names)
        return column_texts(_rows_of(texts, column), column, "texts", bad_text)
    items = iter(texts)
    first = list(itertools.islice(items, 1))
    items = itertools.chain(first, items)
    if first and isinstance(first[0], Mapping):
        return column_texts(items, column, "texts", bad_text)
    if column is not None:
        raise UserError("column: texts has no columns, its items are lines; leave column out")
    return _usable("texts, item", items, bad_text)


def _rows_of(frame: Any, column: str) -> Iterator[Row]:
    """Yield the rows of one column of a data frame or data set."""
    if not hasattr(frame, "select_columns"):
        return ({column: cell} for cell in frame[column])
    # Of a data set: other columns may be costly to decode, and rows one by one are slow.
    batches = frame.select_columns([column]).iter(batch_size=_BATCH)
    return ({column: cell} for batch in batches for cell in batch[column])


def _usable(place: str, cells: Iterable[Any], bad_text: str | None) -> Iterator[str]:
    """Yield the cells that hold text; do what `bad_text` says with text that is bad.

    Args:
        place: what a cell is, before its number in messages.
        cells: those without text (None, NaN) are left out, and counted in a warning.
        bad_text: as of `lines_of`; None leaves it as it is.
    """
    nulls = skipped = number = 0
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, str) and (bad_text is None or _is_well(cell)):
            yield cell
        elif _is_null(cell):
            nulls += 1
        elif not isinstance(cell, str):
            raise UserError(f"{place} {number}: is of type {type(cell).__name__}; give text there")
        elif bad_text == "replace":
            yield _BAD_CHARACTER.sub("\ufffd", cell)
        elif bad_text == "skip":
            skipped += 1
        else:
            found = _BAD_CHARACTER.search(cell)
            kind = "a NUL character" if found[0] == "\0" else "what is not UTF-8"
            raise UserError(
                f"{place} {number}: holds {kind} at position {found.start() + 1}; mend it, or set "
                "bad_text to replace or skip"
            )
    if nulls:
        log.warning("%ss: %d of %d hold no text, left out", place, nulls, number)
    if skipped:
        log.warning("%ss left out that are not text: %d", place, skipped)


def _is_null(cell: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or pandas' NA."""
    is_nan = isinstance(cell, float) and math.isnan(cell)
    return cell is None or is_nan or type(cell).__name__ == "NAType"


def _split(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of texts."""
    for text in texts:
        for line in text.removesuffix("\n").split("\n"):
            yield line.removesuffix("\r")


def _is_well(text: str) -> bool:
    """Return whether a text has no bad character; to encode it costs less than a search."""
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
            f"{shown}: cannot be read ({reason}); check the path; text itself is given as a "
            "list or on standard input, and a data set of the hub is loaded first"
        ) from error
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


def paths_of(texts: Texts) -> list[Path]:
    """Return the files that `texts` means, without standard input."""
    return [Path(name) for name in files_of(texts) or () if name != STANDARD_INPUT]


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
    names = list(map(_name_of, files))
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def _name_of(file: str | Path) -> str:
    """Name a file in a message."""
    return "standard input" if str(file) == STANDARD_INPUT else path_text(file)


# --- files of bytes


@contextmanager
def open_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed as its first bytes say; `-` is standard input.

    Raises:
        UserError: it cannot be opened; or, in the body, it turns out to be damaged or cut.
    """
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise UserError("standard input: is closed; open it, or name a file")
        opened = nullcontext(sys.stdin.buffer)
    else:
        try:
            opened = Path(path).open("rb")  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(
                f"{_name_of(path)}: cannot be read ({reason}); check the path"
            ) from error
    try:
        with opened as file:
            yield _decompressed(file)
    except _DAMAGE as error:
        raise UserError(
            f"{_name_of(path)}: is damaged or cut ({error}); fetch or copy it again"
        ) from error


def _decompressed(file: Any) -> BinaryIO:
    """Return what reads an open file decompressed."""
    start = file.peek(6)
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            return io.BufferedReader(opener(file), _BLOCK)  # lines are found in C
    return file


# --- files of lines


def read_lines(path: str | Path, errors: str = "strict") -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file, plain or compressed, without their line ends.

    Only \n and \r\n end a line: other Unicode line separators belong to the text.

    Args:
        path: of the file; `-` is standard input.
        errors: how `bytes.decode` treats what is not UTF-8. If `strict`, stray NUL characters are
            dropped, with a warning; else they are left in.

    Raises:
        UserError: it is a file of another kind; bad UTF-8 or a line full of NUL characters (with
            the line's number); as `open_bytes`.
    """
    number = 0
    try:
        with open_bytes(path) as file:
            if _NO_TEXT.match(file.peek(16)):
                raise UserError(
                    f"{_name_of(path)}: is not a text; give one of lines, or a table with column"
                )
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


def _without_nul(line: str, place: str) -> str:
    """Drop stray NUL characters, which now and then occur in texts from the web."""
    if line.count("\0") > _MOST_NUL * len(line):
        raise UserError(f"{place}: holds many NUL characters; give a text file in UTF-8")
    log.warning("%s: a NUL character was dropped", place)
    return line.replace("\0", "")


def write_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Write lines as zstd-compressed UTF-8, whole or not at all; return how many.

    Equal lines give equal bytes: one frame, fixed level, no date. A checksum shows damage.
    """
    count = 0
    with (
        atomic_path(path) as temporary,
        zstd.open(temporary, "wt", options=_ZSTD, encoding="utf-8", newline="\n") as stream,
    ):
        for line in lines:
            if "\n" in line:
                raise ValueError("a line of a corpus holds a line end")
            stream.write(f"{line}\n")
            count += 1
    return count


# --- tables


def table_rows(
    path: str | Path,
    format: str,
    columns: Sequence[str] | None = None,
    errors: str = "strict",
    *,
    quotes: bool = True,
    key: str = "column",
) -> Iterator[Row]:
    """Yield the rows of a table, one at a time; all but parquet plain or compressed.

    Args:
        path: of the table; `-` is standard input.
        format: jsonl, parquet, csv or tsv.
        columns: those to read of a parquet file; all if None.
        errors: as of `read_lines`.
        quotes: whether quotation marks around a field of csv or tsv are no part of it, as pandas
            and `datasets` read both; those inside a field always are text.
        key: the setting that names the column, for messages.

    Raises:
        UserError: the file or a row cannot be read, or it has no such column.
    """
    if format == "parquet":
        return _parquet_rows(path, columns, key)
    if format == "jsonl":
        return _json_rows(path, errors)
    return _delimited_rows(path, format, errors, quotes)


def _json_rows(path: str | Path, errors: str) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path, errors), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if errors == "strict" and "\\u" in line:  # halves of surrogate pairs cannot be encoded
                json.dumps(row, ensure_ascii=False).encode()
        except ValueError:
            row = None
        if not isinstance(row, dict):
            is_table = file_ending(path) in TABLE_ENDINGS
            remedy = "or check the format" if is_table else "or leave column out for lines of text"
            raise UserError(
                f"{path}:{number}: is not a JSON object of UTF-8, as every line of jsonl is; "
                f"correct it {remedy}"
            )
        yield row


def _parquet_rows(path: str | Path, columns: Sequence[str] | None, key: str) -> Iterator[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            f"{path}: parquet is read with pyarrow, which is not installed; pip install "
            "'sagevocab[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(path) as table:
            for column in columns or ():
                require_column(path, column, table.schema_arrow.names, key)
            for batch in table.iter_batches(columns=columns):
                yield from batch.to_pylist()
    except (pyarrow.ArrowInvalid, OSError) as error:
        problem = str(error).splitlines()[0]
        raise UserError(
            f"{path}: cannot be read as parquet ({problem}); fetch or copy it again, or check the "
            "format"
        ) from error


def _delimited_rows(path: str | Path, format: str, errors: str, quotes: bool) -> Iterator[Row]:
    """Yield the rows of a csv or tsv file with a header."""
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    csv.field_size_limit(1 << 30)
    # Unlike text, a table may have a lone carriage return at its line ends, as spreadsheets write.
    lines = (f"{part}\n" for line in read_lines(path, errors) for part in line.split("\r"))
    reader = csv.DictReader(lines, dialect=_DIALECTS[format], quoting=quoting, strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise UserError(
                    f"{path}:{reader.line_num}: has more or fewer fields than the header; check "
                    "the format and the quoting"
                )
            yield row
    except csv.Error as error:
        # `line_num` is still that of the last row that could be read.
        raise UserError(
            f"{path}:{reader.line_num + 1}: {error}; correct the quotes in the row that starts "
            "here, check the format, or give the texts as lines if quotes are part of them"
        ) from error


def require_column(
    name: str | Path, column: str | None, present: Iterable[Any], key: str = "column"
) -> None:
    """Refuse a column that a table does not have, or none where there are some.

    Args:
        name: of the table, for the message.
        column: the one that holds the text.
        present: the columns of the table.
        key: the setting that names it, for the message.

    Raises:
        UserError: it is not among them.
    """
    names = list(map(str, present))
    if column in names:
        return
    problem = "is a table" if column is None else f"has no column {column!r}"
    raise UserError(f"{name}: {problem}; set {key} to one of {', '.join(names)}")


def column_texts(
    rows: Iterable[Row],
    column: str | None,
    name: str | Path,
    bad_text: str | None = None,
    key: str = "column",
) -> Iterator[str]:
    """Yield the texts of one column.

    Empty cells are left out, and counted in a warning: csv has no other way to write null.

    Args:
        rows: of the table.
        column: the one that holds the text.
        name: of the table, for messages.
        bad_text: as of `lines_of`; None leaves it as it is.
        key: as of `require_column`.

    Raises:
        UserError: a row without the column, or with a value that is not text.
    """

    def cells() -> Iterator[Any]:
        for number, row in enumerate(rows, start=1):
            if column not in row:
                require_column(f"{name}, row {number}", column, row, key)
            yield None if row[column] == "" else row[column]

    return _usable(f"{name}: column {column!r}, row", cells(), bad_text)
