r"""Tables as LaTeX that fit a page: columns wrap, wide tables are several, long ones go on.

Where columns must wrap is decided here, from estimated widths of the text, and not by LaTeX: so all
that a table needs are array, booktabs and longtable, which every distribution of TeX has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from reproduction.analysis.examples import Segmentation
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
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "·": r"$\cdot$",
    "–": "--",
    WORD_START: r"\_",
    "\u00a0": "~",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPED)))
# Where a long name, as of a configuration key, may be broken: after these signs inside it.
_BREAK = re.compile(r"(?<=[A-Za-z][./_=])(?=\w)")
_LONG_NAME = 12  # characters
# No line begins with a verdict's sign or a per cent sign.
_TIED = re.compile(r" (?=[✓≈✗?%](?!\w))")
_NEEDS = (
    r"Needs \usepackage{array,booktabs,longtable}; with pdfLaTeX \usepackage[T1]{fontenc}. Other "
    "scripts than Latin need XeLaTeX or LuaLaTeX and a font that has them. For a text block of "
    "6.3 inches, as of the ACL style, or wider."
)
_IS_LONG = r"Longer than a page: in a document of two columns it stands after \onecolumn."

# Widths are in em of \footnotesize, for Computer Modern; the letters of Times are narrower.
_TEXT_WIDTH = 48.5  # of 6.3 inches in a document of 11 points
_GAP = 0.75  # between two columns, twice \tabcolsep
_SPACES = r"\setlength{\tabcolsep}{3pt}\setlength{\belowcaptionskip}{4pt}"
_LETTER = 0.53
_LETTERS = {
    **dict.fromkeys("ijl.,:;'|!" + WORD_START, 0.30),
    **dict.fromkeys("Ifrt()[]-/ \u00a0", 0.40),
    **dict.fromkeys("mwMW%@", 0.88),
    **dict.fromkeys("+<>=×≥≤≈✓✗±−", 0.80),
}
_CAPITAL, _OTHER_SCRIPT, _BOLD = 0.75, 1.0, 1.15
_TEXT_COLUMN = 7.0  # a column of text is not made narrower than this for others beside it
_PAGE = 42  # lines of a page, caption and note among them

# A heading: one name, or those of the groups that it is in and its own.
Head = str | tuple[str, ...]


def latex(cell: object) -> str:
    """Return a cell as LaTeX; a long name may be broken after each of its parts."""
    if isinstance(cell, Segmentation):
        return " ".join(rf"\textbf{{{latex(t)}}}" if bold else latex(t) for t, bold in cell.runs())
    words = (_parts_of(word) for word in _tied(str(cell)).split(" "))
    return " ".join(r"\allowbreak{}".join(map(_escaped, parts)) for parts in words)


def latex_text(text: str) -> str:
    """Return the caption of a rule (reStructuredText with ``literals``) as LaTeX."""
    parts = re.split("``(.+?)``", " ".join(text.split()))
    return "".join(
        rf"\texttt{{{latex(part)}}}" if number % 2 else latex(part)
        for number, part in enumerate(parts)
    )


def _tied(text: str) -> str:
    return _TIED.sub("\u00a0", text)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _ESCAPED[match.group()], text)


def _parts_of(word: str) -> list[str]:
    return _BREAK.split(word) if len(word) > _LONG_NAME else [word]


@dataclass(frozen=True)
class Contents:
    """What a table shows.

    head: a heading a column. rows: cells, strings or `Segmentation`s. formats: `l`, `r` or `c` a
    column; numbers, which are not `l`, are never broken into lines. ruled: numbers of the rows that
    have a rule above them.
    """

    head: Sequence[Head]
    rows: Sequence[Sequence[object]]
    formats: Sequence[str]
    ruled: frozenset[int]


def latex_table(
    contents: Contents,
    parts: Sequence[Sequence[int]],
    *,
    label: str,
    caption: str,
    note: str,
) -> str:
    r"""Return a table as LaTeX, with caption, label and note.

    It floats over the columns of a page (`table*`) if it is no longer than a page, else it is a
    `longtable`. parts: the columns of each of the tables that stand below one another; one that is
    too wide for a page becomes several, which all begin with the columns of text of the first.
    """
    tables = [_Table(contents, columns) for part in parts for columns in _fitting(contents, part)]
    title = rf"\caption{{{latex_text(caption)}}}\label{{tab:{label}}}"
    below = rf"\par\smallskip\noindent\parbox{{\linewidth}}{{\raggedright {latex(note)}}}\par"
    lines = _lines(caption, _TEXT_WIDTH) + _lines(note, _TEXT_WIDTH) + sum(t.lines for t in tables)
    if lines <= _PAGE:
        floated = "\n\\par\\bigskip\n".join(table.whole() for table in tables)
        begin = rf"\begin{{table*}}\centering\footnotesize{_SPACES}"
        return "\n".join([f"% {_NEEDS}", begin, title, floated, below, r"\end{table*}", ""])
    first, *others = tables
    paged = [first.paged(title), *(table.paged() for table in others)]
    begin = rf"\begingroup\footnotesize{_SPACES}\setlength{{\LTcapwidth}}{{\linewidth}}"
    needs = [f"% {_NEEDS}", f"% {_IS_LONG}"]
    return "\n".join([*needs, begin, *paged, below, r"\endgroup", ""])


class _Table:
    """Some columns of a table."""

    def __init__(self, contents: Contents, columns: Sequence[int]) -> None:
        self._contents, self._columns = contents, columns
        self._widths = _widths(contents, columns)

    @property
    def lines(self) -> int:
        """An estimate of its lines in print, at least one for its head."""
        return 2 + sum(self._row_lines(row) for row in self._contents.rows)

    def _row_lines(self, row: Sequence[object]) -> int:
        cells = zip(self._columns, self._widths, strict=True)
        return max(_lines(row[n], width.given) for n, width in cells)

    def whole(self) -> str:
        """Return it in one."""
        lines = [r"\toprule", *self._head(), r"\midrule", *self._body(), r"\bottomrule"]
        begin = rf"\begin{{tabular}}{{{self._preamble()}}}"
        return "\n".join([begin, *lines, r"\end{tabular}"])

    def paged(self, title: str = "") -> str:
        """Return it so that it may go on on the next page, under its head."""
        head = [r"\toprule", *self._head(), r"\midrule"]
        first = [rf"{title}\\", *head, r"\endfirsthead"] if title else []
        over = rf"\midrule \multicolumn{{{len(self._columns)}}}{{r@{{}}}}{{continued overleaf}}\\"
        lines = [*first, *head, r"\endhead", over, r"\endfoot", r"\bottomrule", r"\endlastfoot"]
        begin = rf"\begin{{longtable}}{{{self._preamble()}}}"
        return "\n".join([begin, *lines, *self._body(), r"\end{longtable}"])

    def _preamble(self) -> str:
        formats = (self._contents.formats[n] for n in self._columns)
        columns = map(_column, formats, self._widths)
        return f"@{{}}{''.join(columns)}@{{}}"

    def _body(self) -> Iterator[str]:
        wraps = any(width.wraps for width in self._widths)
        for number, row in enumerate(self._contents.rows):
            if number in self._contents.ruled:
                yield r"\midrule"
            elif number and wraps:  # so that the lines of a row stand together
                yield r"\addlinespace[2pt]"
            yield _row(latex(row[n]) for n in self._columns)

    def _head(self) -> Iterator[str]:
        """Yield the rows of the head: the groups of columns, then the columns."""
        names = _levels([self._contents.head[n] for n in self._columns])
        for level in range(len(names[0]) - 1):
            cells, rules = [], []
            for start, size, title in _groups(names, level):
                cells.append(self._group(start, size, title) if title else "&" * (size - 1))
                if title and size > 1:
                    rules.append(rf"\cmidrule(lr){{{start + 1}-{start + size}}}")
            yield _row(cells)
            yield from rules
        yield _row(latex(name[-1]) for name in names)

    def _group(self, start: int, size: int, title: str) -> str:
        if size == 1:
            return latex(title)
        own = self._widths[start : start + size]
        room = sum(width.given for width in own) + _GAP * (size - 1)
        wraps = _extent(title) > room
        return rf"\multicolumn{{{size}}}{{{_column('c', _Width(room, wraps))}}}{{{latex(title)}}}"


def _row(cells: Iterable[str]) -> str:
    text = " & ".join(cells)
    # After the \\ of the row before, these two would be read as its argument.
    return rf"{{}}{text} \\" if text.startswith(("[", "*")) else rf"{text} \\"


def _column(form: str, width: _Width) -> str:
    if not width.wraps:
        return form
    side = {"l": r"\raggedright", "r": r"\raggedleft", "c": r"\centering"}[form]
    return rf">{{{side}\arraybackslash}}p{{{width.given / _TEXT_WIDTH:.3f}\linewidth}}"


def _levels(head: Sequence[Head]) -> list[tuple[str, ...]]:
    """Return the names of the columns, all of as many parts; the last part is the column's own."""
    names = [name if isinstance(name, tuple) else (name,) for name in head]
    names = [tuple(filter(None, name)) or ("",) for name in names]
    depth = max(map(len, names))
    return [("",) * (depth - len(name)) + name for name in names]


