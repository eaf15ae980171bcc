"""What LaTeX says of tables, where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

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
