"""Tables of text: the rows of jsonl, csv, tsv and parquet files, one at a time."""

from __future__ import annotations

import csv
import difflib
import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sagevocab.corpus.compression import ENDINGS
from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError

log = logging.getLogger(__name__)

TABLES = ("jsonl", "parquet", "csv", "tsv")
TABLE_ENDINGS = {f".{name}": name for name in TABLES} | {".ndjson": "jsonl"}
_DIALECTS = {"csv": "excel", "tsv": "excel-tab"}
_LIKELY = ("text", "sentence", "content", "line")  # names of columns that hold text
_SHOWN = 20  # columns that a message lists
Row = Mapping[str, Any]


def file_ending(path: str | Path) -> str:
    """Return the ending of a file's name, in small letters, without that of a compression."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in ENDINGS:
        endings.pop()
    return endings[-1] if endings else ""


# --- rows


def read_rows(
    path: str | Path,
    format: str,
    columns: Sequence[str] | None = None,
    errors: str = "strict",
    *,
    quotes: bool = True,
) -> Iterator[Row]:
    """Yield the rows of a table, one at a time; all but parquet plain or compressed.

    columns: those to read of a parquet file; all if None. errors: what to do with bytes that are
    not UTF-8, `strict` or `replace`. quotes: whether quotation marks around a field of csv or tsv
    are no part of it, as pandas and `datasets` read both; those inside a field always are text.

    Raises:
        UserError: the file or a row cannot be read, or it has no such column.
    """
    if format == "parquet":
        return _parquet_rows(path, columns)
    if format == "jsonl":
        return json_rows(read_lines(path, errors), path)
    return _delimited_rows(path, format, errors, quotes)


def first_columns(path: str | Path, format: str, errors: str = "strict") -> list[str]:
    """Return the columns of a table; of jsonl, those of its first row.

    Raises:
        UserError: as `read_rows`; in csv and tsv only the header is read.
    """
    if format == "parquet":
        with _opened_parquet(path) as table:
            return table.schema_arrow.names
    if format == "jsonl":
        return list(next(read_rows(path, format, errors=errors), ()))
    with _delimited(path, format, errors) as reader:
        return list(reader.fieldnames or ())


def json_rows(lines: Iterable[str], name: str | Path) -> Iterator[Row]:
    """Yield the rows of lines of JSON; name: of the file, for messages."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(
                f"{name}:{number}: is not JSON ({error.msg}); correct the line or check the format"
            ) from error
        if not isinstance(row, dict):
            raise UserError(
                f"{name}:{number}: is not a JSON object, which every line of jsonl is; "
                "correct it or check the format"
            )
        yield row


def _parquet_rows(path: str | Path, columns: Sequence[str] | None) -> Iterator[Row]:
    with _opened_parquet(path) as table:
        for column in columns or ():
            require_column(path, column, table.schema_arrow.names)
        for batch in table.iter_batches(columns=columns):
            yield from batch.to_pylist()


@contextmanager
def _opened_parquet(path: str | Path) -> Iterator[Any]:
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
            yield table
    except (pyarrow.ArrowInvalid, OSError) as error:
        problem = str(error).splitlines()[0]
        raise UserError(
            f"{path}: cannot be read as parquet ({problem}); fetch or copy it again, or check the "
            "format"
        ) from error


def _delimited_rows(path: str | Path, format: str, errors: str, quotes: bool) -> Iterator[Row]:
    with _delimited(path, format, errors, quotes) as reader:
        for row in reader:
            _require_all_fields(row, f"{path}:{reader.line_num}")
            yield row


@contextmanager
def _delimited(
    path: str | Path, format: str, errors: str, quotes: bool = True
) -> Iterator[csv.DictReader]:
    """Open a csv or tsv file with a header."""
    if format not in _DIALECTS:
        raise UserError(f"{path}: {format!r} is not a format of tables")
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    csv.field_size_limit(1 << 30)
    # Unlike text, a table may have a lone carriage return at its line ends, as spreadsheets write.
    lines = (f"{part}\n" for line in read_lines(path, errors) for part in line.split("\r"))
    reader = csv.DictReader(lines, dialect=_DIALECTS[format], quoting=quoting, strict=True)
    try:
        yield reader
    except csv.Error as error:
        # `line_num` is still that of the last row that could be read.
        raise UserError(
            f"{path}:{reader.line_num + 1}: {error}; correct the quotes in the row that starts "
            "here, check the format, or give the texts as lines if quotes are part of them"
        ) from error


def _require_all_fields(row: Mapping[str | None, Any], where: str) -> None:
    if None in row or None in row.values():
        raise UserError(
            f"{where}: has more or fewer fields than the header; check the format and the quoting"
        )


# --- one column


def require_column(name: str | Path, column: str, present: Iterable[str]) -> None:
    """Refuse a column that a table has not; name: of the table, for messages."""
    names = list(map(str, present))
    if column in names:
        return
    close = difflib.get_close_matches(str(column), names, n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}?" if close else "name one of these"
    raise UserError(f"{name}: has no column {column!r}; its columns are {_listed(names)}; {advice}")


def column_missing(name: str | Path, present: Iterable[str]) -> UserError:
    """Return the error of a table whose column of text is not named."""
    names = list(map(str, present))
    likely = next((column for column in names if column in _LIKELY), "NAME")
    return UserError(
        f"{name}: is a table with the columns {_listed(names)}; name the one that holds the text, "
        f"column={likely!r}"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def column_texts(
    rows: Iterable[Row],
    column: str,
    name: str | Path,
    wanted: Callable[[Row], bool] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yield the texts of one column, each after the number of its row.

    Null values are left out, and counted in a warning. wanted: which rows to take; all if None.

    Raises:
        UserError: a row without the column, or with a value that is not text.
    """
    cells = _cells(rows, column, name, wanted)
    return numbered_texts(cells, f"{name}: column {column!r}", "row")


def _cells(
    rows: Iterable[Row], column: str, name: str | Path, wanted: Callable[[Row], bool] | None
) -> Iterator[tuple[int, Any]]:
    for number, row in enumerate(rows, start=1):
        if column not in row:
            require_column(name if number == 1 else f"{name}, row {number}", column, row)
        if wanted is None or wanted(row):
            yield number, row[column]


def numbered_texts(
    cells: Iterable[tuple[int, Any]], name: str, unit: str
) -> Iterator[tuple[int, str]]:
    """Yield those numbered cells that hold text; count the others in a warning.

    name, unit: of the whole and of a cell, for messages. In the rows of a table, an empty cell
    holds no text, as csv has no other way to write null; an empty item is an empty line.

    Raises:
        UserError: a value is not text.
    """
    nulls = number = 0
    for number, cell in cells:
        if _is_null(cell) or (unit == "row" and cell == ""):
            nulls += 1
        elif isinstance(cell, str):
            yield number, cell
        else:
            kind = type(cell).__name__
            raise UserError(f"{name}, {unit} {number}: is of type {kind}; give text there")
    if nulls:
        log.warning("%s: %d of %d %ss hold no text, left out", name, nulls, number, unit)


def _is_null(cell: Any) -> bool:
    """Return whether a cell holds nothing: None, NaN, or pandas' NA."""
    is_nan = isinstance(cell, float) and math.isnan(cell)
    return cell is None or is_nan or type(cell).__name__ == "NAType"
