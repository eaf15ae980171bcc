"""What a user gives as text: files of lines, tables, standard input, data sets, any iterable.

All of it becomes lines, one at a time: nothing is read whole but what is in memory already.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sagevocab.corpus.compression import DAMAGE, ENDINGS, damaged, open_bytes, opener_of
from sagevocab.corpus.tables import (
    TABLE_ENDINGS,
    column_missing,
    column_texts,
    file_ending,
    first_columns,
    json_rows,
    numbered_texts,
    read_rows,
    require_column,
)
from sagevocab.corpus.text import decoded_lines, read_lines
from sagevocab.errors import EncodingError, UserError
from sagevocab.files import is_tokenizer, path_text
from sagevocab.pieces import HUB_NAME

log = logging.getLogger(__name__)

STANDARD_INPUT = "-"
ENCODING_ERRORS = ("strict", "replace")
BAD_TEXT = ("refuse", "replace", "skip")
_BAD_CHARACTER = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs
Texts = str | Path | Iterable[Any]
_FIRST = 1000  # items of a list that are looked at to tell files from lines
_BATCH = 1000  # rows of a data set
_LONGEST_NAME = 255  # bytes, of a file on any usual file system
_TEXT_ENDINGS = (".txt", ".text", ".json", *TABLE_ENDINGS, *ENDINGS)
# Files that are neither text nor tables, by their first bytes.
_BINARY = {
    b"PK\x03\x04": "a zip archive; unpack it",
    b"%PDF": "a PDF; extract its text",
    b"ARROW1": "an Arrow file; read it with pyarrow and give a list of its texts",
}


def lines_of(
    texts: Texts,
    errors: str = "strict",
    column: str | None = None,
    bad_text: str = "refuse",
) -> Iterator[str]:
    """Return the lines of text, without their line ends.

    texts: a file, plain or compressed (gz, bz2, xz, zst); `-` for standard input; several files; or
    any iterable of strings or of rows, such as a data set. A list of strings that name files is a
    list of files. A text that holds line ends is several lines. errors: what to do with bytes that
    are not UTF-8, `strict` or `replace` (by U+FFFD). column: of a table, the one that holds text.
    bad_text: what to do with a line or row that holds half a surrogate pair or a NUL: `refuse` it,
    `replace` these by U+FFFD, or `skip` it; skipped ones are counted in a warning. The latter two
    hold for what is not UTF-8, too, and errors `replace` means `replace` here.

    Raises:
        UserError: at once for what is not text, a missing file, a table without `column`; while
            reading for a bad line or row, which it names.
    """
    if errors not in ENCODING_ERRORS:
        names = ", ".join(ENCODING_ERRORS)
        raise UserError(f"encoding_errors: {errors!r} is unknown; choose one of {names}")
    if bad_text not in BAD_TEXT:
        names = ", ".join(BAD_TEXT)
        raise UserError(f"bad_text: {bad_text!r} is unknown; choose one of {names}")
    if errors == "replace" and bad_text == "refuse":
        bad_text = "replace"
    # `surrogateescape` makes halves of surrogate pairs of what is not UTF-8.
    errors = {"refuse": "strict", "replace": "replace", "skip": "surrogateescape"}[bad_text]
    check_texts(texts, column, errors)
    files = files_of(texts)
    if files is None:
        return _lines_in_memory(texts, column, bad_text)
    return _lines_of_files(files, errors, column, bad_text)


def _lines_of_files(
    files: list[str], errors: str, column: str | None, bad_text: str
) -> Iterator[str]:
    with _advice_on_encoding():
        for file in files:
            yield from _file_lines(file, errors, column, bad_text)


@contextmanager
def _advice_on_encoding() -> Iterator[None]:
    try:
        yield
    except EncodingError as error:
        error.args = (f"{error}, or give encoding_errors='replace'",)
        raise


class Text(NamedTuple):
    """Lines of text, and what messages call them."""

    name: str
    lines: Iterator[str]


def check_texts(texts: Texts, column: str | None = None, errors: str = "strict") -> None:
    """Refuse what `lines_of` does not read, without reading more than the start of a file.

    Raises:
        UserError: it is not text, a file is missing, or a table and its column are not there.
    """
    files = files_of(texts)
    if files is None:
        _check_kind(texts)
        return
    may_be_text = isinstance(texts, str)
    for file in files:
        if file != STANDARD_INPUT:
            _check_is_file(file, may_be_text=may_be_text)
            with _advice_on_encoding():
                _check_column(file, column, errors)


def files_of(texts: Texts) -> list[str] | None:
    """Return the names of the files that `texts` means, `-` for standard input; None for lines."""
    if isinstance(texts, str | os.PathLike):
        return [os.fspath(texts)]
    if not isinstance(texts, list | tuple):
        return None
    is_input = len(texts) == 1 and isinstance(texts[0], str) and texts[0] == STANDARD_INPUT
    if not is_input and not any(map(_names_file, texts[:_FIRST])):
        return None
    # A line of several words that is among them shows that a line only looked like a file's name.
    if all(_names_file(item) or _is_word(item) for item in texts):
        return [os.fspath(item) for item in texts]
    for number, item in enumerate(texts[:_FIRST], start=1):
        if isinstance(item, os.PathLike) or (_is_named_as_text(item) and os.path.isfile(item)):
            raise UserError(
                f"texts: item {number} is the file {path_text(item)} and others are lines; give "
                "files or lines; if it is a line that is spelt so, iter(texts)"
            )
    return None


def describe_texts(texts: Texts) -> str:
    """Name `texts` in a message."""
    files = files_of(texts)
    if files is None:
        return "the text"
    names = ["standard input" if file == STANDARD_INPUT else path_text(file) for file in files]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def _names_file(item: Any) -> bool:
    if isinstance(item, os.PathLike):
        return True
    if not isinstance(item, str):
        return False
    return os.path.isfile(item) or (_is_word(item) and _is_named_as_text(item))


def _is_named_as_text(item: Any) -> bool:
    return isinstance(item, str) and item.lower().endswith(_TEXT_ENDINGS)


def _is_word(item: Any) -> bool:
    return isinstance(item, str) and item.split() == [item]


# --- files


def _check_is_file(file: str, *, may_be_text: bool) -> None:
    """Refuse what is not a file; may_be_text: whether the user may mean the text itself."""
    try:
        status = os.stat(file)
    except (OSError, ValueError) as error:
        raise UserError(_no_file(file, error, may_be_text=may_be_text)) from error
    if stat.S_ISDIR(status.st_mode) and any(Path(file).glob("dataset_*.json")):
        raise UserError(
            f"{file}: is a saved data set; load it in Python, datasets.load_from_disk({file!r})"
        )
    if is_tokenizer(Path(file)):
        raise UserError(
            f"{file}: is a tokenizer, not text; give a text, and initial={file!r} to prune it"
        )
    if stat.S_ISDIR(status.st_mode):
        raise UserError(
            f"{file}: is a folder; give the files in it: {file}/*.txt on the command line, a list "
            "of their paths in Python"
        )
    if not stat.S_ISREG(status.st_mode):
        raise UserError(
            f"{file}: is a pipe or device, which cannot be read twice; give it as standard input, -"
        )
    if not status.st_size and file.endswith(ENDINGS):
        raise UserError(f"{file}: has no bytes, not even compressed; fetch or copy it again")


def _no_file(file: str, error: OSError | ValueError, *, may_be_text: bool) -> str:
    is_name = _is_named_as_text(file) and "\n" not in file
    if may_be_text and not is_name and not _is_word(file):
        shown = file if len(file) <= 40 else f"{file[:40]}..."
        return (
            f"texts: {shown!r} is text, not the name of a file; give a list of lines: "
            "text.splitlines()"
        )
    reason = getattr(error, "strerror", None) or error
    message = f"{path_text(file)[:_LONGEST_NAME]}: cannot be read ({reason}); check the path"
    if is_name or not HUB_NAME.fullmatch(file):
        return message
    if may_be_text:
        return (
            f"{message}; a data set of the hub is loaded first: "
            f"datasets.load_dataset({file!r}, split='train'), with column='text'"
        )
    return (
        f"{message}; a data set of the hub is downloaded first: hf download {file} "
        "--repo-type dataset --local-dir DIR"
    )


def _check_column(file: str, column: str | None, errors: str) -> None:
    form = _table_format(file, column)
    if form is None and column is not None:
        raise UserError(
            f"{file}: is not a table (.jsonl, .csv, .tsv, .parquet); leave column= out to read "
            "its lines"
        )
    if form is None:
        return
    present = first_columns(file, form, errors)
    if column is None:
        raise column_missing(file, present)
    if present:
        require_column(file, column, present)


def _table_format(file: str, column: str | None) -> str | None:
    """Return the format of a table as its name or its first bytes say; None for lines of text."""
    with open_bytes(file) as opened:
        try:
            start = opened.read(256)
        except DAMAGE as error:
            raise damaged(file, error) from error
    if start.startswith(b"PAR1"):
        return "parquet"
    for magic, advice in _BINARY.items():
        if start.startswith(magic):
            raise UserError(f"{file}: is {advice}")
    ending = file_ending(file)
    if ending in TABLE_ENDINGS:
        return TABLE_ENDINGS[ending]
    opening = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if ending == ".json" and opening == b"[":
        raise UserError(
            f"{file}: is one list in JSON; write its items as lines: jq -c '.[]' {file} > "
            f"{Path(file).name}l"
        )
    return "jsonl" if opening == b"{" and (ending == ".json" or column is not None) else None


def _file_lines(file: str, errors: str, column: str | None, bad_text: str) -> Iterator[str]:
    if file == STANDARD_INPUT:
        return _standard_input(errors, column, bad_text)
    form = _table_format(file, column)
    if form is None or column is None:
        return _usable_lines(read_lines(file, errors), file, bad_text)
    return _column_lines(read_rows(file, form, [column], errors), column, file, bad_text)


def _standard_input(errors: str, column: str | None, bad_text: str) -> Iterator[str]:
    stream, name = sys.stdin.buffer, "standard input"  # cannot be read twice
    opener = opener_of(stream.peek(6))
    lines = decoded_lines(opener(stream) if opener else stream, name, errors)
    if column is None:
        return _usable_lines(lines, name, bad_text)
    return _column_lines(json_rows(lines, name), column, name, bad_text)


def _usable_lines(lines: Iterator[str], name: str, bad_text: str) -> Iterator[str]:
    """Yield the lines of a file, which is read so that bad ones raise where they are refused."""
    if bad_text == "refuse":
        return lines
    return (line for _, line in _usable(enumerate(lines, start=1), f"{name}, line", bad_text))


def _column_lines(
    rows: Iterable[Mapping[str, Any]], column: str, name: str, bad_text: str
) -> Iterator[str]:
    return _split(column_texts(rows, column, name), f"{name}: column {column!r}, row", bad_text)


# --- what is in memory


def _check_kind(texts: Any) -> None:
    if isinstance(texts, Mapping):
        names = ", ".join(map(str, texts))
        raise UserError(
            f"texts: is a {type(texts).__name__} of {names}; give one, such as "
            f"texts[{next(iter(texts), 'train')!r}]"
        )
    if isinstance(texts, bytes | bytearray):
        raise UserError("texts: are bytes; give a list of lines: data.decode().splitlines()")
    if not hasattr(texts, "__iter__"):
        raise UserError(
            f"texts: {texts!r:.40} is not text; give a file, a list of lines or a data set"
        )


def _lines_in_memory(texts: Any, column: str | None, bad_text: str) -> Iterator[str]:
    name, unit = "texts", "item"
    names = getattr(texts, "column_names", None)  # of a data set; None where they are not known
    if names is None:
        names = getattr(texts, "columns", None)  # of a data frame
    if names is not None:
        cells = enumerate(_frame_cells(texts, list(names), column), start=1)
        name, unit = f"texts: column {column!r}", "row"
        return _split(numbered_texts(cells, name, unit), f"{name}, {unit}", bad_text)
    items = _sliced(texts) if type(texts).__name__ == "Column" else iter(texts)
    first = list(itertools.islice(items, 1))
    items = itertools.chain(first, items)
    if first and isinstance(first[0], Mapping):
        if column is None:
            raise column_missing(name, first[0])
        return _column_lines(items, column, name, bad_text)
    if column is not None:
        raise UserError("column: texts has no columns, its items are lines; leave column= out")
    texts = numbered_texts(enumerate(items, start=1), name, unit)
    return _split(texts, f"{name}, {unit}", bad_text)


def _sliced(column: Any) -> Iterator[Any]:
    """Yield the items of a column of a data set, which are slow to get one by one."""
    starts = range(0, len(column), _BATCH)
    return (item for start in starts for item in column[start : start + _BATCH])


def _frame_cells(frame: Any, names: list[Any], column: str | None) -> Iterator[Any]:
    """Return the cells of a column of a data frame or data set."""
    if column is None:
        raise column_missing("texts", names)
    require_column("texts", column, names)
    if not hasattr(frame, "select_columns"):
        return iter(frame[column])
    # Of a data set: other columns may be costly to decode, and rows one by one are slow.
    batches = frame.select_columns([column]).iter(batch_size=_BATCH)
    return (cell for batch in batches for cell in batch[column])


def _split(texts: Iterable[tuple[int, str]], name: str, bad_text: str) -> Iterator[str]:
    """Yield the lines of numbered texts; name: of the place, for messages."""
    for _, text in _usable(texts, name, bad_text):
        for line in text.removesuffix("\n").split("\n"):
            yield line.removesuffix("\r")


def _usable(
    texts: Iterable[tuple[int, str]], name: str, bad_text: str
) -> Iterator[tuple[int, str]]:
    """Yield numbered texts; do what `bad_text` says with those that no tokenizer takes.

    Raises:
        UserError: there is one, and `bad_text` is `refuse`.
    """
    skipped = 0
    for number, text in texts:
        # Most texts are well; to encode one costs less than a search.
        if _is_well(text):
            yield number, text
        elif bad_text == "replace":
            yield number, _BAD_CHARACTER.sub("\ufffd", text)
        elif bad_text == "skip":
            skipped += 1
        else:
            raise _refusal(text, f"{name} {number}")
    if skipped:
        place, _, unit = name.rpartition(", ")
        are = f"1 {unit} is" if skipped == 1 else f"{skipped:,} {unit}s are"
        log.warning("%s: %s left out: not text", place, are)


def _is_well(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refusal(text: str, place: str) -> UserError:
    found = _BAD_CHARACTER.search(text)
    kind = "a NUL character" if found[0] == "\0" else "half a surrogate pair"
    return UserError(
        f"{place}: holds {kind} at position {found.start() + 1}; mend it, or give "
        "bad_text='replace' or bad_text='skip'"
    )
