"""What is checked of a LaTeX table: by its text, and by LaTeX itself where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

SPECIFICATION = r"((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)"
TABULAR = re.compile(r"\\begin\{(tabular)\}\{" + SPECIFICATION + r"\}\n(.*?)\\end\{\1\}", re.DOTALL)
NO_COLUMN = re.compile(r"[@>]\{[^{}]*\}")
COLUMN = re.compile(r"[lcr]|p\{[^}]*\}")
SPAN = re.compile(r"\\multicolumn\{(\d+)\}\{" + SPECIFICATION + r"\}")
NO_ROW = tuple(
    f"\\{name}"
    for name in ("toprule", "midrule", "bottomrule", "cmidrule", "addlinespace", "caption", "end")
)
PACKAGES = {
    "adjustbox": r"\begin{adjustbox}",
    "amssymb": r"\checkmark",
    "array": r"\arraybackslash",
    "booktabs": r"\toprule",
    "pifont": r"\ding",
    "rotating": r"\begin{sidewaystable*}",
}


def widths_of(text: str) -> list[int]:
    """Return the number of columns of each table, after a look at every row of it."""
    begun, ended = (Counter(re.findall(rf"\\{word}{{(.+?)}}", text)) for word in ("begin", "end"))
    assert begun == ended and text.count("{") == text.count("}")
    assert text.count(r"\caption{") == text.count(r"\label{tab:") == 1
    needs = text.splitlines()[0]
    assert needs.startswith("% Needs ")
    for package, sign in PACKAGES.items():
        assert package in needs or sign not in text
    tables = TABULAR.findall(text)
    assert len(tables) == begun["tabular"]
    return [_width(columns, body) for _, columns, body in tables]


def _width(columns: str, body: str) -> int:
    width = len(COLUMN.findall(NO_COLUMN.sub("", columns)))
    for row in body.splitlines():
        if row.startswith(NO_ROW):
            continue
        assert row.endswith(r"\\"), row
        assert not row.startswith(("[", "*")), row  # of the row before
        bare = re.sub(r"\\[&%$#_{}]", "", row)  # what is escaped is a character
        assert bare.count("{") == bare.count("}"), row
        assert bare.count("$") % 2 == 0, row
        assert not set(bare) & set("%#_^▁✓✗≈≥≤±×−·"), row
        spanned = sum(int(count) - 1 for count, _ in SPAN.findall(bare))
        assert bare.count("&") + 1 + spanned == width, row
    return width


# --- with LaTeX

DOCUMENT = r"""\documentclass[%spt]{article}
\usepackage{iftex}\ifPDFTeX\usepackage[T1]{fontenc}\fi
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{adjustbox,amssymb,array,booktabs,pifont,rotating}
\setlength{\textwidth}{6.3in}\setlength{\textheight}{9.2in}\setlength{\topmargin}{-0.6in}
\setlength{\oddsidemargin}{0pt}
\begin{document}
%s
\end{document}
"""
ENGINES = ("pdflatex", "xelatex", "lualatex")
TOO_LARGE = re.compile(r"^(?:Overfull .*|.*Float too large for page.*|! .*)$", re.MULTILINE)


def faults_in_print(tables: Iterable[Path], folder: Path, *, size: int) -> list[str]:
    """Compile tables, each on pages of its own; return errors and what is larger than the page.

    size: of the letters of the document, in points. Skips the test where there is no LaTeX.
    """
    engine = next(filter(None, map(shutil.which, ENGINES)), None)
    if engine is None:
        pytest.skip(f"no LaTeX is installed: none of {', '.join(ENGINES)}")
    inputs = "\n\\clearpage\n".join(rf"\input{{{table.resolve()}}}" for table in tables)
    (folder / "document.tex").write_text(DOCUMENT % (size, inputs), encoding="utf-8")
    subprocess.run(
        [engine, "-interaction=nonstopmode", "document.tex"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    log = (folder / "document.log").read_text(encoding="utf-8", errors="replace")
    missing = re.search(r"File `(.+?)' not found", log)
    if missing:
        pytest.skip(f"{engine} has no {missing.group(1)}")
    assert (folder / "document.pdf").exists(), log[-2000:]
    return TOO_LARGE.findall(log)
