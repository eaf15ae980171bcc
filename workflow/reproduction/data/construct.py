"""Small constructed tasks, for runs without a network: rows that are places in files of packages.

A file of workflow/resources/demo names on its first line a file that a package ships, its encoding
and its SHA-256, and then has a table, with tabs. `places` has one or two texts of a row, as line of
that file and characters of the line, `5:703-810`; in the other columns they are called a and b. A
text is `a`, or words of both, `a0 b3 a5`. Tokens are the lengths of those of a.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from reproduction.data.packages import package_file
from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError


def read_places(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a constructed task: texts and label, or tokens and ner_tags (IOB2).

    Raises:
        UserError: the package is missing, or ships another file.
    """
    rows = read_lines(path)
    lines = _shipped_lines(*next(rows).split(" "))
    columns = next(rows).split("\t")
    for row in rows:
        cells = dict(zip(columns, row.split("\t"), strict=True))
        texts = [_text_at(lines, place) for place in cells.pop("places").split(" ")]
        yield {column: _value(column, cell, texts) for column, cell in cells.items()}


def _shipped_lines(name: str, encoding: str, sha256: str) -> list[str]:
    file = package_file(name)
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(
            f"{file}: is not the file that constructed tasks are made of; install the package in "
            "the version of requirements.lock"
        )
    return content.decode(encoding).split("\n")


def _text_at(lines: list[str], place: str) -> str:
    line, _, characters = place.partition(":")
    start, _, end = characters.partition("-")
    return " ".join(lines[int(line)][int(start) : int(end)].split())


def _value(column: str, cell: str, texts: list[str]) -> Any:
    """Return what a cell stands for."""
    if column == "label":
        return cell
    if column == "ner_tags":
        return cell.split(" ")
    if column == "tokens":
        letters = texts[0].replace(" ", "")
        ends = accumulate(map(int, cell.split(" ")), initial=0)
        return [letters[start:end] for start, end in pairwise(ends)]
    if cell == "a":
        return texts[0]
    words = dict(zip("ab", (text.split(" ") for text in texts), strict=False))
    return " ".join(words[word[0]][int(word[1:])] for word in cell.split(" "))
