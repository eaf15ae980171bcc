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
from reproduction.artefacts.registry import declared
from sagevocab.comparison import MEASURES

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))
render_tables = importlib.import_module("render_tables")
PAGES = sorted(
    path
    for pages in (
        "*.md",
        "*/README.md",
        "docs/**/*.md",
        ".github/**/*.md",
        "results/reference/**/*.md",
    )
    for path in ROOT.glob(pages)
)
LINK = re.compile(r'\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)|src="(?!https?:)([^"]+)"')

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@each_page
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for path, anchor, image in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / (path or image or page.name)
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


@each_page
def test_no_row_of_a_table_stands_without_its_header(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").split("\n")
    starts = [i for i, line in enumerate(lines) if line.startswith("|") and not lines[i - 1]]
    assert [lines[i] for i in starts if not re.fullmatch(r"[| :-]+", lines[i + 1])] == []


@pytest.mark.slow  # a step of a release: it needs the network
def test_addresses_are_there() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    addresses = sorted(set(re.findall(r"\]\((https?:[^)#\s]+)", text)))
    found = {url: requests.get(url, stream=True, timeout=30).status_code for url in addresses}
    assert [url for url, status in found.items() if status in (404, 410)] == []


@pytest.mark.parametrize("name", render_tables.PAGES)
def test_tables_are_those_of_the_reference_results(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    found = render_tables.BLOCK.findall(page)
    assert len(found) == page.count("<!-- table: ")
    assert render_tables.render(page) == page, "run make docs"


def test_every_table_has_a_place() -> None:
    pages = "".join((ROOT / name).read_text(encoding="utf-8") for name in render_tables.PAGES)
    named = re.findall(r"<!-- table: (\w+) -->", pages)
    assert sorted(named) == sorted(render_tables.TABLES)


def test_the_example_of_the_method_computes() -> None:
    found = doctest.testfile(str(ROOT / "docs/method.md"), module_relative=False)
    assert found.attempted == 20 and not found.failed


@each_page
def test_no_command_lets_configfile_swallow_its_target(page: Path) -> None:
    # The flag takes several files: what follows them must be an option, `--` or nothing.
    pattern = r"^ *snakemake .*--configfile(?: \S+\.yaml)+(.*)"
    commands = re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [rest for rest in commands if rest.strip() and not rest.strip().startswith("-")] == []


def test_the_readme_links_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [
        path.name for path in ROOT.glob("docs/*.md") if f"(docs/{path.name})" not in readme
    ] == []


def test_the_guide_explains_every_measure_of_compare() -> None:
    guide = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    assert "\n".join(f"| `{name}` | {what} |" for name, what in MEASURES.items()) in guide


def test_every_target_on_the_pages_is_a_rule() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("workflow/rules/*.smk"))
    rules = set(re.findall(r"(?:rule|as) (\w+)(?::| with:)", text))
    page = (ROOT / "docs/reproduce.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:figure|table)_[a-z_]+)`", page)
    assert len(named) > 20
    for name in set(named) - rules:
        declared(name)  # raises for a name that is no figure or table


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
