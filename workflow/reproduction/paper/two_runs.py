"""What another text or another trainer changes in the claims: their verdicts and values.

The two runs are alike but for what their names say. Statements are those that the findings count.
The yardstick is another seed. Of the n seeds of a reference run, with standard deviation s, one
value and the mean of m others lie within t s √(1 + 1/m) of each other in 19 of 20 cases, with
Student's t of n - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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

_CASES = 0.95
# The runs that are compared were made before the program: `sage_released` was its loss.
_VERSIONS = {"sage": SAGE["sage"], "sage_released": SAGE["sage_released_loss"]}
_KEY = ["id", "language", "tokenizer"]


def two_runs_markdown(
    runs: Mapping[str, Path | str], reference: Path | str, values: Path | str
) -> list[str]:
    """Return lines of Markdown: verdicts and moves counted, and the statements that differ.

    runs: name -> `claims.parquet`, of which the second is of one seed. reference: of several seeds.
    values: `paper_values.yaml`.

    Raises:
        UserError: a file is missing or damaged.
    """
    first, second, seeds = (_measured(path, values) for path in (*runs.values(), reference))
    pairs = compare(first, second, seeds)
    versions = [(_VERSIONS[name], rows) for name, rows in pairs.groupby("tokenizer")]
    verdicts = [
        f"- {version}: {rows['same'].sum()} of {len(rows)} statements have the same verdict in "
        "both runs."
        for version, rows in versions
    ]
    moves = [
        f"- {version}: of {rows['move'].count()} values, {(rows['move'] > 1).sum()} move further "
        f"than by another seed in 19 of 20 cases; the median moves {rows['move'].median():.2f} of "
        "that."
        for version, rows in versions
    ]
    changed = pairs[~pairs["same"]]
    cells = changed.assign(
        id="`" + changed["id"] + "`",
        tokenizer=changed["tokenizer"].map(_VERSIONS),
        move=changed["move"].map("{:.1f}".format).where(changed["move"].notna(), NOTHING),
    )
    columns = [*_KEY, "shown_1", "shown_2", "move"]
    head = ["another verdict", "text", "", *runs, "move"]
    return [*verdicts, *moves, "", *markdown_table(head, cells[columns].values.tolist())]


def _measured(claims: Path | str, values: Path | str) -> pd.DataFrame:
    """Read what is measured, and by no clock, of the claims that the findings count.

    Columns: id, language, tokenizer, verdict, value (NaN: words), shown, seeds (values of each).
    """
    rows = [
        {
            **{name: record[name] for name in (*_KEY, "verdict")},
            "value": np.nan if isinstance(record["value"], str) else record["value"],
            "shown": f"{show_measured(record)} {SIGNS[record['verdict']]}",
            "seeds": [] if isinstance(record["value"], str) else record["seeds"],
        }
        for record in read_records(claims, values, _VERSIONS)
        if origin_of(record) == "real"
        and record["verdict"] != NOT_MEASURABLE
        and not record["timing"]
    ]
    return pd.DataFrame(rows)


def compare(first: pd.DataFrame, second: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Return a row a statement that both runs measure.

    Columns: those of both, ending in _1 and _2, same (whether both have one verdict) and move: how
    far the value moves, in units of `seed_limit`; NaN where there is no such unit.
    """
    pairs = first.merge(second, on=_KEY, suffixes=("_1", "_2"))
    pairs = pairs.merge(reference[[*_KEY, "seeds"]], on=_KEY, how="left")
    limits = [
        seed_limit(seeds if isinstance(seeds, list) else [], len(averaged) or 1)
        for seeds, averaged in zip(pairs["seeds"], pairs["seeds_1"], strict=True)
    ]
    return pairs.assign(
        same=pairs["verdict_1"] == pairs["verdict_2"],
        move=(pairs["value_2"] - pairs["value_1"]).abs() / np.array(limits, float),
    )


def seed_limit(seeds: Sequence[float], averaged: int) -> float:
    """Return how far a seed lies from the mean of some others at most, in 19 of 20 cases.

    seeds: values of seeds; NaN where these have no spread. averaged: how many others.
    """
    deviation = np.std(seeds, ddof=1) if len(seeds) > 1 else 0.0
    if not deviation:
        return np.nan
    return stats.t.isf((1 - _CASES) / 2, len(seeds) - 1) * np.sqrt(1 + 1 / averaged) * deviation
