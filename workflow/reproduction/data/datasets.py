"""Tables and labelled rows: read from any format and brought to one form.

Sequence tasks become `text`, `text_pair` (where there is one) and `label` (class number, or float
for a regression); token tasks become `tokens` and `tags` in IOB2, whatever their scheme was.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.data.conllu import read_conllu
from reproduction.data.construct import read_places
from reproduction.data.files import Form
from reproduction.parquet import write_parquet
from sagevocab.corpus.text import column_texts, read_lines, require_column, table_rows
from sagevocab.errors import UserError

log = logging.getLogger(__name__)

# --- reading


def read_rows(path: str | Path, format: str) -> pd.DataFrame:
    """Read the rows of a table: parquet, jsonl, csv, tsv or conll; all but parquet compressed, too.

    CoNLL: one token a line, blank lines between sentences; the first column becomes `tokens`, the
    last `ner_tags`, both lists.

    Raises:
        UserError: unreadable or empty.
    """
    frame = pd.DataFrame(_records(path, format))
    if frame.empty:
        raise UserError(f"{path}: holds no rows; check the file and `format` ({format})")
    return frame


def read_column(path: str | Path, form: Form) -> Iterator[str]:
    """Yield the texts of one column, one row at a time; of a text file, its lines;
    of a treebank, its sentences.

    Raises:
        UserError: unreadable, no such column, or a value that is not text.
    """
    if form.format == "text":
        yield from read_lines(path)
        return
    if form.format == "conllu":
        yield from (sentence.text for sentence in read_conllu(path))
        return
    if not form.column:
        raise UserError(f"{path}: {form.column_key} is not set; a {form.format} source needs it")
    rows = _records(path, form.format, [form.column], form.column_key)
    yield from column_texts(rows, form.column, path, key=form.column_key)


def _records(
    path: str | Path, format: str, columns: Sequence[str] | None = None, key: str = "column"
) -> Iterator[Mapping[str, Any]]:
    """Rows of a table; of a parquet file with `columns`, only what these hold."""
    if format == "conll":
        return _conll_records(path)
    if format == "places":
        return read_places(path)
    # In a tsv, as in GLUE's, quotation marks are text.
    return table_rows(path, format, columns, quotes=format != "tsv", key=key)


def _conll_records(path: str | Path) -> Iterator[dict[str, list[str]]]:
    """Tokens and last-column tags of each sentence; document marks and comments left out.

    A lone # begins a comment between sentences and is a token within one.
    """
    tokens: list[str] = []
    tags: list[str] = []
    for number, line in enumerate(chain(read_lines(path), [""]), start=1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            if tokens:
                yield {"tokens": tokens, "ner_tags": tags}
            tokens, tags = [], []
        elif fields[0] == "-DOCSTART-" or (fields[0] == "#" and not tokens and len(fields) != 2):
            continue
        elif len(fields) < 2:
            raise UserError(
                f"{path}:{number}: has one column, CoNLL needs a token and a tag; check `format`"
            )
        else:
            tokens.append(fields[0])
            tags.append(fields[-1].strip())


# --- tasks


def prepare_task(
    sources: Sequence[str | Path],
    output: str | Path,
    form: Form,
    *,
    kind: str,
    columns: dict[str, str],
    labels: Sequence[Any] | None,
    part: RowPart | None = None,
) -> None:
    """Read one split of a task and write its rows (.parquet) as `normalise_task` makes them.

    sources: files of one form; their rows follow one another. part: which of the rows to take; all
    if None.

    Raises:
        UserError: a file or a row is unusable, or the catalogue describes another set; names it.
    """
    names = ", ".join(map(str, sources))
    key = f"{form.key.partition('.source')[0]}.columns"
    how = {"kind": kind, "columns": columns, "labels": labels, "key": key}
    parts = [normalise_task(read_rows(file, form.format), source=file, **how) for file in sources]
    rows = pd.concat(parts, ignore_index=True)
    _check_is_the_set(rows, form, names)
    if part is not None:
        chosen = part.positions(len(rows))
        if not len(chosen):
            raise UserError(
                f"{names}: of its {len(rows)} rows the share {part.share[0]:g} to "
                f"{part.share[1]:g} holds none; set another validation_share"
            )
        log.info("%s: %d of %d rows taken", names, len(chosen), len(rows))
        rows = rows.iloc[chosen].reset_index(drop=True)
    log.info("%s: %d rows", names, len(rows))
    write_parquet(output, rows)


def _check_is_the_set(rows: pd.DataFrame, form: Form, names: str) -> None:
    """Refuse a set that was changed: with other labels or scores than the catalogue says.

    rows: as `normalise_task` made them. Tags are compared without their prefixes.
    """
    if form.scores is not None:
        low, high = form.scores
        for number, score in enumerate(rows["label"], start=1):
            if not low <= score <= high:
                raise UserError(
                    f"{names}, row {number}: the score {score:g} is not from {low:g} to {high:g}, "
                    "as the catalogue says; fetch the set again, or correct "
                    "workflow/resources/datasets.yaml"
                )
    if "tags" in rows:
        found = {tag.partition("-")[2] for tags in rows["tags"] for tag in tags} - {""}
    else:
        found = {*rows["label"]}
    if form.labels is not None and found != {*form.labels}:
        raise UserError(
            f"{names}: its labels are {_listed(found)}, the catalogue says "
            f"{_listed(form.labels)}: the set was changed; fetch it again, or correct "
            "workflow/resources/datasets.yaml"
        )


def _listed(labels: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, labels)))


@contextmanager
def task_errors(task: str) -> Iterator[None]:
    """Add to a user's error how to run without this task."""
    try:
        yield
    except UserError as error:
        raise UserError(
            f"{error}; or take {task} out of `tasks` to run without it (the results of "
            "other tasks are kept)"
        ) from error


