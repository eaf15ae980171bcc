"""A browser and two pages: one made here from small vocabularies, and one that the caller names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from playground_samples import turkish
from report_samples import run, write_inputs
from reproduction.paper.report import build_report
from vocabulary_samples import english, make_folders

SITE = Path(__file__).parents[2] / "build/site"
REFERENCE = "results/reference/intrinsic/report.html"
# Named, so that selenium looks for no driver and downloads none.
DRIVER = os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")
LABELS = {
    "bpe": "BPE",
    "merges": "BPE (merges)",
    "sage": "SaGe (printed)",
    "unigram": "UnigramLM",
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, dict[str, Path]]:
    """Vocabularies by language and tokenizer."""
    lines = {"en": english()[:500], "tr": turkish(1500, seed=1)}
    made = {lang: make_folders(tmp_path_factory.mktemp(lang), lines[lang]) for lang in lines}
    return {lang: {name: named[name] for name in LABELS} for lang, named in made.items()}


def _files(folders: dict[str, Path]) -> dict[str, Path]:
    return {name: path / "tokenizer.json" for name, path in folders.items()}


@pytest.fixture(scope="session")
def sample_page(folders, tmp_path_factory) -> Path:
    """A report of a small run."""
    folder = tmp_path_factory.mktemp("report")
    files = {lang: _files(named) for lang, named in folders.items()}
    labels = {"labels": {**LABELS, "sage_released": "SaGe (released)"}}
    build_report(folder / "report.html", run=run(**labels), **write_inputs(folder, files))
    return folder / "report.html"


@pytest.fixture(scope="session")
def given_page() -> Path:
    """The page that `make test-report REPORT=...` names, or that of the reference results."""
    path = Path(os.environ.get("REPORT") or SITE / REFERENCE)
    if not os.environ.get("REPORT") and not path.is_file():
        pytest.skip("no page; run make site, or make test-report REPORT=results/RUN/report.html")
    assert path.is_file(), f"REPORT={path} is no file"
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """One browser for all tests."""
    options = ChromeOptions()
    # In a container there is no sandbox, and the page is ours.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--hide-scrollbars")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        chrome = Chrome(options, ChromeService(DRIVER))
    except (WebDriverException, OSError) as error:
        problem = str(error).splitlines()[0]
        pytest.exit(
            f"Chromium does not start ({problem}); run apt-get install chromium chromium-driver, "
            "or set CHROMEDRIVER=/path",
            returncode=1,
        )
    yield chrome
    chrome.quit()
