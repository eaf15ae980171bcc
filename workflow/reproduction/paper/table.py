"""One table in four forms: CSV with the bare numbers, Markdown, LaTeX, HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from reproduction.analysis.examples import Segmentation
from reproduction.paper.formats import Files, is_number, rounded
from reproduction.paper.latex import Head, latex_table
from sagevocab.errors import UserError
from sagevocab.files import atomic_path, write_text

# An underscore inside a word is itself in Markdown; at a word's edge it would open emphasis.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*<>|~\[\]]|(?<!\w)_|_(?!\w)")
_NO_BREAK = "\N{NO-BREAK SPACE}"
_INSIDE_NUMBERS = re.compile(r"(?<=\d) (?=[±%[(])|(?<=±) ")
_IN_BRACKETS = re.compile(r"[\[(][^\])]{0,16}\d[^\])]{0,16}[\])]")

# A row as printed: strings and `Segmentation`s.
Cells = Sequence[Any]


@dataclass(frozen=True)
class Table:
    """A table as shown, and the same as data.

    head: a name a column; one of several parts is several lines in LaTeX. blocks: the rows between
    two rules. data: the same in long form; a CSV has its numbers `rounded`. note: sentences that a
    reader must know; empty ones are left out. opening: the number of first cells that only the
    first row of a block shows.
    """

    head: Sequence[Head]
    blocks: Sequence[Sequence[Cells]]
    data: pd.DataFrame | Iterable[Mapping[str, Any]]
    note: Sequence[str] = ()
    opening: int = 0

    def write(self, *, csv: Files, md: Files, tex: Files, html: Files, caption: str = "") -> None:
        """Write every form; caption: reStructuredText, which LaTeX alone shows."""
        write_csv(csv, self.data)
        write_text(md, self.markdown())
        write_text(tex, self.latex(Path(tex).stem.removeprefix("table_"), caption))
        write_text(html, self.html())

    @cached_property
    def _shown(self) -> list[list[list[Any]]]:
        """The blocks that have rows, without the first cells that a block shows once."""
        return [
            [
                [*([""] * self.opening if number else row[: self.opening]), *row[self.opening :]]
                for number, row in enumerate(block)
            ]
            for block in self.blocks
            if block
        ]

    @property
    def _flat_head(self) -> list[str]:
        return list(map(_flat, self.head))

    @property
    def _sentences(self) -> str:
        return " ".join(filter(None, self.note))

    def markdown(self) -> str:
        """Return it as Markdown, the note below."""
        rows = ([*map(markdown, row)] for block in self._shown for row in block)
        lines = markdown_table([*map(markdown, self._flat_head)], rows)
        return "\n".join([*lines, "", markdown(self._sentences), ""])

    def latex(self, label: str, caption: str) -> str:
        """Return it as LaTeX that fits a page, see `latex_table`."""
        return latex_table(
            self.head, self._shown, label=label, caption=caption, note=self._sentences
        )

    def html(self) -> str:
        """Return it as a table and a paragraph of HTML.

        The first cells that rows leave out are a heading across the table, which a narrow window
        shows whole and a screen reader reads with each row. The next column heads the rows.
        """
        rows = [row for block in self._shown for row in block]
        opening = max(map(_left_out, rows), default=0)
        return _HTML.render(
            head=self._flat_head[opening:],
            groups=list(_groups(self._flat_head, rows, opening)),
            note=self._sentences,
            runs=_runs,
            is_number=is_number,
        )


def _flat(name: Head) -> str:
    """Return a name of several parts as one, as in "MRPC (F1)"."""
    if isinstance(name, str):
        return name
    first, *rest = [part for part in name if part] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first


def write_csv(path: Files, data: pd.DataFrame | Iterable[Mapping[str, Any]]) -> None:
    """Write rows as a table's CSV, floats `rounded`."""
    with atomic_path(path) as temporary:
        frame = pd.DataFrame(data).map(rounded)
        frame.to_csv(temporary, index=False, lineterminator="\n", encoding="utf-8")


def read_csv(path: Path | str) -> list[dict[str, Any]]:
    """Return the rows of a table's CSV; an empty cell is None.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


# --- Markdown


def markdown(cell: object) -> str:
    """Return a cell as Markdown."""
    if isinstance(cell, Segmentation):
        return " ".join(f"**{markdown(t)}**" if bold else markdown(t) for t, bold in cell.runs())
    return _MARKDOWN_SPECIAL.sub(lambda match: "\\" + match.group(), str(cell))


def markdown_table(
    head: Sequence[object], rows: Iterable[Sequence[object]], align: str = ""
) -> list[str]:
    """Return the lines of a Markdown table; align: `l` or `r` a column, all `l` by default."""
    marks = ["---:" if side == "r" else "---" for side in align or "l" * len(head)]
    return [f"| {' | '.join(map(str, cells))} |" for cells in (head, marks, *rows)]


# --- HTML

_HTML = jinja2.Environment(
    autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
).from_string(
    """\
{% macro shown(cell) %}
{% for text, bold in runs(cell) %}{% if bold %}<strong>{{ text }}</strong>{% else %}{{ text }}{% endif %}{{ " " if not loop.last }}{% endfor %}
{% endmacro %}
<table>
<thead><tr>{% for name in head %}{% if name %}<th scope="col">{{ name }}</th>{% else %}<td></td>{% endif %}{% endfor %}</tr></thead>
{% for heading, rows in groups %}
<tbody>
{% if heading %}
<tr class="group"><th scope="rowgroup" colspan="{{ head | length }}"><span class="opening">{% for name, value in heading %}<span class="column">{{ name }}</span> {{ shown(value) | trim }}{{ " · " if not loop.last }}{% endfor %}</span></th></tr>
{% endif %}
{% for row in rows %}
<tr>{% for cell in row %}{% if loop.first and cell %}<th scope="row">{{ shown(cell) | trim }}</th>{% else %}<td{% if is_number(cell) %} class="number"{% endif %}>{{ shown(cell) | trim }}</td>{% endif %}{% endfor %}</tr>
{% endfor %}
</tbody>
{% endfor %}
</table>
<p class="note">{{ note }}</p>
"""  # noqa: E501 (white space between tags would be seen)
)


def _groups(
    head: Sequence[str], rows: Iterable[Sequence[Any]], opening: int
) -> Iterator[tuple[list[tuple[str, Any]], list[Sequence[Any]]]]:
    """Yield the headings, as (column, value), and the rows of each group, without these columns."""
    values: list[Any] = [""] * opening
    heading: list[tuple[str, Any]] | None = None
    members: list[Sequence[Any]] = []
    for row in rows:
        start = _left_out(row)
        if start < opening or heading is None:
            if members:
                yield heading or [], members
            values[start:] = row[start:opening]
            pairs = zip(head[:opening], values, strict=True)
            heading, members = [pair for pair in pairs if pair[1]], []
        members.append(row[opening:])
    if members:
        yield heading or [], members


def _left_out(row: Sequence[Any]) -> int:
    """Return how many of the first cells of a row are empty."""
    return next((at for at, cell in enumerate(row) if cell), 0)


def _runs(cell: object) -> list[tuple[str, bool]]:
    """Return the text of a cell in runs of bold and other."""
    if isinstance(cell, Segmentation):
        return list(cell.runs())
    return [(unbroken(str(cell)), False)]


def unbroken(text: str) -> str:
    """Return text with no-break spaces inside its numbers: before ±, an interval, a per cent."""
    joined = _INSIDE_NUMBERS.sub(_NO_BREAK, text)
    return _IN_BRACKETS.sub(lambda match: match[0].replace(" ", _NO_BREAK), joined)