@dataclass(frozen=True)
class RowPart:
    """A seeded part of a split's rows, in the order of the file.

    share: [from, to] of a seeded shuffle; parts with adjacent shares never overlap.
    most: number of rows at most, a seeded sample of that share; None for all.
    """

    share: tuple[float, float] = (0.0, 1.0)
    most: int | None = None
    seed: int = 1

    def positions(self, count: int) -> np.ndarray:
        """Return which of `count` rows are taken: int64[taken], ascending."""
        order = np.random.default_rng(self.seed).permutation(count)
        start, end = (round(count * edge) for edge in self.share)
        # The first of a shuffle are a sample of it, and a larger cap keeps those of a smaller.
        return np.sort(order[start:end][: self.most])


def normalise_task(
    frame: pd.DataFrame,
    *,
    kind: str,
    columns: dict[str, str],
    labels: Sequence[Any] | None,
    source: str | Path,
    key: str = "columns",
) -> pd.DataFrame:
    """Bring a task's rows to the form all later stages read.

    kind: `sequence` or `tokens`.
    columns: our names (text, text_pair, label; tokens, tags) -> the source's.
    labels: classes in order; for `sequence`, None makes a regression; for `tokens`, the names of
        class numbers, or None if tags are names already.
    key: configuration key of the columns, for messages.

    Raises:
        UserError: a column that is missing, a label that is unknown, an unlabelled split.
    """
    for ours, theirs in columns.items():
        require_column(source, theirs, list(frame.columns), f"{key}.{ours}")
    parts = {ours: frame[theirs].tolist() for ours, theirs in columns.items()}
    if kind == "tokens":
        return _token_rows(parts, labels, source, columns)
    for name in ("text", "text_pair"):
        if name in parts:
            _check_rows(parts[name], f"{source}: column {columns[name]!r}", _not_text)
    where = f"{source}: column {columns['label']!r}"
    parts["label"] = _labels(parts["label"], labels, where)
    order = [name for name in ("text", "text_pair", "label") if name in parts]
    return pd.DataFrame({name: parts[name] for name in order})


def _check_rows(rows: list[Any], where: str, problem_of: Callable[[Any], str | None]) -> None:
    for number, row in enumerate(rows, start=1):
        if problem := problem_of(row):
            raise UserError(f"{where}, row {number}: {problem}; mend the file or check `columns`")


def _not_text(value: Any) -> str | None:
    return None if isinstance(value, str) else f"{value!r} is not text"


def _not_a_list(row: Any) -> str | None:
    if isinstance(row, str):
        return "is text, not a list with an entry for each word"
    if not isinstance(row, Sequence | np.ndarray):
        return f"{row!r} is not a list"
    if any(entry is None or entry != entry for entry in row):
        return "an entry of the list is missing"
    return None


# --- labels

_OTHER_SPLIT = "or choose another split: test sets often have no labels"


def _labels(values: list[Any], classes: Sequence[Any] | None, where: str) -> list[int | float]:
    """Class numbers of labels; without classes, the values of a regression."""
    number_of = _number if classes is None else _numbers_of(classes)
    labels = [number_of(value) for value in values]
    if None in labels:
        row = labels.index(None)
        problem = f"{where}, row {row + 1}: {values[row]!r} "
        if classes is None:
            problem += "is not a finite number; mend the row, list the `labels`"
        else:
            known = ", ".join(map(str, classes))
            problem += f"is not a label (`labels` has {known}); mend the row, add it to `labels`"
        raise UserError(f"{problem}, {_OTHER_SPLIT}")
    if classes is None and set(labels) == {-1}:
        raise UserError(f"{where}: all scores are -1; label the rows, {_OTHER_SPLIT}")
    return labels


