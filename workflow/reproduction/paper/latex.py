r"""Tables as LaTeX that fit a page.

LaTeX itself does the fitting: `adjustbox` makes a table smaller that is too wide or too high, and
one far too wide stands on its side, so that a row can always be read across. Text of many words
wraps. A table longer than a page is several, each under its head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import jinja2

from reproduction.analysis.examples import Segmentation
from reproduction.paper.formats import are_numbers
from sagevocab.pieces import WORD_START

_ESCAPED = {
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
    "−": "$-$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≈": r"$\approx$",
    "✓": r"\checkmark{}",
    "✗": r"\ding{55}",
    "·": r"$\cdot$",
    "–": "--",
    WORD_START: r"\_",
    "\u00a0": "~",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPED)))
# No line begins with a verdict's sign or a per cent sign.
_TIED = re.compile(r" (?=[✓≈✗?%](?!\w))")
# Where a long name, as of a configuration key, may be broken: after these signs inside it.
_BREAK = re.compile(r"(?<=[A-Za-z]{3}[./_=])(?=\w{3})")
_WRAPS, _WRAPPED = 40, 24  # characters of a cell from which on a column wraps, and its width in em
_UPRIGHT = 130  # characters of a row, more of which stand on their side
_PAGE = 45  # rows of a page

# A heading: the names of the groups that a column is in, if any, and of the column.
Head = str | tuple[str, ...]
Block = Sequence[Sequence[object]]

_TABLE = jinja2.Environment(
    block_start_string="<%", block_end_string="%>", variable_start_string="<<",
    variable_end_string=">>", trim_blocks=True, undefined=jinja2.StrictUndefined,
).from_string(
    r"""% Needs \usepackage{adjustbox,amssymb,array,booktabs,pifont,rotating}; with pdfLaTeX
% \usepackage[T1]{fontenc}. Other scripts than Latin need XeLaTeX or LuaLaTeX and a font for them.
<% for blocks in pages %>
\begin{<<float>>}\centering\footnotesize\setlength{\tabcolsep}{3pt}
<% if loop.first %>
\caption{<<caption>>}\label{tab:<<label>>}
<% else %>
\addtocounter{table}{-1}\caption[]{(continued)}
<% endif %>
\begin{adjustbox}{max width=\linewidth, max totalheight=0.75\textheight}
\begin{tabular}{@{}<<columns>>@{}}
\toprule
<% for line in head %>
<<line>>
<% endfor %>
<% for rows in blocks %>
\midrule
<% for row in rows %>
<<row>>
<% endfor %>
<% endfor %>
\bottomrule
\end{tabular}
\end{adjustbox}
<% if loop.last %>
\par\smallskip\noindent\parbox{\linewidth}{\raggedright <<note>>}
<% endif %>
\end{<<float>>}
<% endfor %>
"""
)  # fmt: skip


def latex(cell: object) -> str:
    """Return a cell as LaTeX."""
    if isinstance(cell, Segmentation):
        return " ".join(rf"\textbf{{{latex(t)}}}" if bold else latex(t) for t, bold in cell.runs())
    tied = _TIED.sub("\u00a0", str(cell))
    return r"\allowbreak{}".join(
        _SPECIAL.sub(lambda match: _ESCAPED[match.group()], part) for part in _BREAK.split(tied)
    )


def latex_text(text: str) -> str:
    """Return the caption of a rule (reStructuredText with ``literals``) as LaTeX."""
    parts = re.split("``(.+?)``", " ".join(text.split()))
    return "".join(
        rf"\texttt{{{latex(part)}}}" if number % 2 else latex(part)
        for number, part in enumerate(parts)
    )


def latex_table(
    head: Sequence[Head], blocks: Sequence[Block], *, label: str, caption: str, note: str
) -> str:
    """Return a table as LaTeX, with caption, label and note; blocks: the rows between two rules."""
    names = _levels(head)
    columns = list(zip(*(row for block in blocks for row in block), strict=True))
    across = sum(2 + min(_WRAPS, max(len(str(cell)) for cell in cells)) for cells in columns)
    return _TABLE.render(
        float="sidewaystable*" if across > _UPRIGHT else "table*",
        caption=latex_text(caption),
        label=label,
        columns="".join(map(_column, columns)) or "l" * len(head),
        head=[*_group_lines(names), _row([latex(name[-1]) for name in names])],
        pages=[
            [[_row([latex(cell) for cell in row]) for row in block] for block in page]
            for page in _pages(blocks)
        ],
        note=latex(note),
    )


def _column(cells: Sequence[object]) -> str:
    """Return the format of a column: numbers at the right, text of many words wrapped."""
    if max(len(str(cell)) for cell in cells) > _WRAPS:
        return rf">{{\raggedright\arraybackslash}}p{{{_WRAPPED}em}}"
    return "r" if are_numbers(cells) else "l"


def _pages(blocks: Sequence[Block]) -> list[list[Block]]:
    """Return the blocks page by page; one longer than a page is cut."""
    pages: list[list[Block]] = [[]]
    for block in blocks:
        for start in range(0, len(block), _PAGE):
            part = block[start : start + _PAGE]
            if pages[-1] and sum(map(len, pages[-1])) + len(part) > _PAGE:
                pages.append([])
            pages[-1].append(part)
    return pages


def _group_lines(names: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of the head above the names of the columns: the groups, and rules below."""
    for level in range(len(names[0]) - 1):
        cells, rules, start = [], [], 1
        for above, same in groupby(names, key=lambda name: name[: level + 1]):
            size, title = len(list(same)), latex(above[level])
            if title:
                cells.append(rf"\multicolumn{{{size}}}{{c}}{{{title}}}")
                rules.append(rf"\cmidrule(lr){{{start}-{start + size - 1}}}")
            else:
                cells += [""] * size
            start += size
        yield _row(cells)
        yield " ".join(rules)


def _levels(head: Sequence[Head]) -> list[tuple[str, ...]]:
    """Return the names of the columns, all of as many parts; the last is that of the column."""
    names = [name if isinstance(name, tuple) else (name,) for name in head]
    names = [tuple(filter(None, name)) or ("",) for name in names]
    depth = max(map(len, names))
    return [("",) * (depth - len(name)) + name for name in names]


def _row(cells: Sequence[str]) -> str:
    text = " & ".join(cells)
    # After the \\ of the row before, these two would be read as its argument.
    return rf"{{}}{text} \\" if text.startswith(("[", "*")) else rf"{text} \\"
