"""What `make site` copies: pages with all that they show or link to, and a page of the API."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pages_come_with_what_they_show_and_names_of_the_library_are_there(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs/build_site.py")
    build_site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_site)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/old.md").touch()
    build_site.main(tmp_path / "site")

    files = {str(path.relative_to(tmp_path / "site")) for path in tmp_path.rglob("*.*")}
    assert {"README.md", "docs/method.md", "src/sagevocab/reference.py"} <= files
    assert "results/reference/intrinsic/figures/figure_controls.png" in files
    assert "old.md" not in files
    directives = (tmp_path / "site/API.md").read_text(encoding="utf-8")
    assert "::: sagevocab.training.train\n" in directives
