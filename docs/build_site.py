"""Copy the pages of the repository to a folder from which mkdocs builds the site (`make site`).

    python docs/build_site.py FOLDER

The folder has the layout of the repository, so that links between pages, figures and source files
lead where they do in the repository. `API.md` is made of the names that `import sagevocab` gives,
and the report of the reference results is built.
"""

from __future__ import annotations

import re
import shutil
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import sagevocab
from reproduction.artefacts.registry import artefacts_of, places
from reproduction.paper.control_pieces import kept_by, read_orders
from reproduction.paper.report import build_report
from reproduction.reference_runs import REFERENCE, reference_run
from reproduction.run_report import report_run, texts
from sagevocab.huggingface.load import convert
from sagevocab.pieces import write_pieces

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/**/*.md", "results/README.md", "results/reference/**/*.md")
NOTEBOOK = ROOT / "docs/first_steps.ipynb"
STYLE = ROOT / "docs/site.css"
INTRINSIC = REFERENCE / "intrinsic"
PRUNINGS = REFERENCE / "controls/16000"
COUNTS = "counts"
LINK = re.compile(r'(?:\]\(|src=")(?!https?:)([^)#"]+)')

# A page has a folder of its own on the site. mkdocs rewrites links, but no raw HTML or notebook.
RAW_SOURCE = re.compile(r'src="(?!https?:)')
NOTEBOOK_LINK = re.compile(r"\]\(([\w/]+)\.md")

# Model cards, claims, tables and rules would stand before the pages in what a search finds.
NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n"
TABLES = (ROOT / "results", ROOT / "docs/appendix/benchmarks")
RULES = ROOT / "docs/appendix/preregistrations"
SEARCHED_LAST = "---\nsearch: {boost: 0.2}\n---\n"

# A link of the report to a page, which has a folder of its own.
MARKDOWN_LINK = re.compile(r'href="([\w/]+)\.md"')
REPORT = "results/reference/intrinsic/report.html"
# The frame grows with the page in it, so that only one of them scrolls.
REPORT_PAGE = f"""\
---
hide: [toc]
---
# Report and playground

What `make demo` and every run end with, here of the reference results. [On a page of its
own](results/reference/intrinsic/report.html). For a language model take BPE; `counts` prunes most
of what SaGe (released) prunes.

<iframe src="../{REPORT}" title="Report" style="width: 100%; height: 60rem; border: 0"
  onload="new ResizeObserver(() => this.style.height =
    `${{this.contentDocument.documentElement.scrollHeight + 16}}px`
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
    if file.is_relative_to(RULES):
        return SEARCHED_LAST + text
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


def report(folder: Path) -> str:
    """Return the report of the reference results, as a run writes its own.

    folder: empty; the results are copied there, for links that hold in any place.
    """
    shutil.copytree(INTRINSIC, folder, dirs_exist_ok=True)
    with chdir(folder):
        run = reference_run("intrinsic")
        about = {**report_run(run), "texts": texts(run)}
    tokenizers = {
        lang: {
            name: folder / "tokenizers" / lang / name / "tokenizer.json"
            for name in run.tokenizers
            if (folder / "tokenizers" / lang / name).is_dir()
        }
        | {COUNTS: counts_tokenizer(folder / lang, lang)}
        for lang in run.languages
    }
    artefacts = {
        one.name: one
        for one in artefacts_of(run)
        if all((folder / place).is_file() for place in places(one.name).values())
    }
    build_report(
        folder / "report.html",
        title="Reference results",
        run={**about, "compared": [*run.compared, COUNTS]},
        figures={
            name: folder / places(name)["png"]
            for name, one in artefacts.items()
            if one.kind == "figure"
        },
        tables={
            name: folder / places(name)["md"]
            for name, one in artefacts.items()
            if one.kind == "table"
        },
        titles={name: one.title_in(run) for name, one in artefacts.items()},
        captions={name: one.caption for name, one in artefacts.items()},
        vocabularies=tokenizers,
        corpora={},
        paper=ROOT / "workflow/resources/paper_values.yaml",
        template=ROOT / "workflow/report/report.html.jinja",
        manifest=folder / "manifest.json",
        claims_path=folder / "frames/claims.parquet",
        findings=folder / "findings.md",
    )
    return MARKDOWN_LINK.sub(r'href="\1/"', (folder / "report.html").read_text(encoding="utf-8"))


def main(folder: Path) -> None:
    """Write the pages, what they link to, API and report into a folder, which is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    shown = [INTRINSIC / "manifest.json", *INTRINSIC.glob("figures/*"), *INTRINSIC.glob("tables/*")]
    files = pages.union([NOTEBOOK, STYLE], shown, *(linked(page) for page in pages))
    for file in sorted(files):
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in {".md", ".ipynb"}:
            copy.write_text(page_of_site(file), encoding="utf-8")
        else:
            shutil.copyfile(file, copy)
    (folder / "API.md").write_text(api_page(), encoding="utf-8")
    with TemporaryDirectory() as temporary:
        page = report(Path(temporary))
    (folder / REPORT).write_text(page, encoding="utf-8")
    (folder / "report.md").write_text(REPORT_PAGE, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
