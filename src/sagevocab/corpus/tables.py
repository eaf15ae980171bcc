"""Tables of text: the rows of jsonl, csv, tsv and parquet files, one at a time."""

from __future__ import annotations

import csv
import difflib
import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sagevocab.corpus.text import COMPRESSED, read_lines
from sagevocab.errors import UserError

log = logging.getLogger(__name__)

TABLES = ("jsonl", "parquet", "csv", "tsv")
TABLE_ENDINGS = {f".{name}": name for name in TABLES} | {".ndjson": "jsonl", ".json": "jsonl"}
_DIALECTS = {"csv": "excel", "tsv": "excel-tab"}
_SHOWN = 20  # columns that a message lists
Row = Mapping[str, Any]


def file_ending(path: str | Path) -> str:
    """Return the ending of a file's name, in small letters, without that of a compression."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    return endings[-1] if endings else ""


def read_rows(
    path: str | Path,
    format: str,
    columns: Sequence[str] | None = None,
    errors: str = "strict",
    *,
    quotes: bool = True,
) -> Iterator[Row]:
    """Yield the rows of a table, one at a time; all but parquet plain or compressed.

    Args:
        path: of the table; `-` is standard input.
        format: one of `TABLES`.
        columns: those to read of a parquet file; all if None.
        errors: as of `read_lines`.
        quotes: whether quotation marks around a field of csv or tsv are no part of it, as pandas
            and `datasets` read both; those inside a field always are text.

    Raises:
        UserError: the file or a row cannot be read, or it has no such column.
    """
    if format == "parquet":
        return _parquet_rows(path, columns)
    if format == "jsonl":
        return _json_rows(path, errors)
    return _delimited_rows(path, format, errors, quotes)


def _json_rows(path: str | Path, errors: str) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path, errors), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(
                f"{path}:{number}: is not JSON ({error.msg}); correct the line or check the format"
            ) from error
        if not isinstance(row, dict):
            raise UserError(
                f"{path}:{number}: is not a JSON object, which every line of jsonl is; correct it "
                "or check the format"
            )
        yield row


def _parquet_rows(path: str | Path, columns: Sequence[str] | None) -> Iterator[Row]:
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
                require_column(path, column, table.schema_arrow.names)
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


def require_column(name: str | Path, column: str | None, present: Iterable[Any]) -> None:
    """Refuse a column that a table does not have, or none where there are some.

    Args:
        name: of the table, for the message.
        column: the one that holds the text.
        present: the columns of the table.

    Raises:
        UserError: it is not among them.
    """
    names = list(map(str, present))
    if column in names:
        return
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    if column is None:
        raise UserError(
            f"{name}: is a table; set column to the one that holds the text; it has {shown}"
        )
    close = difflib.get_close_matches(str(column), names, n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}?" if close else "name one of these"
    raise UserError(f"{name}: has no column {column!r}; its columns are {shown}; {advice}")


def column_texts(
    rows: Iterable[Row], column: str | None, name: str | Path
) -> Iterator[tuple[int, str]]:
    """Yield the texts of one column, each after the number of its row.

    Empty cells are left out, and counted in a warning: csv has no other way to write null.

    Args:
        rows: of the table.
        column: the one that holds the text.
        name: of the table, for messages.

    Raises:
        UserError: a row without the column, or with a value that is not text.
    """

    def cells() -> Iterator[tuple[int, Any]]:
        for number, row in enumerate(rows, start=1):
            if column not in row:
                require_column(f"{name}, row {number}", column, row)
            yield number, None if row[column] == "" else row[column]

    return numbered_texts(cells(), f"{name}: column {column!r}, row")


def numbered_texts(cells: Iterable[tuple[int, Any]], place: str) -> Iterator[tuple[int, str]]:
    """Yield those numbered cells that hold text; count those that hold nothing in a warning.

    Args:
        cells: with their numbers.
        place: what a cell is, before its number in messages.
    """
    nulls = number = 0
    for number, cell in cells:
        if isinstance(cell, str):
            yield number, cell
        elif _is_null(cell):
            nulls += 1
        else:
            raise UserError(f"{place} {number}: is of type {type(cell).__name__}; give text there")
    if nulls:
        log.warning("%ss: %d of %d hold no text, left out", place, nulls, number)


def _is_null(cell: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or pandas' NA."""
    is_nan = isinstance(cell, float) and math.isnan(cell)
    return cell is None or is_nan or type(cell).__name__ == "NAType"
