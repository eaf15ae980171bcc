"""Contexts or counts: what controls prune of what SaGe prunes (docs/appendix/statistics.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper.formats import NOTHING
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet

OWN = "its own seeds"
ENOUGH, LITTLE, MARGIN = 0.75, 0.25, 0.02  # of the rule of `what_chooses`
# Language -> tokenizer -> the pieces that it pruned.
Pruned = Mapping[str, Mapping[str, frozenset[str]]]


def read_pruned(path: str) -> frozenset[str]:
    """Read the pieces that a tokenizer pruned, from its `ablations.parquet`.

    Raises:
        UserError: the file is missing or damaged.
    """
    return frozenset(read_parquet(path, ["piece"])["piece"])


def overlaps(
    pruned: Pruned,
    readings: Mapping[str, Sequence[str]],
    controls: Mapping[str, Sequence[str]],
    drawn: Iterable[str],
) -> pd.DataFrame:
    """Return the shares of pruned pieces in common, a row for each language, reading and control.

    readings, controls: label -> the tokenizers of its seeds. drawn: labels of the controls that
    prune at random.

    Columns: language, reading, control (`OWN`: the reading's seeds with one another), mean, low and
    high over the pairs of seeds, pairs, and accounts_for: the mean as a share of the way from the
    random prunings' to that of the own seeds; NaN where there is none or no such way.
    """
    rows = [
        {"language": language, "reading": reading, "control": control, **_common(pieces, pairs)}
        for language, pieces in pruned.items()
        for reading, own in readings.items()
        for control, pairs in {
            OWN: list(itertools.combinations(own, 2)),
            **{name: list(itertools.product(own, seeds)) for name, seeds in controls.items()},
        }.items()
    ]
    frame = pd.DataFrame(rows)
    own, floor = (
        frame["mean"]
        .where(frame["control"].isin(names))
        .groupby([frame["language"], frame["reading"]])
        .transform("mean")
        for names in ([OWN], [*drawn])
    )
    way = (own - floor).where(own > floor)
    return frame.assign(accounts_for=(frame["mean"] - floor) / way)


def _common(
    pieces: Mapping[str, frozenset[str]], pairs: Sequence[tuple[str, str]]
) -> dict[str, float | int]:
    """Return mean, lowest and highest share in common over pairs of tokenizers, and the pairs."""
    shares = [
        len(pieces[one] & pieces[other]) / max(1, len(pieces[one])) for one, other in pairs
    ] or [np.nan]
    return {"mean": np.mean(shares), "low": min(shares), "high": max(shares), "pairs": len(pairs)}


def what_chooses(
    rows: Mapping[str, Mapping[str, Any]], zero: str, shuffled: str, counting: Sequence[str]
) -> str | None:
    """Return whether a reading's pieces are chosen by contexts: the rule of statistics.md.

    rows: control -> its row of `overlaps`, of one reading and language. zero, shuffled: the
    controls without vectors and on shuffled words; counting: those that count. None where the rule
    cannot be applied: a control or the overlap of two own seeds is missing.
    """
    known = {name: row for name, row in rows.items() if not pd.isna(row["mean"])}
    counted = [name for name in counting if name in known]
    if not {OWN, zero, shuffled} <= set(known) or not counted:
        return None
    if any(known[name]["mean"] >= known[OWN]["low"] for name in (zero, shuffled, *counted)):
        return "contexts do not choose"
    share = {name: row["accounts_for"] for name, row in known.items()}
    if min(share[zero], max(share[name] for name in counted)) > ENOUGH + MARGIN:
        return "mostly counts"
    if max(share[zero], share[shuffled]) < LITTLE - MARGIN:
        return "mostly contexts"
    return "both"


def table_overlap(pruned: Pruned, *, notes: Sequence[str], **compared: Any) -> Table:
    """Return what SaGe and controls prune in common; compared: arguments of `overlaps`."""
    return table_of_overlaps(overlaps(pruned, **compared), notes=notes)


def table_of_overlaps(rows: pd.DataFrame, *, notes: Sequence[str]) -> Table:
    """Return the table of `overlaps`: a row for each reading and language, a column a control."""
    names = list(dict.fromkeys(rows["control"]))
    shown = (
        rows.assign(cell=rows.apply(_cell, axis=1))
        .pivot(index=["reading", "language"], columns="control", values="cell")
        .fillna(NOTHING)
    )
    order = itertools.product(rows["reading"].unique(), rows["language"].unique())
    cells = [[*key, *shown.loc[key, names]] for key in order]
    return Table(["", "text", *names], [cells], rows, note=notes)


def _cell(row: Mapping[str, Any]) -> str:
    if not row["pairs"]:
        return NOTHING
    spread = f" ({row['low']:.1%} to {row['high']:.1%})" if row["pairs"] > 1 else ""
    return f"{row['mean']:.1%}{spread}".replace("%", " %")
