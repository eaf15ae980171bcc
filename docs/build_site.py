"""Copy the pages of the repository to a folder from which mkdocs builds the site (`make site`).

    python docs/build_site.py FOLDER

The folder has the layout of the repository, so that links between pages, figures and source files
lead where they do in the repository. `API.md` is made of the names that `import sagevocab` gives.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import sagevocab

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "config/*.md", "profiles/*.md", "docs/**/*.md", "results/reference/**/*.md")
LINK = re.compile(r'(?:\]\(|src=")(?!https?:)([^)#"]+)')


def linked(page: Path) -> set[Path]:
    """Return the files of the repository that a page links to or shows."""
    targets = {
        (page.parent / path).resolve() for path in LINK.findall(page.read_text(encoding="utf-8"))
    }
    return {path for path in targets if path.is_file() and path.is_relative_to(ROOT)}


def api_page() -> str:
    """Return a page of directives, in which mkdocstrings puts the docstrings of the library."""
    names = sorted(name for name in sagevocab.__all__ if not name.startswith("_"))
    places = [f"{getattr(sagevocab, name).__module__}.{name}" for name in names]
    return "\n\n".join(["# API", *(f"::: {place}" for place in places)]) + "\n"


def main(folder: Path) -> None:
    """Write the pages, what they link to and the API's page into a folder, which is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    files = pages.union(*(linked(page) for page in pages))
    for file in sorted(files):
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    (folder / "API.md").write_text(api_page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
