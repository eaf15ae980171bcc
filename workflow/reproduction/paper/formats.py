"""One table in several forms: LaTeX, CSV with the bare numbers, Markdown, JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis.examples import Segmentation
from reproduction.paper.latex import Contents, Head, latex_table
from sagevocab.state import atomic_path, write_json, write_text

NOTHING = "–"  # a cell without a value
MINUS = "−"
# An underscore inside a word is itself in Markdown; at a word's edge it would open emphasis.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*<>|~\[\]]|(?<!\w)_|_(?!\w)")

Files = str | Path
# A row of numbers by column, and a function that prints the value of one column.
Row = Mapping[str, Any]
Show = Callable[[Row, str], str]
# A row as printed.
Cells = Sequence[Any]


def listed(names: Sequence[object]) -> str:
    """Return names as a list in a sentence: "a, b and c"."""
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def markdown(cell: object) -> str:
    """Return a cell as Markdown."""
    if isinstance(cell, Segmentation):
        return " ".join(f"**{markdown(t)}**" if bold else markdown(t) for t, bold in cell.runs())
    return _MARKDOWN_SPECIAL.sub(lambda match: "\\" + match.group(), str(cell))


def write_table(
    head: Sequence[Head],
    blocks: Iterable[Sequence[Cells]],
    data: pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    tex: Files,
    csv: Files,
    md: Files,
    json: Files | None = None,
    align: str,
    note: Sequence[str],
    caption: str = "",
    opening: int = 0,
    parts: Sequence[Sequence[int]] = (),
) -> None:
    """Write a table as LaTeX, Markdown and JSON, and `data` as CSV.

    head: a name a column; one of several parts is several lines in LaTeX. blocks: the rows between
    two rules; cells are strings or `Segmentation`s. opening: the number of first cells that only
    the first row of a block shows. data: the same in long form, numbers unrounded. align: LaTeX
    formats of the columns (`l`, `r`, `c`), the last one of all that follow. note: sentences that a
    reader must know; empty ones are left out. caption: that of the rule, which only LaTeX needs.
    parts: columns of each of the tables, where one is too wide for a page; in LaTeX they stand
    below one another.

    json: `head` (a string a column), `rows` and `note`; a cell is a string, or for a
    `Segmentation` a list of runs [text, in bold].
    """
    blocks = [block for block in blocks if block]
    rows = [
        [*([""] * opening if number else row[:opening]), *row[opening:]]
        for block in blocks
        for number, row in enumerate(block)
    ]
    ruled = frozenset(accumulate(map(len, blocks))) - {len(rows)}
    formats = [*align, *align[-1:] * (len(head) - len(align))]
    contents = Contents(head, rows, formats, ruled)
    text = " ".join(filter(None, note))
    label = Path(tex).stem.removeprefix("table_")
    parts = parts or [range(len(head))]
    write_text(tex, latex_table(contents, parts, label=label, caption=caption, note=text))
    flat = list(map(_flat, head))
    lines = markdown_table([*map(markdown, flat)], [[*map(markdown, row)] for row in rows])
    write_text(md, "\n".join([*lines, "", markdown(text), ""]))
    if json is not None:
        cells = [[c.runs() if isinstance(c, Segmentation) else str(c) for c in row] for row in rows]
        write_json(json, {"head": flat, "rows": cells, "note": text})
    with atomic_path(csv) as temporary:
        frame = pd.DataFrame(data)
        frame.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")


def decimal(form: str, factor: float = 1) -> Show:
    """Return a printer of a value times `factor`: `form` is a format, as in `,.2f`."""
    return lambda row, name: NOTHING if pd.isna(row[name]) else format(factor * row[name], form)


def markdown_table(
    head: Sequence[object], rows: Iterable[Sequence[object]], align: str = ""
) -> list[str]:
    """Return the lines of a Markdown table; align: `l` or `r` a column, all `l` by default."""
    marks = ["---:" if side == "r" else "---" for side in align or "l" * len(head)]
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, marks, *rows)]


def _flat(name: Head) -> str:
    """Return a name of several parts as one, as in "MRPC (F1)"."""
    if isinstance(name, str):
        return name
    first, *rest = [part for part in name if part] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first
