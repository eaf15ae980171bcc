"""What can be said of a LaTeX table without LaTeX: it is whole, and no row has a cell too many."""

from __future__ import annotations

import re

TABULAR = re.compile(
    r"\\begin\{tabular\}\{((?:[^{}]|\{[^}]*\})*)\}\n(.*?)\\end\{tabular\}", re.DOTALL
)
COLUMN = re.compile(r"[lcr]|p\{[^}]*\}")
SPAN = re.compile(r"\\multicolumn\{(\d+)\}")


def widths_of(text: str) -> list[int]:
    """Return the number of columns of each table, after a look at every row of it."""
    tables = TABULAR.findall(text)
    assert text.count(r"\begin{") == text.count(r"\end{") == len(tables)
    return [_width(columns, body) for columns, body in tables]


def _width(columns: str, body: str) -> int:
    width = len(COLUMN.findall(columns))
    for row in body.splitlines():
        if row.startswith(("\\toprule", "\\midrule", "\\bottomrule")):
            continue
        assert row.endswith(r"\\"), row
        bare = re.sub(r"\\[&%$#_{}]", "", row)  # what is escaped is a character
        assert bare.count("{") == bare.count("}"), row
        assert bare.count("$") % 2 == 0, row
        assert not set(bare) & set("%#_^~▁✓✗≈≥±×−·"), row
        spanned = sum(int(count) - 1 for count in SPAN.findall(bare))
        assert bare.count("&") + 1 + spanned == width, row
    return width
