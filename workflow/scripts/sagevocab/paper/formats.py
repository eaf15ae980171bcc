"""One table in three forms: LaTeX (booktabs), CSV with the bare numbers, Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sagevocab.state import atomic_path, write_text
from sagevocab.vocab.pieces import WORD_START

NOTHING = "–"  # a cell that has nothing to say
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


@dataclass(frozen=True)
class Segmentation:
    """Tokens of a sentence or word; those at the indices `marked` are set in bold."""

    tokens: tuple[str, ...]
    marked: frozenset[int] = frozenset()

    def __str__(self) -> str:
        """Return the tokens alone."""
        return " ".join(self.tokens)


def latex(cell: object) -> str:
    """Return a cell as LaTeX."""
    if isinstance(cell, Segmentation):
        return _segmentation(cell, _escape_latex, r"\textbf{%s}")
    return _escape_latex(str(cell))


def markdown(cell: object) -> str:
    """Return a cell as Markdown."""
    if isinstance(cell, Segmentation):
        return _segmentation(cell, _escape_markdown, "**%s**")
    return _escape_markdown(str(cell))


def _segmentation(cell: Segmentation, escape, bold: str) -> str:
    """Join tokens; neighbours in bold share one pair of marks."""
    parts: list[str] = []
    run: list[str] = []
    for index, token in enumerate(cell.tokens):
        if index in cell.marked:
            run.append(escape(token))
            continue
        parts += [bold % " ".join(run)] if run else []
        parts.append(escape(token))
        run = []
    return " ".join([*parts, *([bold % " ".join(run)] if run else [])])


def _escape_latex(text: str) -> str:
    return _LATEX_SPECIAL.sub(lambda match: _LATEX[match.group()], text)


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(lambda match: "\\" + match.group(), text)


def write_table(
    shown: pd.DataFrame,
    data: pd.DataFrame,
    *,
    tex: str | Path,
    csv: str | Path,
    md: str | Path,
    align: str,
    note: str,
    blocks: Sequence[int] = (),
    parts: Sequence[Sequence[int]] = (),
) -> None:
    """Write `shown` as LaTeX and Markdown, `data` as CSV.

    shown: cells are strings or `Segmentation`s; a header of several levels is several lines in
    LaTeX. data: the same in long form, numbers unrounded. align: LaTeX column format. note: one
    line of what a reader must know. blocks: numbers of rows before which a rule is drawn. parts:
    columns of each of the tables that a page is too narrow for as one; in LaTeX they stand below
    one another.
    """
    formats = re.findall(r"\w(?:\{[^}]*\})?", align)
    tables = [
        _latex_table(shown.iloc[:, list(part)], "".join(formats[n] for n in part), blocks)
        for part in parts or [range(len(formats))]
    ]
    write_text(tex, f"% {_ENGINES}\n% {note}\n" + "\n\\bigskip\n\n".join(tables))
    write_text(md, f"{_markdown_table(shown)}\n{_escape_markdown(note)}\n")
    with atomic_path(csv) as temporary:
        data.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")


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


def _markdown_table(shown: pd.DataFrame) -> str:
    names = [_flat(parts) for parts in zip(*_header(shown), strict=True)]
    rows = [[markdown(cell) for cell in row] for row in shown.itertuples(index=False)]
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _header(shown: pd.DataFrame) -> list[list[str]]:
    columns = shown.columns
    return [list(columns.get_level_values(level)) for level in range(columns.nlevels)]


def _flat(parts: tuple[str, ...]) -> str:
    """Return a header of several levels as one, as in "MRPC (F1)"."""
    first, *rest = [part for part in parts if part] or [""]
    return markdown(f"{first} ({', '.join(rest)})" if rest else first)
