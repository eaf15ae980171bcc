"""What `make site` copies: pages with all that they show or link to, an API and a playground."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of pages, which held an older page."""
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs/build_site.py")
    build_site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_site)
    folder = tmp_path_factory.mktemp("site")
    (folder / "old.md").touch()
    build_site.main(folder)
    return folder


def test_pages_come_with_what_they_show_and_names_of_the_library_are_there(site: Path) -> None:
    files = {str(path.relative_to(site)) for path in site.rglob("*.*")}
    assert {"README.md", "docs/method.md", "src/sagevocab/reference.py"} <= files
    assert "results/reference/intrinsic/figures/figure_controls.png" in files
    assert "old.md" not in files
    directives = (site / "API.md").read_text(encoding="utf-8")
    assert "::: sagevocab.training.train\n" in directives


def test_every_page_of_the_navigation_is_there(site: Path) -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    named = re.findall(r"[\w./-]+\.md", json.dumps(navigation))
    assert [name for name in named if not (site / name).is_file()] == []
    documents = {str(path.relative_to(site)) for path in site.glob("docs/**/*.md")}
    assert {one for one in documents if "/benchmarks/" not in one} <= set(named)


def test_a_search_finds_pages_and_not_the_tables_behind_them(site: Path) -> None:
    pages = {
        str(page.relative_to(site)): page.read_text(encoding="utf-8") for page in site.rglob("*.md")
    }
    left_out = {
        name
        for name, text in pages.items()
        if text.startswith("---\nsearch: {exclude: true}\n---\n")
    }
    tables = {name for name in pages if name.startswith(("results/", "docs/appendix/benchmarks/"))}
    assert left_out == tables and "docs/appendix/benchmarks/word2vec.md" in left_out