def _groups(names: Sequence[tuple[str, ...]], level: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, size and title of the groups of neighbouring columns; no title is no group."""
    start = 0
    for above, same in groupby(names, key=lambda name: name[: level + 1]):
        size = len(list(same))
        yield start, size, above[level]
        start += size


# --- widths


@dataclass(frozen=True)
class _Width:
    """Width that a column is given, and whether some of its cells need more lines for it."""

    given: float
    wraps: bool


def _widths(contents: Contents, columns: Sequence[int]) -> list[_Width]:
    """Return the widths of columns: the widest are made narrower until all fit a page together."""
    needs = _needs(contents, columns)
    room = _room(columns)
    low, high = 0.0, max(natural for _, natural in needs)
    for _ in range(30):  # halves the range in which the largest width of a column lies
        largest = (low + high) / 2
        total = sum(min(natural, max(least, largest)) for least, natural in needs)
        low, high = (low, largest) if total > room else (largest, high)
    if sum(natural for _, natural in needs) <= room:
        low = math.inf
    given = [min(natural, max(least, low)) for least, natural in needs]
    return [
        _Width(width, width < natural) for width, (_, natural) in zip(given, needs, strict=True)
    ]


def _needs(contents: Contents, columns: Sequence[int]) -> list[tuple[float, float]]:
    """Return, for each column, the width that it needs at least and that of its longest cell."""
    names = _levels([contents.head[n] for n in columns])
    needs = []
    for n, name in zip(columns, names, strict=True):
        cells = [row[n] for row in contents.rows]
        longest = max(map(_extent, cells), default=0)
        least = longest
        if contents.formats[n] == "l":
            least = min(longest, max([_TEXT_COLUMN, *map(_longest_word, cells)]))
        needs.append((max(least, _longest_word(name[-1])), max(longest, _extent(name[-1]))))
    for level in range(len(names[0]) - 1):
        for start, size, title in _groups(names, level):
            share = _longest_word(title) / size
            for number in range(start, start + size):
                least, natural = needs[number]
                needs[number] = max(least, share), max(natural, share)
    return needs


def _room(columns: Sequence[int]) -> float:
    return _TEXT_WIDTH - _GAP * (len(columns) - 1)


def _fitting(contents: Contents, columns: Sequence[int]) -> list[list[int]]:
    """Return the columns in as few sets as fit a page, of like size; each begins with the names."""
    texts = [contents.formats[n] == "l" for n in columns]
    names = texts.index(False) if False in texts else len(texts)
    keys, others = list(columns[:names]), list(columns[names:])
    for size in range(len(others), 0, -1):
        tables = math.ceil(len(others) / size)
        size = math.ceil(len(others) / tables)
        sets = [keys + others[start : start + size] for start in range(0, len(others), size)]
        if all(sum(least for least, _ in _needs(contents, own)) <= _room(own) for own in sets):
            return sets
    return [list(columns)]


def _extent(cell: object) -> float:
    width = sum(map(_letter, str(cell)))
    return _BOLD * width if isinstance(cell, Segmentation) else width


def _letter(letter: str) -> float:
    if letter in _LETTERS:
        return _LETTERS[letter]
    if ord(letter) >= 0x370:  # neither Latin nor punctuation
        return _OTHER_SCRIPT
    return _CAPITAL if letter.isupper() else _LETTER


def _words(cell: object) -> list[str]:
    """Return the parts of a cell that a line can end after."""
    return [
        part for word in _tied(str(cell)).split(" ") for part in re.split(r"(?<=\w-)(?=\w)", word)
    ]


def _longest_word(cell: object) -> float:
    parts = (part for word in _words(cell) for part in _parts_of(word))
    width = max(map(_extent, parts), default=0)
    return _BOLD * width if isinstance(cell, Segmentation) else width


def _lines(cell: object, width: float) -> int:
    """Return how many lines a cell takes that is so wide."""
    scale = _BOLD if isinstance(cell, Segmentation) else 1.0
    lines, used = 1, 0.0
    for word in _words(cell):
        length = scale * _extent(word)
        used += length if not used else length + _LETTERS[" "]
        if used > width + 1e-9 and used > length:
            lines, used = lines + 1, length
    return lines
