"""Tables as LaTeX: what is escaped, where columns wrap, and that all of it fits a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from latex_checks import faults_in_print, widths_of
from reproduction.analysis.examples import Segmentation
from reproduction.paper.formats import write_table
from reproduction.paper.latex import latex, latex_text

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
            ["", "text", "paper", "SaGe", "SaGe 1.0"],
            [STATEMENT, "English", "more", NUMBER, NUMBER],
            3,
            "l",
        ),
        "many columns": (
            ["Text", "Name", *GROUPED * 4],
            ["English", "SaGe 1.0", *["12.345 ± 0.678"] * 12],
            5,
            "llr",
        ),
        "many rows": (["Text", "Claim", *"12345"], ["English", STATEMENT, *"✓≈✗?–"], 90, "llc"),
        "both": (
            ["Text", "Claim", *GROUPED * 3],
            ["English", STATEMENT, *["12.345 ± 0.678"] * 9],
            60,
            "llr",
        ),
        "sentences": (
            ["Language", "Piece", "Segmentation"],
            ["Turkish", "▁katk", SENTENCE],
            4,
            "l",
        ),
        "names": (
            ["Key", "Run", "Paper"],
            [
                "lm.pretrain.gradient_accumulation_steps.of_all_tokenizers",
                "after the last update of the run",
                "polynomial",
            ],
            4,
            "llr",
        ),
        "bracket first": (["a", "b"], ["[x", "*"], 3, "lr"),
    }
    written = {}
    for name, (head, row, rows, align) in contents.items():
        stem = folder / f"table_{name.replace(' ', '_')}"
        files = {form: stem.with_suffix(f".{form}") for form in ("tex", "csv", "md")}
        options = {"align": align, "note": ["Legend.", NOTE], "caption": f"{name}: ``a_b``. {NOTE}"}
        write_table(head, [[row] * rows], [], **options, **files)
        written[name] = files["tex"]
    return written


def test_latex_escapes_what_latex_would_read():
    assert latex("▁a_b & 50% {x} #1 $ ~ ^ \\") == (
        r"\_a\_b \& 50\% \{x\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )


def test_a_long_name_may_break_and_a_sign_stands_with_its_number():
    assert latex("lm.pretrain_x y.z 0.123456789012") == (
        r"lm.\allowbreak{}pretrain\_\allowbreak{}x y.z 0.123456789012"
    )
    assert latex("95 % [1, 2] ✓ or ≈ 3") == r"95~\% [1, 2]~$\surd$ or~$\approx$ 3"


def test_a_caption_has_its_literals_and_no_line_breaks():
    assert latex_text("The preset\n``algorithm_1``, 5 %.") == (
        r"The preset \texttt{algorithm\_1}, 5~\%."
    )


def test_every_table_is_whole(tmp_path):
    widths = {
        name: widths_of(path.read_text(encoding="utf-8")) for name, path in tables(tmp_path).items()
    }
    assert widths == {
        "wide cells": [5],
        "many columns": [6, 6, 6],
        "many rows": [7],
        "both": [5, 5, 5],
        "sentences": [3],
        "names": [3],
        "bracket first": [2],
    }


def test_a_table_longer_than_a_page_goes_on_under_its_head(tmp_path):
    texts = {name: path.read_text(encoding="utf-8") for name, path in tables(tmp_path).items()}
    assert [name for name, text in texts.items() if "{longtable}" in text] == ["many rows", "both"]
    assert all(r"\onecolumn" in texts[name].splitlines()[1] for name in ("many rows", "both"))
    head = r"Text & Claim & 1 & 2 & 3 & 4 & 5 \\"
    assert texts["many rows"].count(head) == 2
    assert texts["both"].count(r"\endhead") == 3
    assert all(r"\raggedright Legend. A note of some" in text for text in texts.values())


def test_a_column_wraps_only_where_the_page_is_too_narrow(tmp_path):
    texts = {name: path.read_text(encoding="utf-8") for name, path in tables(tmp_path).items()}
    assert r"{@{}lr@{}}" in texts["bracket first"]
    assert texts["wide cells"].count("p{0.") == 3  # what is short stays on one line
    assert "ll>" in texts["sentences"]
    assert "raggedleft" not in texts["many columns"]


@pytest.mark.parametrize("size", [10, 11])
def test_every_table_compiles_and_fits_a_page(tmp_path, size):
    assert faults_in_print(tables(tmp_path).values(), tmp_path, size=size) == []
