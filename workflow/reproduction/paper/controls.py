"""The paper's main statements under SaGe and under its controls, pruned without contexts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.stats import adjust, student
from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import SIGNS, show_control, show_measured, show_value
from reproduction.paper.formats import MINUS, NOTHING, Files, number
from reproduction.paper.measures import FEWEST_SEEDS, SIGNIFICANT
from reproduction.paper.statements import REPRODUCED, read_headlines
from reproduction.paper.table import Table
from reproduction.paper.tally import RANDOM, controls_that_agree, numbers

Record = Mapping[str, Any]

_COLUMNS = (
    *("id", "language", "tokenizer", "preset", "statement", "paper"),
    *("value", "low", "high", "meets", "p_adjusted"),
    *("verdict", "uncounted"),
)


@dataclass(frozen=True)
class Row:
    """A statement with a headline in one language: its records by SaGe tokenizer."""

    headline: str
    language: str | None
    records: Mapping[str, Record]

    @property
    def any(self) -> Record:
        """One of the records: what they say of the paper and of the controls is the same."""
        return next(iter(self.records.values()))


def _has_spread(record: Record) -> bool:
    """Whether a statement is a number and measured on random prunings enough."""
    return len(numbers(record["controls"].get(RANDOM, ()))) >= FEWEST_SEEDS


def main_rows(records: Sequence[Record], headlines: Mapping[str, str]) -> list[Row]:
    """Return the statements with a headline that the run could measure."""
    members: dict[tuple[str, str | None], dict[str, Record]] = {}
    for record in records:
        if record["id"] in headlines:
            members.setdefault((record["id"], record["language"]), {})[record["tokenizer"]] = record
    return [
        Row(headlines[name], language, by_tokenizer)
        for (name, language), by_tokenizer in members.items()
        if any(record["value"] is not None for record in by_tokenizer.values())
    ]


def table_controls(
    claims: Files,
    values: Files,
    *,
    labels: Mapping[str, str],
    controls: Mapping[str, str],
    without_contexts: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Table:
    """Return the main statements: paper, controls, and each SaGe tokenizer with its verdict.

    claims: `claims.parquet`. values: `paper_values.yaml`. labels, controls, languages: SaGe
    tokenizers, controls, languages, and their titles. without_contexts: SaGe tokenizer -> the
    controls that are it without its contexts, and come before it. The CSV has all statements
    that the controls are measured by, and the main ones.

    Raises:
        UserError: `claims` is missing or damaged.
    """
    records, headlines = read_records(claims, values, labels), read_headlines(values)
    measured = [
        {name: record.get(name) for name in _COLUMNS} | _spread(record)
        for record in records
        if _has_spread(record) or record["id"] in headlines
    ]
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items())
    note = (
        "Controls of several seeds: mean, lowest to highest. Beside a control, "
        f"{SIGNS[REPRODUCED]}: its value meets the statement, of several seeds more than half. "
        "SaGe with its 95 % interval over the text or the pieces, and over seeds where it has "
        f"several, and the verdict ({signs}; docs/appendix/statistics.md)."
    )
    blocks = {sage: [*without_contexts.get(sage, ()), sage] for sage in labels}
    beside = set(itertools.chain(*blocks.values()))
    first = [name for name in controls if name not in beside]
    columns = [*first, *itertools.chain(*blocks.values())]
    titles = {**controls, **labels}
    return Table(
        ["", "text", "paper", *(titles[name] for name in columns)],
        [[_cells(row, columns, languages) for row in main_rows(records, headlines)]],
        measured,
        note=[note, *notes],
    )


def _spread(record: Record) -> dict[str, Any]:
    """Return the values of the controls as columns, of several seeds mean, lowest and highest, and
    how many meet the statement.
    """
    columns: dict[str, Any] = {}
    for name, values in record["controls"].items():
        known = numbers(values)
        if len(values) == 1:
            columns[name] = values[0]
        elif known.size:
            spread = {"mean": known.mean(), "low": known.min(), "high": known.max()}
            columns |= {f"{name}_{key}": value for key, value in spread.items()}
        columns[f"{name}_meets"] = record["agreeing"][name]
    return columns


def _cells(row: Row, columns: Iterable[str], languages: Mapping[str, str]) -> list[str]:
    return [
        row.headline,
        languages.get(row.language or "", row.language or ""),
        show_value(row.any["paper"]),
        *(_cell(row, name) for name in columns),
    ]


def _cell(row: Row, name: str) -> str:
    """Return what a control, or a SaGe tokenizer, gives of a statement."""
    if name in row.any["controls"]:
        sign = SIGNS[REPRODUCED] if name in controls_that_agree(row.any) else ""
        return f"{show_control(row.any, name)} {sign}".strip() or NOTHING
    return _sage_cell(row.records.get(name))


def _sage_cell(record: Record | None) -> str:
    if record is None or record["value"] is None:
        return NOTHING
    return f"{show_measured(record)} {SIGNS[record['verdict']]}"


# --- what SaGe has beyond its controls, seed by seed


def table_controls_paired(
    claims: Files,
    values: Files,
    *,
    labels: Mapping[str, str],
    controls: Mapping[str, str],
    compared: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
) -> Table:
    """Return each SaGe tokenizer minus controls at the main statements, paired by seed.

    claims, values, labels, controls, languages: as for `table_controls`. compared: SaGe tokenizer
    -> its controls. The csv has the intervals and p-values, adjusted by Holm over all statements
    and controls of a tokenizer.

    Raises:
        UserError: `claims` is missing or damaged.
    """
    rows = main_rows(read_records(claims, values, labels), read_headlines(values))
    found = pd.DataFrame(
        {
            "statement": row.headline,
            "language": languages.get(row.language or "", row.language or ""),
            "tokenizer": labels[sage],
            "control": controls[name],
            **paired_difference(record["seeds"], record["controls"].get(name, ())),
        }
        for row in rows
        for sage, record in row.records.items()
        for name in compared[sage]
    )
    found = found.groupby(["statement", "language"], sort=False).filter(
        lambda rows: rows["difference"].notna().any()
    )
    found["p_adjusted"] = adjust(found["p_value"], found["tokenizer"])
    place = ["statement", "language"]
    shown = found.assign(cell=found.apply(_difference_cell, axis=1)).pivot(
        index=place, columns=["tokenizer", "control"], values="cell"
    )
    columns = list(dict.fromkeys(zip(found["tokenizer"], found["control"], strict=True)))
    kept = found.drop_duplicates(place)[place].itertuples(index=False)
    note = (
        "Means over the seeds that both have (`pairs` in the csv) with 95 % intervals; a control "
        f"without seeds is beside each. *: p < {SIGNIFICANT} by the paired t test, adjusted by "
        "Holm over a tokenizer's statements and controls. The text is the same in all."
    )
    return Table(
        ["", "text", *(f"{sage} {MINUS} {control}" for sage, control in columns)],
        [[[*row, *shown.loc[tuple(row), columns].fillna(NOTHING)] for row in kept]],
        found,
        note=[note],
    )


def paired_difference(
    seeds: Sequence[float | str], control: Sequence[float | str]
) -> dict[str, float]:
    """Return the mean difference of seeds and a control's seeds, over the seeds that both have.

    Args:
        seeds: values of a tokenizer's seeds, from the first.
        control: of a control's, or its only value, which stands beside every seed.

    Returns:
        pairs, their number; difference, low and high (95 % interval), p_value. The last four are
        nan where there are too few pairs; interval and p-value where all differences are the same.
    """
    of, beside = numbers(seeds), numbers(control)
    pairs = len(of) if len(beside) == 1 else min(len(of), len(beside))
    if pairs < FEWEST_SEEDS:
        return {"pairs": pairs} | dict.fromkeys(("difference", "low", "high", "p_value"), np.nan)
    return {"pairs": pairs} | student(of[:pairs] - beside[:pairs])._asdict()


def _difference_cell(row: Mapping[str, Any]) -> str:
    if pd.isna(row["difference"]):
        return NOTHING
    shown = number(row["difference"], "+.4f")
    if not pd.isna(row["low"]):
        shown += f" [{number(row['low'], '+.4f')}, {number(row['high'], '+.4f')}]"
    return f"{shown} *" if row["p_adjusted"] < SIGNIFICANT else shown
