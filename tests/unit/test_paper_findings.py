"""The findings: no number is typed, what a run lacks is left out, and verdicts choose sentences.

test_reference_pages.py holds all that they say of the reference results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from claim_samples import PAPER, TEMPLATE, VALUES
from reproduction.paper.claims_frame import read_records
from reproduction.paper.findings import (
    SUMMARY,
    Evidence,
    render,
    section,
    without_gaps,
)
from reproduction.paper.table import read_csv
from reproduction.reference_runs import REFERENCE, reference_run
from reproduction.run_report import report_run

TEMPLATE = TEMPLATE.with_name("findings.md.jinja")
FOLDER = REFERENCE / "intrinsic"


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """What the reference run found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("texts"))
        run = report_run(reference_run("intrinsic"))
    return Evidence(
        read_records(FOLDER / "frames/claims.parquet", VALUES),
        {path.stem: read_csv(path) for path in FOLDER.glob("tables/*.csv")},
        PAPER,
        {**run, "languages": ["en", "tr"]},
    )


def shown(evidence: Evidence) -> str:
    return render(TEMPLATE, evidence, texts=[], figures=[])


def with_all(evidence: Evidence, **changes: Any) -> Evidence:
    """Return the evidence with some values in every record."""
    return replace(evidence, records=[{**record, **changes} for record in evidence.records])


def counted(evidence: Evidence) -> list[dict[str, Any]]:
    """The records on the paper's reading of SaGe that say what the paper says."""
    marks = ("uncounted", "beyond")
    of_sage = [record for record in evidence.records if record["tokenizer"] == "sage"]
    return [record for record in of_sage if not any(record[mark] for mark in marks)]


def test_every_claim_that_the_findings_look_up_is_there(evidence, monkeypatch):
    """A name that is spelled wrong would leave its sentence out for ever."""
    named = set()
    claim = Evidence.claim

    def spy(self, name, *arguments):
        named.add(name)
        return claim(self, name, *arguments)

    monkeypatch.setattr(Evidence, "claim", spy)
    shown(evidence)
    assert named
    assert named <= {claim.id for claim in PAPER["claims"]}


# --- what a run has, and what it lacks


def test_claims_that_are_not_measured_are_counted_and_have_no_number(evidence):
    nothing = dict.fromkeys(("value", "low", "high", "meets"))
    nothing |= {"verdict": "not measurable here", "controls": {}, "agreeing": {}}
    text = shown(with_all(evidence, **nothing))
    count = len({record["id"] for record in counted(evidence)})
    assert f"Not measurable here are {count} statements" in text
    assert "reproduces" not in section(text, SUMMARY)


def test_a_run_of_one_language_one_reading_and_no_tables_is_reported(evidence):
    of_sage = [
        one for one in evidence.records if (one["language"], one["tokenizer"]) == ("en", "sage")
    ]
    run = {**evidence.run, "languages": ["en"]}
    text = shown(Evidence(of_sage, {}, PAPER, run))
    assert "## What is reproduced" in text
    assert "Turkish" not in text and "which of them" not in text and "![" not in text
    assert "## What was done" in shown(Evidence([], {}, PAPER, run))


def test_what_is_left_empty_goes():
    text = (
        "# T\n\n## A\n\n### B\n\n| a |\n| --- |\n| \0 |\n\n## C\n\nOne.\nTwo \0.\n\n\n## D\n\n\0\n"
    )
    assert without_gaps(text) == "# T\n\n## C\n\nOne.\n"


def test_a_users_bars_and_stars_break_no_table(evidence):
    labels = {**evidence.run["labels"], "sage": "Sa|Ge *"}
    text = shown(replace(evidence, run={**evidence.run, "labels": labels}))
    assert "| Sa Ge   |" in text
