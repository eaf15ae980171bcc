"""One table in several forms: LaTeX (booktabs), CSV with the bare numbers, Markdown, JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.analysis.examples import Segmentation
from sagevocab.state import atomic_path, write_json, write_text
from sagevocab.vocab.pieces import WORD_START

NOTHING = "–"  # a cell without a value
MINUS = "−"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    MINUS: "$-$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "·": r"$\cdot$",
    NOTHING: "--",
    WORD_START: r"\_",
}
_ENGINES = (
    "Needs \\usepackage{booktabs}; with pdfLaTeX \\usepackage[T1]{fontenc}. Other scripts than "
    "Latin need XeLaTeX or LuaLaTeX and a font that has them."
)
_LATEX_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))
# An underscore inside a word is itself in Markdown; at a word's edge it would open emphasis.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*<>|~\[\]]|(?<!\w)_|_(?!\w)")

Files = str | Path
# A row of numbers by column, and a function that prints the value of one column.
Row = Mapping[str, Any]
Show = Callable[[Row, str], str]
# A row as printed.
Cells = Sequence[Any]


def latex(cell: object) -> str:
    """Return a cell as LaTeX."""
    if isinstance(cell, Segmentation):
        return " ".join(rf"\textbf{{{latex(t)}}}" if bold else latex(t) for t, bold in cell.runs())
    return _LATEX_SPECIAL.sub(lambda match: _LATEX[match.group()], str(cell))


def markdown(cell: object) -> str:
    """Return a cell as Markdown."""
    if isinstance(cell, Segmentation):
        return " ".join(f"**{markdown(t)}**" if bold else markdown(t) for t, bold in cell.runs())
    return _MARKDOWN_SPECIAL.sub(lambda match: "\\" + match.group(), str(cell))


def write_table(
    head: Sequence[str | tuple[str, ...]],
    blocks: Iterable[Sequence[Cells]],
    data: pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    tex: Files,
    csv: Files,
    md: Files,
    json: Files | None = None,
    align: str,
    note: Sequence[str],
    opening: int = 0,
    parts: Sequence[Sequence[int]] = (),
) -> None:
    """Write a table as LaTeX, Markdown and JSON, and `data` as CSV.

    head: a name a column; one of several parts is several lines in LaTeX. blocks: the rows between
    two rules; cells are strings or `Segmentation`s. opening: the number of first cells that only
    the first row of a block shows. data: the same in long form, numbers unrounded. align: LaTeX
    formats of the columns, the last one of all that follow. note: sentences that a reader must
    know; empty ones are left out. parts: columns of each of the tables, where one is too wide for a
    page; in LaTeX they stand below one another.

    json: `head` (a string a column), `rows` and `note`; a cell is a string, or for a
    `Segmentation` a list of runs [text, in bold].
    """
    blocks = [block for block in blocks if block]
    rows = [
        [*([""] * opening if number else row[:opening]), *row[opening:]]
        for block in blocks
        for number, row in enumerate(block)
    ]
    ruled = set(accumulate(map(len, blocks)))
    formats = re.findall(r"\w(?:\{[^}]*\})?", align)
    formats += formats[-1:] * (len(head) - len(formats))
    tables = [
        _latex_table(head, rows, part, formats, ruled) for part in parts or [range(len(head))]
    ]
    text = " ".join(filter(None, note))
    write_text(tex, f"% {_ENGINES}\n% {text}\n" + "\n\\bigskip\n\n".join(tables))
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


def _latex_table(
    head: Sequence[str | tuple[str, ...]],
    rows: Sequence[Cells],
    part: Sequence[int],
    formats: Sequence[str],
    ruled: set[int],
) -> str:
    """Return some columns as LaTeX, with a rule before the rows numbered `ruled`."""
    names = [head[n] if isinstance(head[n], tuple) else (head[n],) for n in part]
    depth = max(map(len, names))
    levels = [[latex("".join(name[level : level + 1])) for name in names] for level in range(depth)]
    columns = pd.MultiIndex.from_arrays(levels) if depth > 1 else levels[0]
    frame = pd.DataFrame([[latex(row[n]) for n in part] for row in rows], columns=columns)
    text = frame.style.hide(axis="index").to_latex(
        hrules=True, column_format="".join(formats[n] for n in part), multicol_align="c"
    )
    above, middle, body = text.partition("\\midrule\n")
    lines = body.splitlines(keepends=True)  # one a row, and two that end the table
    for number in ruled - {len(rows)}:
        lines[number] = f"\\midrule\n{lines[number]}"
    return above + middle + "".join(lines)


def _flat(name: str | tuple[str, ...]) -> str:
    """Return a name of several parts as one, as in "MRPC (F1)"."""
    if isinstance(name, str):
        return name
    first, *rest = [part for part in name if part] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first
