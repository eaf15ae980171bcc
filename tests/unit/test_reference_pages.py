"""The pages of the reference results come out of the committed claims and tables again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claim_samples import TEMPLATE, VALUES
from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import claims_markdown
from reproduction.paper.findings import build_findings
from reproduction.reference_runs import REFERENCE, ROOT, committed_run, reference_run
from reproduction.run_report import report_run, texts

FOLDER = REFERENCE / "intrinsic"
CLAIMS = FOLDER / "frames/claims.parquet"


COMMAND = re.compile(r"--configfile ((?:[\w./]+\.yaml[\\#\s]+)+)--")
# The run of readings is of a commit that its page names.
PAGES = [
    page
    for page in (
        *ROOT.glob("config/*.yaml"),
        *ROOT.glob("results/**/*.yaml"),
        *ROOT.glob("results/**/*.md"),
        *ROOT.glob("docs/*.md"),
    )
    if page.parent.name != "readings" and COMMAND.search(page.read_text(encoding="utf-8"))
]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_claims_are_written_again() -> None:
    page = claims_markdown(read_records(CLAIMS, VALUES), TEMPLATE)
    assert page == text_of(FOLDER / "claims.md")


def test_findings_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = reference_run("intrinsic")
    build_findings(
        tmp_path / "findings.md",
        template=TEMPLATE.with_name("findings.md.jinja"),
        claims=CLAIMS,
        tables={path.stem: path for path in FOLDER.glob("tables/*.csv")},
        values=VALUES,
        run={**report_run(run), "languages": run.languages},
        texts=texts(run),
        figures=[path.stem for path in FOLDER.glob("figures/*.png")],
    )
    assert text_of(tmp_path / "findings.md") == text_of(FOLDER / "findings.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_configurations_that_a_page_names_load(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for files in COMMAND.findall(text_of(page)):
        committed = [name for name in files.split() if (ROOT / name).is_file()]
        if committed:
            assert committed_run(committed).tokenizers
