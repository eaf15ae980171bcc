"""What the documents tell a user to type, to open and to believe."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest
import requests

import sagevocab
from sagevocab.evaluation.compare import MEASURES

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))
render_tables = importlib.import_module("render_tables")
PLACES = ("*.md", "*/README.md", "docs/**/*.md", ".github/**/*.md", "results/reference/**/*.md")
PAGES = sorted(path for place in PLACES for path in ROOT.glob(place))
LINK = re.compile(r'\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)|src="(?!https?:)([^"]+)"')


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def test_links_lead_to_a_file_and_a_heading() -> None:
    broken = []
    for page in PAGES:
        for path, anchor, image in LINK.findall(page.read_text(encoding="utf-8")):
            target = page.parent / (path or image or page.name)
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page}: {target}#{anchor}")
    assert broken == []


@pytest.mark.slow  # a step of a release: it needs the network
def test_addresses_are_there() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    addresses = sorted(set(re.findall(r"\]\((https?:[^)#\s]+)", text)))
    found = {url: requests.get(url, stream=True, timeout=30).status_code for url in addresses}
    assert [url for url, status in found.items() if status in (404, 410)] == []


def test_tables_are_those_of_the_reference_results() -> None:
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in render_tables.PAGES]
    found = [name for page in pages for _, name, _ in render_tables.BLOCK.findall(page)]
    assert {*found} == {*render_tables.TABLES}
    assert list(map(render_tables.render, pages)) == pages, "run make docs"


def test_the_example_of_the_method_computes() -> None:
    found = doctest.testfile(str(ROOT / "docs/method.md"), module_relative=False)
    assert found.attempted == 20 and not found.failed


def test_the_guide_explains_every_measure_of_compare() -> None:
    guide = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    assert "\n".join(f"| `{name}` | {what} |" for name, what in MEASURES.items()) in guide


def test_library_citation_and_changelog_have_one_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sagevocab.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(sagevocab.__version__)} \(", changes, re.MULTILINE)


def test_the_address_of_the_repository_is_one_setting() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [ROOT / name for name in ("README.md", "CITATION.cff", "docs/clusters.md")]
    command = re.compile(r"(?:clone|deploy-workflow|repository-code:) \"?(https://[^\s\"]+)")
    found = [command.findall(page.read_text(encoding="utf-8")) for page in pages]
    assert found == [[project["urls"]["Repository"]]] * len(pages)
