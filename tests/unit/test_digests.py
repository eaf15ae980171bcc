"""Digests of code: an edit counts for the rules whose scripts use what was edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction import digests
from reproduction.digests import code_of

FIGURES = """from sagevocab.top import f
def figure_one():
    \"\"\"One.\"\"\"
    return 1 + helper()

def helper():
    return 5

def figure_two():
    return 2 + figure_called()

def figure_called():
    return 7
"""
FILES = {
    "scripts/draw.py": "from sagevocab.top import f\n",
    "scripts/page.py": "from reproduction.drawn import helper\n",
    "sagevocab/__init__.py": "",
    "sagevocab/low/__init__.py": "",
    "sagevocab/low/base.py": "X = 1\n",
    "sagevocab/top.py": "def f():\n    if 1:\n        from sagevocab.low import base\n",
    "sagevocab/other.py": "",
    "reproduction/__init__.py": "",
    "reproduction/drawn.py": FIGURES,
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    """A folder with two scripts, the modules that they import, and others."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    packages = {name: tmp_path / name for name in ("sagevocab", "reproduction")}
    monkeypatch.setattr(digests, "PACKAGES", packages)
    monkeypatch.setattr(digests, "SCRIPTS", tmp_path / "scripts")
    return tmp_path


def codes() -> dict[str, str]:
    """Digests of a script, a page and two figures, as another process would answer."""
    digests._read.cache_clear()
    digests._module_files.cache_clear()
    figures = {name: code_of("draw.py", f"drawn.figure_{name}") for name in ("one", "two")}
    return {"script": code_of("draw.py"), "page": code_of("page.py"), **figures}


def changed(path: Path, old: str, new: str) -> set[str]:
    """What an edit changes the digest of."""
    before, text = codes(), path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else text + new)
    after = codes()
    return {name for name in before if before[name] != after[name]}


EVERYTHING = {"script", "page", "one", "two"}


@pytest.mark.parametrize(
    ("edited", "reruns"),
    [
        ("scripts/draw.py", {"script", "one", "two"}),
        ("sagevocab/top.py", EVERYTHING),
        ("sagevocab/low/base.py", EVERYTHING),
        ("sagevocab/low/__init__.py", EVERYTHING),
        ("sagevocab/__init__.py", EVERYTHING),
        ("reproduction/__init__.py", {"page"}),
        ("sagevocab/other.py", set()),
    ],
)
def test_code_is_the_script_and_all_that_it_or_the_figures_module_imports(
    place, edited, reruns
) -> None:
    assert changed(place / edited, "", "# a comment\n") == set()
    assert changed(place / edited, "", "EDITED = 1\n") == reruns


@pytest.mark.parametrize(
    ("old", "new", "reruns"),
    [
        ("return 1", "return 3", {"one"}),
        ("return 5", "return 6", {"one", "two", "page"}),
        ("return 2", "return 3", {"two"}),
        ("return 7", "return 8", {"two"}),  # another figure's function, which this one calls
        ("One.", "Other.", set()),
        ("def helper", "LIMIT = 1\n\n\ndef helper", {"one", "two", "page"}),
    ],
)
def test_an_edit_of_one_figures_function_redraws_that_figure_alone(place, old, new, reruns) -> None:
    assert changed(place / "reproduction/drawn.py", old, new) == reruns


def test_a_figure_that_a_page_imports_by_name_counts_for_the_page(place) -> None:
    (place / "scripts/page.py").write_text("from reproduction.drawn import figure_one\n")
    assert changed(place / "reproduction/drawn.py", "return 1", "return 3") == {"one", "page"}
