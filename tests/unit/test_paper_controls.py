"""The table of SaGe beside its controls."""

from __future__ import annotations

from pathlib import Path

import pytest

from claim_samples import VALUES
from latex_checks import widths_of
from report_samples import frame_of, record
from reproduction.paper import controls
from reproduction.paper.controls import table_controls
from reproduction.parquet import write_parquet
from table_files import markdown_rows, rows_of, text_of

STYLE = Path(controls.__file__).parents[2] / "resources" / "style.mplstyle"
LABELS = {"sage": "SaGe", "sage_released": "SaGe 1.0"}
LANGUAGES = {"en": "English", "tr": "Turkish"}
# Mean 0.3, standard deviation 0.1.
SEEDS = [0.2, 0.3, 0.4]


def beside(frequency: float, seeds: list[float] = SEEDS) -> dict:
    return {"random": seeds, "frequency": [frequency], "counts": [0.35], "zero": [0.4, 0.42]}


MET_BY = {"random": 2, "frequency": 0, "counts": 1, "zero": 1}


def of(name: str, tokenizer: str = "sage", **changes) -> dict:
    given = record(name, tokenizer, "reproduced", controls=beside(0.1), **changes)
    given["met_by"] = MET_BY
    return given


VALUE = of("sage_only_word_initial", paper=0.5, ours=0.45, low=0.4, high=0.5)
LESS = of("ratio_lower", paper="lower", ours=0.1, low=0.0, high=0.2)
LESS = {**LESS, "controls": beside(0.5)}
RECORDS = [
    VALUE,
    {**VALUE, "tokenizer": "sage_released", "ours": 0.3},
    LESS,
    {**LESS, "language": "tr", "ours": 0.7, "verdict": "undecided"},
    of("prefers_word_initial", ours=0.9),
    {**of("cost_ratio"), "controls": {}},
]


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.parquet"
    write_parquet(path, frame_of(RECORDS))
    return path


def test_the_table_sets_the_verdicts_beside_the_controls(claims: Path, outputs):
    titles = {"random": "random", "frequency": "least frequent", "zero": "blind"}
    titles |= {"counts": "counts"}
    columns = {"labels": LABELS, "languages": LANGUAGES, "controls": titles}
    table_controls(claims, VALUES, **columns, without_contexts={"sage": ["zero"]}).write(**outputs)
    head = text_of(outputs, "md").splitlines()[0].strip("| ").split(" | ")
    shared = ["text", "paper", "random", "least frequent", "counts"]
    assert head == [*shared, "blind", "SaGe", "SaGe 1.0"]
    rows = markdown_rows(outputs)
    assert rows[0] == [
        "SaGe-only pieces that start a word",
        "English",
        "0.83",
        "0.300 (0.200 to 0.400) ✓",
        "0.1",
        "0.35 ✓",
        "0.410 (0.400 to 0.420)",
        r"0.450 \[0.400, 0.500\] ✓",
        r"0.300 \[0.400, 0.500\] ✓",
    ]
    assert [row[7].split()[-1] for row in rows[1:3]] == ["✓", "?"]
    assert [row[-1] for row in rows[1:]] == ["–", "–", "–"]
    # What no control has, such as a time, is a main statement all the same.
    assert rows[3][3] == "–" and rows[3][7].endswith("✓")
    assert widths_of(text_of(outputs, "tex")) == [9]
    # What has no headline is in the CSV alone.
    assert {row["id"] for row in rows_of(outputs)} == {
        "sage_only_word_initial",
        "ratio_lower",
        "prefers_word_initial",
        "cost_ratio",
    }
