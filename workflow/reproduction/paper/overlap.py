"""Contexts or counts: what controls prune of what SaGe prunes (docs/appendix/statistics.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.paper.formats import NOTHING, Files
from reproduction.paper.style import (
    drawing,
    label_below,
    legend_above,
    name_panels,
)
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet

AMONG_SEEDS = "its own seeds"
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

    Columns: language, reading, control (`AMONG_SEEDS`: the reading's seeds with one another), mean,
    low and high over the pairs of seeds, pairs, and accounts_for: the mean as a share of the way
    from the random prunings' to that of the reading's seeds; NaN where there is none or no such
    way.
    """
    rows = [
        {"language": language, "reading": reading, "control": control, **_common(pieces, pairs)}
        for language, pieces in pruned.items()
        for reading, seeds in readings.items()
        for control, pairs in {
            AMONG_SEEDS: list(itertools.combinations(seeds, 2)),
            **{name: list(itertools.product(seeds, of)) for name, of in controls.items()},
        }.items()
    ]
    frame = pd.DataFrame(rows)
    highest, floor = (
        frame["mean"]
        .where(frame["control"].isin(names))
        .groupby([frame["language"], frame["reading"]])
        .transform("mean")
        for names in ([AMONG_SEEDS], [*drawn])
    )
    way = (highest - floor).where(highest > floor)
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
    cannot be applied: a control or the overlap of two seeds is missing.
    """
    known = {name: row for name, row in rows.items() if not pd.isna(row["mean"])}
    counted = [name for name in counting if name in known]
    if not {AMONG_SEEDS, zero, shuffled} <= set(known) or not counted:
        return None
    if any(known[name]["mean"] >= known[AMONG_SEEDS]["low"] for name in (zero, shuffled, *counted)):
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


# --- figure

_COLOUR = "#00508C"
_LANGUAGE_MARKS = ({"marker": "o"}, {"marker": "D", "markerfacecolor": "white"}, {"marker": "s"})
_ROW = 0.2  # inches of a control
_LANE = 0.2  # of a row: how far the marks of two languages stand apart, so that none covers another


def figure_overlap(
    rows: Sequence[Mapping[str, Any]], *, controls: Mapping[str, Sequence[str]], **files: Files
) -> None:
    """Draw the shares of pruned pieces in common: a panel a reading, a row a control.

    rows: of the csv of `table_overlap`. controls: label of a reading -> those of the controls that
    it is compared with. files: pdf, png and style.
    """
    languages = list(dict.fromkeys(row["language"] for row in rows))
    marks = dict(zip(languages, itertools.cycle(_LANGUAGE_MARKS), strict=False))
    lanes = {name: _LANE * (n - (len(marks) - 1) / 2) for n, name in enumerate(marks)}
    named = {reading: [AMONG_SEEDS, *names] for reading, names in controls.items()}
    heights = [0.6 + _ROW * len(names) for names in named.values()]
    with drawing(heights, **files) as (figure, grid):
        for axes, (reading, names) in zip(grid[:, 0], named.items(), strict=True):
            found = [row for row in rows if row["reading"] == reading and row["mean"] is not None]
            means = {name: _mean_over_languages(found, name) for name in names}
            shown = sorted(filter(means.get, names), key=means.get, reverse=True)
            for row in found:
                if row["control"] in shown:
                    place = shown.index(row["control"]) + lanes[row["language"]]
                    _draw_share(axes, row, place, marks[row["language"]])
            axes.set_yticks(range(len(shown)), [_short(name, reading) for name in shown])
            axes.set_ylim(len(shown) - 0.5, -0.5)
            axes.set_xlim(0, 100)
            axes.grid(visible=True, axis="x")
            axes.tick_params(axis="y", length=0)
        name_panels(grid[:, 0], named)
        label_below(figure, "Pieces pruned in common (%)")
        legend_above(
            figure,
            [Line2D([], [], label=k, **_mark(look)) for k, look in marks.items()],
        )


def _mean_over_languages(rows: Sequence[Mapping[str, Any]], control: str) -> float | None:
    shares = [row["mean"] for row in rows if row["control"] == control]
    return sum(shares) / len(shares) if shares else None


def _draw_share(axes: Axes, row: Mapping[str, Any], place: float, look: Mapping[str, Any]) -> None:
    ends = [100 * row["low"], 100 * row["high"]]
    axes.plot(ends, [place, place], color=_COLOUR, linewidth=1)
    axes.plot(100 * row["mean"], place, **_mark(look))


def _mark(look: Mapping[str, Any]) -> dict[str, Any]:
    return {"color": _COLOUR, "markersize": 4.5, "linestyle": "none", **look}


def _short(control: str, reading: str) -> str:
    """Return the label of a control without the reading that its panel names."""
    return "another seed" if control == AMONG_SEEDS else control.removeprefix(reading).strip(" ,")
