"""One table in three forms: CSV with the bare numbers, Markdown, LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis.examples import Segmentation
from reproduction.paper.formats import Files, are_numbers, rounded
from reproduction.paper.latex import Head, latex_table
from sagevocab.errors import UserError
from sagevocab.files import atomic_path, write_text

# An underscore inside a word is itself in Markdown; at a word's edge it would open emphasis.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*<>|~&\[\]]|(?<!\w)_|_(?!\w)")

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

    def write(self, *, csv: Files, md: Files, tex: Files, caption: str = "") -> None:
        """Write every form; caption: reStructuredText, which LaTeX alone shows."""
        write_csv(csv, self.data)
        write_text(md, self.markdown())
        write_text(tex, self.latex(Path(tex).stem.removeprefix("table_"), caption))

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
    def _sentences(self) -> str:
        return " ".join(filter(None, self.note))

    def markdown(self) -> str:
        """Return it as Markdown, numbers at the right, the note below."""
        rows = [row for block in self._shown for row in block]
        align = "".join("r" if are_numbers(column) else "l" for column in zip(*rows, strict=True))
        cells = ([*map(markdown, row)] for row in rows)
        lines = markdown_table([markdown(_flat(name)) for name in self.head], cells, align)
        return "\n".join([*lines, "", markdown(self._sentences), ""])

    def latex(self, label: str, caption: str) -> str:
        """Return it as LaTeX that fits a page, see `latex_table`."""
        return latex_table(
            self.head, self._shown, label=label, caption=caption, note=self._sentences
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
