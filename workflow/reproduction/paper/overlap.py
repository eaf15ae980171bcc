"""Contexts or counts: what controls prune of what SaGe prunes (docs/appendix/statistics.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy import stats

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
_SEEDS_OF_INTERVAL = 3
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

    Args:
        pruned: the pieces that each tokenizer pruned.
        readings: label -> the tokenizers of its seeds.
        controls: the same of controls.
        drawn: labels of the controls that prune at random.

    Returns:
        Columns: language, reading, control (`AMONG_SEEDS`: the reading's seeds with one another),
        mean, low and high over the pairs of seeds, pairs, and place, place_low and place_high: the
        mean on a scale from the random prunings (0) to the reading's seeds (1), with its 95 %
        interval over seeds (`jackknife`). Without two seeds and random prunings no place is known.
    """
    random = [name for label in drawn for name in controls[label]]
    rows = []
    for language, pieces in pruned.items():
        common = {
            (one, other): len(pieces[one] & pieces[other]) / max(1, len(pieces[one]))
            for seeds in readings.values()
            for one, other in itertools.product(seeds, pieces)
        }
        for reading, seeds in readings.items():
            for control, of in {AMONG_SEEDS: seeds, **controls}.items():
                found = _Overlap(common, seeds, of, random)
                row = {"language": language, "reading": reading, "control": control}
                rows.append({**row, **found.shares(), **found.places()})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Overlap:
    """What the seeds of a reading and those of a control prune in common.

    common: of two tokenizers, the share of what the first prunes. random: those drawn at random.
    """

    common: Mapping[tuple[str, str], float]
    seeds: Sequence[str]
    control: Sequence[str]
    random: Sequence[str]

    def shares(self) -> dict[str, float | int]:
        """Return mean, lowest and highest share in common over pairs of tokenizers, and pairs."""
        shares = _shares(self.common, self.seeds, self.control)
        of = shares or [np.nan]
        return {"mean": np.mean(of), "low": min(of), "high": max(of), "pairs": len(shares)}

    def places(self) -> dict[str, float]:
        """Return the place of the control, and its interval."""
        low, high = jackknife(self.place(), [self.without(n).place() for n in self._numbers])
        return {"place": self.place(), "place_low": low, "place_high": high}

    def place(self) -> float:
        """Return the place between random prunings (0) and the reading's seeds (1)."""
        own, of, floor = (
            np.mean(_shares(self.common, self.seeds, other) or np.nan)
            for other in (self.seeds, self.control, self.random)
        )
        return (of - floor) / (own - floor) if own > floor else np.nan

    def without(self, number: int) -> _Overlap:
        """Return it without one seed of the reading, and that of the control if it has several."""
        several = len(self.control) > 1
        control = _without(self.control, number) if several else self.control
        return replace(self, seeds=_without(self.seeds, number), control=control)

    @property
    def _numbers(self) -> range:
        # The place of a reading's seeds is 1, whatever they share.
        return range(0 if self.control is self.seeds else len(self.seeds))


def _shares(
    common: Mapping[tuple[str, str], float], seeds: Sequence[str], others: Sequence[str]
) -> list[float]:
    pairs = itertools.product(seeds, others)
    if others is seeds:
        pairs = itertools.combinations(seeds, 2)
    return [common[pair] for pair in pairs]


def _without(names: Sequence[str], number: int) -> list[str]:
    return [name for at, name in enumerate(names) if at != number]


def jackknife(value: float, without: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a statistic of n seeds.

    Args:
        value: the statistic of all seeds.
        without: the same without each seed in turn; fewer than three give no interval.

    Returns:
        value -+ t e, with the jackknife's standard error e and Student's t of n - 1 degrees of
        freedom; NaN without an interval.
    """
    n = len(without)
    if n < _SEEDS_OF_INTERVAL:
        return np.nan, np.nan
    error = np.sqrt((n - 1) / n * np.sum((np.array(without) - np.mean(without)) ** 2))
    half = stats.t.ppf(0.975, n - 1) * error
    return value - half, value + half


# Titles of the shares of table_overlap, by the contexts that a control of the reading is left.
TAKEN_AWAY = {
    "zero": "all vectors",
    "shuffled_vectors": "contexts across words",
    "shuffled": "shuffled words",
}
_NOTE = (
    "Means over pairs of seeds (lowest to highest). The last columns are what a version's control "
    "lacks on the way from random pruning (0) to another seed (100 %), with 95 % intervals over "
    "seeds; they need random pruning and two seeds, an interval three. Contexts across words can "
    "have a larger share than all vectors (docs/appendix/statistics.md#contexts-or-counts)."
)
# Label of a reading -> what is taken away -> label of the control that lacks it.
TakenAway = Mapping[str, Mapping[str, str]]


def table_overlap(pruned: Pruned, *, taken_away: TakenAway, **compared: Any) -> Table:
    """Return what SaGe and controls prune in common; compared: arguments of `overlaps`."""
    return table_of_overlaps(overlaps(pruned, **compared), taken_away)


def table_of_overlaps(rows: pd.DataFrame, taken_away: TakenAway) -> Table:
    """Return the table of `overlaps`: a row for each reading and language, a column a control.

    The last columns are the shares of a choice that vectors, contexts across words in the vectors,
    and the order of words in vectors and losses account for: 1 minus the place of the control.
    """
    kinds = [kind for kind in TAKEN_AWAY if any(kind in one for one in taken_away.values())]
    names = list(dict.fromkeys(rows["control"]))
    shown = (
        rows.assign(cell=rows.apply(_cell, axis=1))
        .pivot(index=["reading", "language"], columns="control", values="cell")
        .fillna(NOTHING)
    )
    places = rows.set_index(["reading", "language", "control"])
    cells = []
    pairs = itertools.product(rows["reading"].unique(), rows["language"].unique())
    for reading, language in (pair for pair in pairs if pair in shown.index):
        lacking = (taken_away.get(reading, {}).get(kind) for kind in kinds)
        keys = [(reading, language, control) for control in lacking]
        shares = [_share(places.loc[key]) if key in places.index else NOTHING for key in keys]
        cells.append([reading, language, *shown.loc[(reading, language), names], *shares])
    head = ["", "text", *names, *(TAKEN_AWAY[kind] for kind in kinds)]
    return Table(head, [cells], rows, note=[_NOTE])


def _share(control: Mapping[str, Any]) -> str:
    """Return 1 minus the place of a control, with its interval."""
    if pd.isna(control["place"]):
        return NOTHING
    ends = 1 - control["place_high"], 1 - control["place_low"]
    spread = "" if pd.isna(ends[0]) else f" [{ends[0]:.1%}, {ends[1]:.1%}]"
    return f"{1 - control['place']:.1%}{spread}".replace("%", " %")


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
