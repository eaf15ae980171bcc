"""The little of Markdown that the findings are written in, as LaTeX and as HTML.

Headings, paragraphs, lists, tables, images on a line of their own, and inside a text emphasis,
strong emphasis and code. There are no links: the findings stand in several folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

from reproduction.paper.latex import latex

_INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*]+)\*")
_IMAGE = re.compile(r"!\[(.*)\]\((\S+)\)")
_LATEX_FORMS = {"code": r"\texttt{%s}", "strong": r"\textbf{%s}", "em": r"\emph{%s}"}
_HTML_FORMS = {name: f"<{name}>%s</{name}>" for name in _LATEX_FORMS}
_SECTIONS = (r"\title", r"\section", r"\subsection", r"\subsubsection")
_NARROWEST, _WIDEST = 6, 24  # characters of a column, when the width of a page is shared out
_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage{iftex}
\iftutex\else\usepackage[T1]{fontenc}\fi
\usepackage[margin=22mm]{geometry}
\usepackage{array,booktabs,graphicx,longtable}
\setlength{\emergencystretch}{3em}
\date{}
"""


@dataclass(frozen=True)
class Block:
    """A part of a text between blank lines: its kind, its lines, and the level of a heading."""

    kind: str  # heading, image, list, table or paragraph
    lines: Sequence[str]
    level: int = 0


def blocks(markdown: str) -> Iterator[Block]:
    """Yield the parts of a text in Markdown."""
    for blank, group in groupby(markdown.splitlines(), lambda line: not line.strip()):
        if not blank:
            yield _block(list(group))


def _block(lines: list[str]) -> Block:
    first = lines[0]
    if first.startswith("#"):
        marks, _, title = first.partition(" ")
        return Block("heading", [title], len(marks))
    if _IMAGE.fullmatch(first):
        return Block("image", lines)
    if first.startswith("- "):
        return Block("list", [line.removeprefix("- ") for line in lines])
    return Block("table" if first.startswith("|") else "paragraph", lines)


def section(markdown: str, title: str) -> str:
    """Return what stands under a heading of the second level; empty without such a heading."""
    parts = re.split(r"^## (.+)\n", markdown, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "").strip()


def _inline(text: str, escaped: Callable[[str], str], forms: dict[str, str]) -> str:
    parts, end = [], 0
    for match in _INLINE.finditer(text):
        kind = str(match.lastgroup)
        parts += [escaped(text[end : match.start()]), forms[kind] % escaped(match[kind])]
        end = match.end()
    return "".join([*parts, escaped(text[end:])])


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


# --- HTML


def html(markdown: str) -> Markup:
    """Return paragraphs and lists as HTML.

    Raises:
        ValueError: the text has another kind of part.
    """
    return Markup("\n").join(map(_html_block, blocks(markdown)))


def _html_block(block: Block) -> Markup:
    lines = [_inline(line, lambda text: str(escape(text)), _HTML_FORMS) for line in block.lines]
    if block.kind == "list":
        return Markup("<ul>\n" + "\n".join(f"<li>{line}</li>" for line in lines) + "\n</ul>")
    if block.kind == "paragraph":
        return Markup("<p>" + "\n".join(lines) + "</p>")
    raise ValueError(f"no HTML is made of a {block.kind}")


# --- LaTeX


def latex_document(markdown: str) -> str:
    """Return a text as a document of LaTeX; its first heading is the title."""
    body = "\n\n".join(map(_latex_block, blocks(markdown)))
    return f"{_PREAMBLE}\\begin{{document}}\n{body}\n\\end{{document}}\n"


def _latex_block(block: Block) -> str:
    lines = block.lines
    if block.kind == "heading":
        shown = f"{_SECTIONS[block.level - 1]}{{{_latex_line(lines[0])}}}"
        return f"{shown}\n\\maketitle" if block.level == 1 else shown
    if block.kind == "list":
        items = [f"\\item {_latex_line(line)}" for line in lines]
        return "\n".join(["\\begin{itemize}", *items, "\\end{itemize}"])
    if block.kind == "image":
        return "\n".join(map(_latex_image, lines))
    if block.kind == "table":
        return _latex_table([_cells(row) for row in lines])
    return "\n".join(map(_latex_line, lines))


def _latex_line(text: str) -> str:
    return _inline(text, latex, _LATEX_FORMS)


def _latex_image(line: str) -> str:
    text, path = _IMAGE.fullmatch(line).groups()
    size = "width=\\linewidth,height=0.9\\textheight,keepaspectratio"
    image = f"\\includegraphics[{size}]{{{path.removesuffix('.png')}}}"
    caption = f"\\caption{{{_latex_line(text)}}}"
    return "\n".join([r"\begin{figure}", r"\centering", image, caption, r"\end{figure}"])


def _latex_table(rows: list[list[str]]) -> str:
    """Return a table as wide as the page, which may go on on the next one."""
    head, _, *body = rows
    longest = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    weights = [min(max(length, _NARROWEST), _WIDEST) for length in longest]
    columns = "".join(
        r">{\raggedright\arraybackslash}p{\dimexpr"
        f" {weight / sum(weights):.3f}"
        r"\linewidth-2\tabcolsep\relax}"
        for weight in weights
    )
    lines = [" & ".join(map(_latex_line, row)) + r" \\" for row in (head, *body)]
    return "\n".join(
        [
            r"{\footnotesize",
            rf"\begin{{longtable}}{{{columns}}}",
            *(r"\toprule", lines[0], r"\midrule", r"\endhead"),
            *lines[1:],
            *(r"\bottomrule", r"\end{longtable}", "}"),
        ]
    )
