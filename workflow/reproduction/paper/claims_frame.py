"""Claims as a tidy frame: a row for each vocabulary that a statement is measured on.

`claims.parquet` has it. Controls and single seeds have rows as SaGe and BPE have. A row of all
seeds of a reading together, or of BPE, has a verdict too. Its columns:

- statement (id), language, corpus, text (its title), tokenizer, preset;
- role: reading (of SaGe), baseline (BPE) or control; control: its family, one name for all seeds;
- seed: 1, 2, ... within a reading or a family; missing in rows of all seeds together;
- value, or words where the measurement is no number; low, high: 95 % interval; interval: what is
  resampled; test, p_value, p_adjusted (Holm), family: of the test between tokenizers;
- meets: whether the value alone lies in the target;
- verdict, reason (why there is none); beyond: the paper does not say it of the language;
  constructed: the examples are; run_seed: the seed of the run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.paper.formats import rounded
from reproduction.paper.inputs import BASELINE
from reproduction.paper.statements import Statement, read_claims
from reproduction.parquet import read_parquet

READING, BASELINE_ROLE, CONTROL = "reading", "baseline", "control"

_TEXT, _NUMBER, _COUNT, _FLAG = "string", "Float64", "Int64", "boolean"
COLUMNS = {
    **dict.fromkeys(("statement", "language", "corpus", "text", "tokenizer", "preset"), _TEXT),
    **dict.fromkeys(("role", "control"), _TEXT),
    "seed": _COUNT,
    "value": _NUMBER,
    "words": _TEXT,
    **dict.fromkeys(("low", "high"), _NUMBER),
    **dict.fromkeys(("interval", "test"), _TEXT),
    **dict.fromkeys(("p_value", "p_adjusted"), _NUMBER),
    "family": _TEXT,
    "meets": _FLAG,
    **dict.fromkeys(("verdict", "reason"), _TEXT),
    **dict.fromkeys(("beyond", "constructed"), _FLAG),
    "run_seed": _COUNT,
}
# Columns of a row that its record in `claims.json` repeats.
_OF_ROW = (
    *("corpus", "text", "language", "tokenizer", "preset", "low", "high", "interval", "test"),
    *("p_value", "p_adjusted", "family", "meets", "verdict", "reason"),
    *("beyond", "constructed"),
)

Record = dict[str, Any]


def claims_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as the frame, numbers to ten significant digits; what a row lacks is missing."""
    frame = pd.DataFrame(
        [{name: rounded(value) for name, value in row.items()} for row in rows],
        columns=list(COLUMNS),
    )
    return frame.astype(object).where(frame.notna(), None).astype(COLUMNS)


def value_or_words(value: float | str | None) -> Record:
    """Return the columns of what was measured, a number or words."""
    is_text = isinstance(value, str)
    number = None if value is None or is_text else float(value)
    return {"value": number, "words": value if is_text else None}


def read_claims_frame(path: Path | str) -> pd.DataFrame:
    """Return the frame of `claims.parquet`.

    Raises:
        UserError: the file is missing or damaged.
    """
    return read_parquet(path, list(COLUMNS)).astype(COLUMNS)


def records_of(frame: pd.DataFrame, statements: Sequence[Statement]) -> list[Record]:
    """Return the records of `claims.json`: every verdict, with its statement and its numbers.

    A record has the columns of its row and

    - id, where, statement, paper, uncounted, as in `paper_values.yaml`; timing: a clock gives the
      number, so it differs between equal runs; seed: the run's;
    - seeds: values of the tokenizer's seeds, where it has several; controls: control -> value of
      each seed; agreeing: control -> how many seeds give what the statement says.
    """
    known = {statement.id: statement for statement in statements}
    rows = _rows(frame[frame["verdict"].notna()])
    alone = _single_vocabularies(frame)
    return [_record(row, known[row["statement"]], alone) for row in rows]


def _single_vocabularies(frame: pd.DataFrame) -> dict[tuple, list[Record]]:
    """Return the rows of single seeds by their place, and those of controls, by the control."""
    alone = frame[frame["seed"].notna()].sort_values("control", kind="stable")
    found: dict[tuple, list[Record]] = {}
    for row in _rows(alone):
        place = (*_place(row)[:2], CONTROL) if row["role"] == CONTROL else _place(row)
        found.setdefault(place, []).append(row)
    return found


def read_records(
    claims: Path | str, values: Path | str, tokenizers: Collection[str] | None = None
) -> list[Record]:
    """Return the records of some tokenizers, by default of all.

    claims: `claims.parquet`. values: `paper_values.yaml`.

    Raises:
        UserError: a file is missing or damaged.
    """
    records = records_of(read_claims_frame(claims), read_claims(values)["claims"])
    return [one for one in records if tokenizers is None or one["tokenizer"] in tokenizers]


def _rows(frame: pd.DataFrame) -> list[Record]:
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _place(row: Mapping[str, Any]) -> tuple[str, str | None, str]:
    return row["statement"], row["language"], row["tokenizer"]


def _measured(row: Mapping[str, Any]) -> float | str | None:
    return row["value"] if row["words"] is None else row["words"]


def _record(row: Record, statement: Statement, alone: Mapping[tuple, Sequence[Record]]) -> Record:
    is_baseline = row["tokenizer"] == BASELINE  # controls are for SaGe
    controls = [] if is_baseline else alone.get((*_place(row)[:2], CONTROL), [])
    names = list(dict.fromkeys(one["control"] for one in controls))
    of_control = {name: [one for one in controls if one["control"] == name] for name in names}
    return {
        **{key: row[key] for key in _OF_ROW},
        "id": statement.id,
        "where": statement.where,
        "statement": statement.statement,
        "paper": statement.paper,
        "uncounted": statement.uncounted,
        "timing": statement.is_timing,
        "value": _measured(row),
        "seed": row["run_seed"],
        "seeds": list(map(_measured, alone.get(_place(row), []))),
        "controls": {name: list(map(_measured, rows)) for name, rows in of_control.items()},
        "agreeing": {name: sum(one["meets"] for one in rows) for name, rows in of_control.items()},
    }
