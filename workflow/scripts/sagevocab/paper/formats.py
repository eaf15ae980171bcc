"""One table in several forms: LaTeX (booktabs), CSV with the bare numbers, Markdown, JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    shown: pd.DataFrame,
    data: pd.DataFrame,
    *,
    tex: Files,
    csv: Files,
    md: Files,
    json: Files | None = None,
    align: str,
    note: str,
    blocks: Sequence[int] = (),
    parts: Sequence[Sequence[int]] = (),
) -> None:
    """Write `shown` as LaTeX, Markdown and JSON, `data` as CSV.

    shown: cells are strings or `Segmentation`s; a header of several levels is several lines in
    LaTeX. data: the same in long form, numbers unrounded. align: LaTeX column format. note: one
    line of what a reader must know. blocks: numbers of rows before which a rule is drawn. parts:
    columns of each of the tables, where one is too wide for a page; in LaTeX they stand below one
    another.

    json: `head` (a string a column), `rows` and `note`; a cell is a string, or for a
    `Segmentation` a list of runs [text, in bold].
    """
    formats = re.findall(r"\w(?:\{[^}]*\})?", align)
    tables = [
        _latex_table(shown.iloc[:, list(part)], "".join(formats[n] for n in part), blocks)
        for part in parts or [range(len(formats))]
    ]
    head = list(map(_flat, zip(*_header(shown), strict=True)))
    rows = list(shown.itertuples(index=False, name=None))
    write_text(tex, f"% {_ENGINES}\n% {note}\n" + "\n\\bigskip\n\n".join(tables))
    lines = markdown_table([*map(markdown, head)], [[*map(markdown, row)] for row in rows])
    write_text(md, "\n".join([*lines, "", markdown(note), ""]))
    if json is not None:
        cells = [[c.runs() if isinstance(c, Segmentation) else str(c) for c in row] for row in rows]
        write_json(json, {"head": head, "rows": cells, "note": note})
    with atomic_path(csv) as temporary:
        data.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")


def decimal(form: str, factor: float = 1) -> Show:
    """Return a printer of a value times `factor`: `form` is a format, as in `,.2f`."""
    return lambda row, name: NOTHING if pd.isna(row[name]) else format(factor * row[name], form)


def markdown_table(
    head: Sequence[object], rows: Iterable[Sequence[object]], align: str = ""
) -> list[str]:
    """Return the lines of a Markdown table; align: `l` or `r` a column, all `l` by default."""
    marks = ["---:" if side == "r" else "---" for side in align or "l" * len(head)]
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, marks, *rows)]


def in_blocks(
    rows: Iterable[tuple[Hashable, Sequence[object]]], opening: int
) -> tuple[list[list[object]], list[int]]:
    """Leave the first `opening` cells of all rows but the first of a block empty.

    rows: the key of the row's block, and its cells.
    Returns the rows, and the numbers of those that begin a block, the first left out.
    """
    shown: list[list[object]] = []
    blocks, last = [], None
    for key, cells in rows:
        new = not shown or key != last
        blocks += [len(shown)] if new and shown else []
        shown.append([*(cells[:opening] if new else [""] * opening), *cells[opening:]])
        last = key
    return shown, blocks


def _latex_table(shown: pd.DataFrame, align: str, blocks: Sequence[int]) -> str:
    frame = shown.map(latex)
    levels = [list(map(latex, level)) for level in _header(shown)]
    frame.columns = pd.MultiIndex.from_arrays(levels) if len(levels) > 1 else levels[0]
    text = frame.style.hide(axis="index").to_latex(
        hrules=True, column_format=align, multicol_align="c"
    )
    return _with_rules(text, set(blocks))


def _with_rules(text: str, blocks: set[int]) -> str:
    """Add a rule before the body rows numbered `blocks`; each row is one line."""
    head, middle, body = text.partition("\\midrule\n")
    rows = body.splitlines(keepends=True)
    ruled = [f"\\midrule\n{row}" if index in blocks else row for index, row in enumerate(rows)]
    return head + middle + "".join(ruled)


def _header(shown: pd.DataFrame) -> list[list[str]]:
    columns = shown.columns
    return [list(columns.get_level_values(level)) for level in range(columns.nlevels)]


def _flat(parts: tuple[str, ...]) -> str:
    """Return a header of several levels as one, as in "MRPC (F1)"."""
    first, *rest = [part for part in parts if part] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first
