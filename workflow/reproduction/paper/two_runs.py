"""What another text or another trainer changes in the claims: their verdicts and values.

The two runs are alike but for what their names say. Statements are those that the findings count.
The yardstick is another seed. Of the n seeds of a reference run, with standard deviation s, one
value and the mean of m others lie within t s √(1 + 1/m) of each other in 19 of 20 cases, with
Student's t of n - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import SIGNS, show_measured
from reproduction.paper.control_pieces import SAGE
from reproduction.paper.formats import NOTHING
from reproduction.paper.statements import NOT_MEASURABLE
from reproduction.paper.table import markdown_table
from reproduction.paper.tally import origin_of

Record = Mapping[str, Any]
Claims = Mapping[tuple[str, str | None, str], Record]  # by id, language and tokenizer
_CASES = 0.95


def two_runs_markdown(
    runs: Mapping[str, Path | str], reference: Path | str, values: Path | str
) -> list[str]:
    """Return lines of Markdown: verdicts and moves counted, and the statements that differ.

    runs: name -> `claims.parquet`, of which the second is of one seed. reference: of several seeds.
    values: `paper_values.yaml`.

    Raises:
        UserError: a file is missing or damaged.
    """
    first, second, seeds = (_counted(path, values) for path in (*runs.values(), reference))
    pairs = compare(first, second, seeds)
    changed = pairs[~pairs["same"]].drop(columns="same")
    changed["move"] = [NOTHING if pd.isna(move) else f"{move:.1f}" for move in changed["move"]]
    table = markdown_table(["another verdict", "text", "", *runs, "move"], changed.values.tolist())
    return [*_counts(pairs), "", *table]


def _counted(claims: Path | str, values: Path | str) -> Claims:
    """Read the claims on the versions of SaGe that the findings count."""
    return {
        (record["id"], record["language"], record["tokenizer"]): record
        for record in read_records(claims, values, SAGE)
        if origin_of(record) == "real"
    }


def compare(first: Claims, second: Claims, reference: Claims) -> pd.DataFrame:
    """Return a row a statement that both runs measure, and by no clock.

    Columns: id, language, version (of SaGe), first and second as shown, same (whether both have one
    verdict) and move (see `move_of`). first, reference: of one seed or several; second: of one.
    """
    rows = [
        {
            "id": f"`{record['id']}`",
            "language": record["language"],
            "version": SAGE[record["tokenizer"]],
            "first": _show(record),
            "second": _show(second[key]),
            "same": record["verdict"] == second[key]["verdict"],
            "move": move_of(record, second[key], reference.get(key)),
        }
        for key, record in first.items()
        if key in second and _is_measured(record) and _is_measured(second[key])
    ]
    return pd.DataFrame(rows)


def _is_measured(record: Record) -> bool:
    return record["verdict"] != NOT_MEASURABLE and not record["timing"]


def _show(record: Record) -> str:
    return f"{show_measured(record)} {SIGNS[record['verdict']]}"


def move_of(first: Record, second: Record, reference: Record | None) -> float | None:
    """Return how far a value moves, in units of `seed_limit`; None where there is no such unit."""
    averaged = len(_numbers_of_seeds(first)) or 1
    limit = seed_limit(_numbers_of_seeds(reference or {}), averaged)
    return None if limit is None else abs(second["value"] - first["value"]) / limit


def _numbers_of_seeds(record: Record) -> list[float]:
    """Return what single seeds give; nothing if only one was run, or for words."""
    return [value for value in record.get("seeds", ()) if isinstance(value, int | float)]


def seed_limit(seeds: Sequence[float], averaged: int) -> float | None:
    """Return how far a seed lies from the mean of some others at most, in 19 of 20 cases.

    seeds: values of seeds; None is returned where these have no spread. averaged: how many others.
    """
    if len(seeds) < 2 or not (deviation := float(np.std(seeds, ddof=1))):
        return None
    student = float(stats.t.isf((1 - _CASES) / 2, len(seeds) - 1))
    return student * math.sqrt(1 + 1 / averaged) * deviation


def _counts(pairs: pd.DataFrame) -> list[str]:
    versions = pairs.groupby("version")
    of_verdicts = [
        f"- {version}: {rows['same'].sum()} of {len(rows)} statements have the same verdict in "
        "both runs."
        for version, rows in versions
    ]
    of_moves = [
        f"- {version}: of {len(moves)} values, {(moves > 1).sum()} move further than by another "
        f"seed in 19 of 20 cases; the median moves {moves.median():.2f} of that."
        for version, moves in ((version, rows["move"].dropna()) for version, rows in versions)
    ]
    return [*of_verdicts, *of_moves]
