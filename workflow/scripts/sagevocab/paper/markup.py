"""Read the two small markups that the page is made from: pipe tables and captions.

Tables are Markdown as `sagevocab.paper.formats` writes it (one header row, bold, backslash
escapes, a note below). Captions are the reStructuredText beside the rules (paragraphs, literals,
emphasis); Snakemake's placeholders have no place in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from sagevocab.errors import UserError

_CELL_BORDER = re.compile(r"(?<!\\)\|")
_BOLD = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BACKTICKS = re.compile(r"`([^`]+)`")
_LITERAL = re.compile(r"``(.+?)``")
_EMPHASIS = re.compile(r"(?<!\*)\*{1,2}([^*]+?)\*{1,2}(?!\*)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True)
class Table:
    """A table's cells as HTML, and the paragraphs below it."""

    head: list[Markup]
    rows: list[list[Markup]]
    notes: list[Markup]


@dataclass(frozen=True)
class Caption:
    """A caption as HTML, and its first sentence without markup."""

    html: Markup
    summary: str


def read_table(path: Path | str) -> Table:
    """Read a Markdown file with one pipe table and paragraphs below it.

    Raises:
        UserError: the file can't be read, or holds no table.
    """
    lines = _read(path).splitlines()
    rows = [list(_cells(line)) for line in lines if line.startswith("|")]
    if len(rows) < 2:
        raise UserError(f"{path}: holds no table; delete it and run again")
    notes = [inline(line) for line in lines if line.strip() and not line.startswith("|")]
    return Table(rows[0], rows[2:], notes)


def _cells(line: str) -> Iterator[Markup]:
    for cell in _CELL_BORDER.split(line.strip())[1:-1]:
        yield inline(cell.strip())


def inline(text: str) -> Markup:
    """Return a line of Markdown as HTML: bold, and characters that a backslash stands before."""
    html = _BOLD.sub(r"<strong>\1</strong>", str(escape(text)))
    return Markup(_ESCAPED.sub(r"\1", html))


def literals(text: str) -> Markup:
    """Return a claim's statement as HTML: what stands between backticks is a literal."""
    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))


def read_caption(path: Path | str) -> Caption:
    """Read a caption.

    Raises:
        UserError: the file can't be read, or holds no text.
    """
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", _read(path))]
    paragraphs = [block for block in blocks if block and not block.startswith("..")]
    if not paragraphs:
        raise UserError(f"{path}: holds no caption; write what the artefact shows")
    html = Markup("\n").join(Markup(f"<p>{_rst(block)}</p>") for block in paragraphs)
    plain = _EMPHASIS.sub(r"\1", _LITERAL.sub(r"\1", paragraphs[0]))
    return Caption(html, _SENTENCE_END.split(plain)[0])


def _rst(text: str) -> str:
    parts = _LITERAL.split(str(escape(text)))
    return "".join(
        f"<code>{part}</code>" if index % 2 else _EMPHASIS.sub(r"<em>\1</em>", part)
        for index, part in enumerate(parts)
    )


def _read(path: Path | str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); make it again") from error