def _numbers_of(classes: Sequence[Any]) -> Callable[[Any], int | None]:
    """Return what gives the number of a class, by its name.

    A number does, too, unless the names are numbers themselves.
    """
    names = {_key(name): number for number, name in enumerate(classes)}
    if any(_number(name) is None for name in classes):
        names = {str(number): number for number in range(len(classes))} | names
    return lambda value: names.get(_key(value))


def _number(value: Any) -> float | None:
    """Return a finite number that came as number or text; None if it is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _key(value: Any) -> str:
    """Return a value as text, whole numbers in one form: 1, 1.0, "1"."""
    number = _number(value)
    return str(value) if number is None or not number.is_integer() else str(int(number))


# --- tags


def _token_rows(
    parts: dict[str, list], names: Sequence[str] | None, source: str | Path, columns: dict[str, str]
) -> pd.DataFrame:
    where = f"{source}: column {columns['tags']!r}"
    for name in ("tokens", "tags"):
        _check_rows(parts[name], f"{source}: column {columns[name]!r}", _not_a_list)
    tokens, tags = [], []
    for number, (row, row_tags) in enumerate(zip(parts["tokens"], parts["tags"], strict=True), 1):
        place = f"{where}, row {number}"
        named = [_tag_name(tag, names, place) for tag in row_tags]
        if len(row) != len(named):
            raise UserError(f"{place}: {len(named)} tags for {len(row)} tokens; mend the file")
        if len(row):
            tokens.append([str(token) for token in row])
            tags.append(named)
    return pd.DataFrame({"tokens": tokens, "tags": tags_to_iob2(tags, where)})


def _tag_name(tag: Any, names: Sequence[str] | None, where: str) -> str:
    """Return the name of a tag that is given by name or class number.

    A prefix that no scheme has is refused: as the name of a class it would be scored wrongly.
    """
    name = _key(tag)
    if names is None and (not name or _number(name) is not None):
        raise UserError(
            f"{where}: the tag {name!r} is not a name; name the classes in order in `labels`, "
            f"{_OTHER_SPLIT}"
        )
    if names is not None and name not in names:
        if not (name.isdecimal() and int(name) < len(names)):
            raise UserError(
                f"{where}: unknown tag {name!r} (`labels` has {', '.join(names)}, numbered from "
                f"0); mend the row, name all classes in `labels`, {_OTHER_SPLIT}"
            )
        name = names[int(name)]
    if len(name) > 1 and name[1] == "-" and not _has_prefix(name):
        known = ", ".join(sorted(_STARTING | _INSIDE))
        raise UserError(
            f"{where}: tag {name!r} is not a prefix and class of a known scheme (prefixes: "
            f"{known}); mend the file"
        )
    return name


_STARTING = frozenset("BSU")
_INSIDE = frozenset("IEL")
_CLOSING = frozenset("SUEL")


def tags_to_iob2(sentences: Sequence[Sequence[str]], where: str = "tags") -> list[list[str]]:
    """Turn tags of any usual scheme into IOB2: B- opens every span, I- continues it.

    IOB1, IOB2, IOE, BIOES and BILOU are read by one rule; tags without prefixes (PER, LOC, O) have
    a span for each run of equal tags. The scheme is that of all sentences together.

    Raises:
        UserError: some tags have prefixes and some have none, or all are prefixes without a class.
    """
    named = {tag for sentence in sentences for tag in sentence if tag != "O"}
    if named and named <= {"B", "I"}:
        raise UserError(f"{where}: tag {min(named)!r} names no class; write {min(named)}-NAME")
    prefixed = {tag for tag in named if _has_prefix(tag)}
    if prefixed and prefixed != named:
        raise UserError(
            f"{where}: tags with a prefix ({min(prefixed)}) and without one "
            f"({min(named - prefixed)}) are mixed; mend the file"
        )
    if not prefixed:
        sentences = [[tag if tag == "O" else f"I-{tag}" for tag in tags] for tags in sentences]
    return [_to_iob2(tags) for tags in sentences]


def _has_prefix(tag: str) -> bool:
    return len(tag) > 2 and tag[1] == "-" and tag[0] in _STARTING | _INSIDE


def _to_iob2(tags: Sequence[str]) -> list[str]:
    converted, open_class = [], None
    for tag in tags:
        prefix, _, name = tag.partition("-")
        if tag == "O":
            converted.append(tag)
            open_class = None
            continue
        continues = prefix in _INSIDE and open_class == name
        converted.append(f"{'I' if continues else 'B'}-{name}")
        open_class = None if prefix in _CLOSING else name
    return converted
