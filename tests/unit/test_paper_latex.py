"""Tables as LaTeX: what is escaped, what wraps, and that all of it fits a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from latex_checks import faults_in_print
from reproduction.analysis.examples import Segmentation
from reproduction.paper.latex import latex
from reproduction.paper.table import Table

STATEMENT = "BPE-only pieces of 2 or 3 characters, the word-start mark counted as a character"
NUMBER = "−0.0012 [−0.0015, −0.0009] ✓"
NOTE = "A note of some length, with 95 % of what a reader must know of ▁pieces & such. " * 4
TOKENS = ("▁Bu", "▁tarz", "a", "▁en", "▁büyük", "▁katk", "ı", "yı", "▁ABD", "▁li")
SENTENCE = Segmentation(4 * TOKENS, frozenset({5}))
GROUPED = [("Bits per character", "final"), ("Bits per character", "difference"), "Tokens"]


def tables(folder: Path) -> dict[str, Path]:
    """Tables that would not fit a page as they are, by what is hard about them."""
    contents = {
        "wide cells": (
            ["", "text", "paper", "SaGe (printed)", "SaGe (released)"],
            [STATEMENT, "English", "more", NUMBER, NUMBER],
            3,
        ),
        "many columns": (
            ["Text", "Name", *GROUPED * 4],
            ["English", "SaGe (released)", *["12.345 ± 0.678"] * 12],
            5,
        ),
        "many rows": (["Text", "Claim", *"12345"], ["English", STATEMENT, *"✓≈✗?–"], 90),
        "both": (
            ["Text", "Claim", *GROUPED * 3],
            ["English", STATEMENT, *["12.345 ± 0.678"] * 9],
            60,
        ),
        "sentences": (["Language", "Piece", "Segmentation"], ["Turkish", "▁katk", SENTENCE], 4),
        "names": (
            ["Key", "Run", "Paper"],
            [
                "lm.pretrain.gradient_accumulation_steps.of_all_tokenizers",
                "after the last update of the run",
                "polynomial",
            ],
            4,
        ),
        "bracket first": (["a", "b"], ["[x", "*"], 3),
    }
    written = {}
    for name, (head, row, rows) in contents.items():
        made = Table(head, [[row] * rows], [], ["Legend.", NOTE])
        written[name] = folder / f"table_{name.replace(' ', '_')}.tex"
        text = made.latex(name.replace(" ", "_"), f"{name}: ``a_b``. {NOTE}")
        written[name].write_text(text, encoding="utf-8")
    return written


def test_latex_escapes_what_latex_would_read():
    assert latex("▁a_b & 50% {x} #1 $ ~ ^ \\") == (
        r"\_a\_b \& 50\% \{x\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )


def test_a_cell_that_opens_a_row_is_no_argument_of_the_break_above_it():
    rows = Table(["a", "b"], [[["[x", "*"], ["*", "y"]]], []).latex("x", "").splitlines()
    assert {r"{}[x & * \\", r"{}* & y \\"} <= set(rows)


@pytest.mark.parametrize("size", [10, 11])
def test_every_table_compiles_and_fits_a_page(tmp_path, size):
    assert faults_in_print(tables(tmp_path).values(), tmp_path, size=size) == []
