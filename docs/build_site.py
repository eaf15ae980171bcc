"""Copy the pages of the repository to a folder from which mkdocs builds the site (`make site`).

    python docs/build_site.py FOLDER

The folder has the layout of the repository, so that links between pages, figures and source files
lead where they do in the repository. `API.md` is made of the names that `import sagevocab` gives,
`playground.html` of the reference results' tokenizers.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

import sagevocab
from reproduction.config import load_run
from reproduction.paper.control_pieces import kept_by, read_orders
from reproduction.paper.report import build_playground
from sagevocab.huggingface.load import convert
from sagevocab.pieces import write_pieces

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "config/reference.yaml"
PAGES = ("*.md", "docs/**/*.md", "results/README.md", "results/reference/**/*.md")
NOTEBOOK = ROOT / "docs/first_steps.ipynb"
STYLE = ROOT / "docs/site.css"
TOKENIZERS = ROOT / "results/reference/intrinsic/tokenizers"
PRUNINGS = ROOT / "results/reference/controls/16000"
COUNTS = "counts"
LINK = re.compile(r'(?:\]\(|src=")(?!https?:)([^)#"]+)')

# A page has a folder of its own on the site. mkdocs rewrites links, but no raw HTML or notebook.
RAW_SOURCE = re.compile(r'src="(?!https?:)')
NOTEBOOK_LINK = re.compile(r"\]\(([\w/]+)\.md")

# Model cards, claims and tables of benchmarks would stand before the pages in what a search finds.
NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n"
TABLES = (ROOT / "results", ROOT / "docs/appendix/benchmarks")

# The frame grows with the page in it, so that only one of them scrolls.
PLAYGROUND = """\
---
hide: [toc]
---
# Playground

The tokenizers of the [reference results](results/reference/intrinsic/README.md) on any text, as
`AutoTokenizer` segments it. [The playground on a page of its own](playground.html).

<iframe src="../playground.html" title="Playground" style="width: 100%; height: 60rem; border: 0"
  onload="new ResizeObserver(() => this.style.height =
    `${this.contentDocument.documentElement.scrollHeight + 16}px`
  ).observe(this.contentDocument.body)"></iframe>
"""


def linked(page: Path) -> set[Path]:
    """Return the files of the repository that a page links to or shows."""
    targets = {
        (page.parent / path).resolve() for path in LINK.findall(page.read_text(encoding="utf-8"))
    }
    return {path for path in targets if path.is_file() and path.is_relative_to(ROOT)}


def page_of_site(file: Path) -> str:
    """Return a page or notebook as the site has it."""
    text = file.read_text(encoding="utf-8")
    if file == NOTEBOOK:
        return NOTEBOOK_LINK.sub(r"](../\1/", text)
    if file.stem != "README":
        text = RAW_SOURCE.sub('src="../', text)
    return NOT_SEARCHED + text if any(map(file.is_relative_to, TABLES)) else text


def api_page() -> str:
    """Return a page of directives, in which mkdocstrings puts the docstrings of the library."""
    names = sorted(name for name in sagevocab.__all__ if not name.startswith("_"))
    places = [f"{getattr(sagevocab, name).__module__}.{name}" for name in names]
    return "\n\n".join(["# API", *(f"::: {place}" for place in places)]) + "\n"


def counts_tokenizer(folder: Path, language: str) -> Path:
    """Export what the control that counts keeps; return its tokenizer.json."""
    orders = read_orders(PRUNINGS / f"{language}.parquet")
    folder.mkdir(parents=True)
    write_pieces(folder / "pieces.txt", kept_by(orders, COUNTS))
    convert(folder / "pieces.txt", folder / COUNTS)
    return folder / COUNTS / "tokenizer.json"


def playground(page: Path, folder: Path) -> None:
    """Write the page that segments text with the reference results' tokenizers, and by counts.

    folder: for tokenizers that the results do not have.
    """
    settings = yaml.safe_load(REFERENCE.read_text(encoding="utf-8"))["tokenizer_settings"]
    config = load_run({"tokenizer_settings": settings}).config
    languages = [lang for lang in config.languages if (TOKENIZERS / lang).is_dir()]
    tokenizers = {
        lang: {
            name: TOKENIZERS / lang / name / "tokenizer.json"
            for name in config.tokenizers
            if (TOKENIZERS / lang / name).is_dir()
        }
        for lang in languages
    }
    for lang in languages:
        tokenizers[lang][COUNTS] = counts_tokenizer(folder / lang, lang)
    build_playground(
        page,
        tokenizers,
        title="Playground",
        languages={lang: config.language_settings[lang].name for lang in languages},
        labels={name: stanza.label or name for name, stanza in config.tokenizer_settings.items()},
        paper=ROOT / "workflow/resources/paper_values.yaml",
        template=ROOT / "workflow/report/play.html.jinja",
    )


def main(folder: Path) -> None:
    """Write the pages, what they link to, API and playground into a folder, which is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    files = pages.union([NOTEBOOK, STYLE], *(linked(page) for page in pages))
    for file in sorted(files):
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in {".md", ".ipynb"}:
            copy.write_text(page_of_site(file), encoding="utf-8")
        else:
            shutil.copyfile(file, copy)
    (folder / "API.md").write_text(api_page(), encoding="utf-8")
    with TemporaryDirectory() as temporary:
        playground(folder / "playground.html", Path(temporary))
    (folder / "playground.md").write_text(PLAYGROUND, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
