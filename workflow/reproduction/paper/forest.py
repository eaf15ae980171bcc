"""One figure for every comparison: rows of marks with their intervals, in panels."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.paper.style import (
    GREY,
    Files,
    drawing,
    few_round_ticks,
    legend_above,
    name_panels,
)

MARKS = ("o", "D", "^", "s", "v", "P", "X", "<", ">", "*")
STROKE = "|"  # a mark as high as its row: a value that the others are compared with
BRACKET = {"color": GREY, "linewidth": 1, "marker": "|", "markersize": 5}
_BAND = "#F4F4F4"
_LANE, _LINE = 0.075, 0.135  # inches of a mark, and of a line of text
_IN_A_LINE = 4  # entries of a legend
_NOT_RUN = "not run"
_MARK = {"markersize": 3.8, "markeredgewidth": 0.8, "linestyle": "none"}


def forest(
    marks: pd.DataFrame,
    *,
    across: int | None = None,
    zero: float | None = 0.0,
    power: Mapping[str, float] | None = None,
    divided: Collection[str] = (),
    handles: Sequence[Artist] = (),
    **files: Files,
) -> None:
    """Draw a panel a `panel`, a line a `row`, a mark a `group`, with its interval.

    A row in which nothing is known says "not run". The order of strips, panels, rows and groups is
    that of their first appearance.

    Args:
        marks: strip (the rows of a language, named at the left; "" for a figure of one), panel,
            unit (below the panel), row, group, x, low and high (nan: no interval), filled, colour
            and marker.
        across: panels side by side; all of them by default.
        zero: where a line is drawn in every panel, None for none.
        power: panel -> half of the bracket about `zero`, at the bottom of the panel.
        divided: rows below which a line divides the rows.
        handles: what the legend has after the groups.
        files: pdf, png and optionally style.
    """
    strips, panels = (list(dict.fromkeys(marks[name])) for name in ("strip", "panel"))
    rows = {name: list(dict.fromkeys(own["row"])) for name, own in marks.groupby("strip")}
    across = min(across or len(panels), len(panels))
    places = [*panels, *[None] * (-len(panels) % across)]
    lanes = {cell: _lanes(own) for cell, own in marks.groupby(["strip", "panel"])}
    most = {strip: max(len(lanes.get((strip, panel), "")) for panel in panels) for strip in strips}
    extra = _LINE * (2 + _lines(marks["panel"]) + _lines(marks["unit"]))
    heights = [
        extra + max(0.45, len(rows[strip]) * _row_height(rows[strip], most[strip]))
        for strip in strips
        for _ in range(0, len(places), across)
    ]
    with drawing(heights, across, sharey="row", **files) as (figure, grid):
        drawn = []
        for axes, (strip, panel) in zip(grid.flat, product(strips, places), strict=True):
            axes.set_visible(panel is not None)
            own = marks[(marks["strip"] == strip) & (marks["panel"] == panel)]
            if panel is not None:
                half = power.get(panel) if power else None
                _draw_panel(axes, own, rows[strip], lanes.get((strip, panel), []), zero, half)
                for row in divided:
                    axes.axhline(rows[strip].index(row) + 0.5, color=GREY, linewidth=0.5)
                drawn.append((axes, panel))
        for axes, _ in drawn:
            few_round_ticks(axes)
        name_panels(*zip(*drawn, strict=True))
        firsts = grid[:, 0]
        for axes, strip in zip(firsts, np.repeat(strips, len(firsts) // len(strips)), strict=True):
            axes.set_yticks(range(len(rows[strip])), rows[strip])
            axes.set_ylim(len(rows[strip]) - 0.5, -0.5)
            axes.set_ylabel(strip)
        figure.align_ylabels(firsts)
        shown = [*_group_handles(marks), *handles]
        figure.set_figheight(figure.get_figheight() + _LINE * (len(shown) // _IN_A_LINE))
        legend_above(figure, shown)


def _lanes(marks: pd.DataFrame) -> list[str]:
    """Return the groups of a panel whose marks stand one below the other in a row."""
    return list(dict.fromkeys(marks.loc[marks["marker"] != STROKE, "group"]))


def _row_height(rows: Sequence[str], lanes: int) -> float:
    return max(_LANE * (lanes + 0.6), _LINE * _lines(rows))


def _lines(texts: Iterable[str]) -> int:
    return 1 + max(text.count("\n") for text in texts)


def wrapped(names: pd.Series, width: int) -> pd.Series:
    """Return names on lines of at most so many characters."""
    return names.map(lambda name: fill(name, width, break_on_hyphens=False))


def _draw_panel(
    axes: Axes,
    marks: pd.DataFrame,
    rows: Sequence[str],
    lanes: Sequence[str],
    zero: float | None,
    half: float | None,
) -> None:
    for place in range(1, len(rows), 2):
        axes.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=0)
    if half:
        ends, low = [zero - half, zero + half], [0.01, 0.01]  # of the height of the panel
        axes.plot(ends, low, transform=axes.get_xaxis_transform(), **BRACKET)
    if zero is not None:
        axes.axvline(zero, color="black", linewidth=0.7, zorder=1)
    known = marks[marks["x"].notna()]
    for mark in known.itertuples():
        _draw_mark(axes, mark, rows.index(mark.row), lanes)
    for place, row in enumerate(rows):
        if row not in set(known["row"]):
            where = {"x": 0.5, "y": place, "transform": axes.get_yaxis_transform()}
            look = {"fontsize": 7, "color": GREY, "fontstyle": "italic"}
            axes.text(s=_NOT_RUN, ha="center", va="center", **where, **look)
    axes.set_xlabel(marks["unit"].iloc[0] if len(marks) else "")
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.08)


def _draw_mark(axes: Axes, mark: tuple, place: int, lanes: Sequence[str]) -> None:
    if mark.marker == STROKE:
        axes.vlines(mark.x, place - 0.42, place + 0.42, color=mark.colour, linewidth=2, zorder=2)
        return
    at = place + 0.84 * ((lanes.index(mark.group) + 0.5) / len(lanes) - 0.5)
    if not math.isnan(mark.low):
        axes.plot([mark.low, mark.high], [at, at], color=mark.colour, linewidth=1, zorder=3)
    inside = mark.colour if mark.filled else "white"
    look = {"color": mark.colour, "marker": mark.marker, "markerfacecolor": inside}
    axes.plot(mark.x, at, zorder=4, **look, **_MARK)


def _group_handles(marks: pd.DataFrame) -> list[Line2D]:
    """Return the groups for a legend; black where a group has the colours of several rows."""
    handles = []
    for name, own in marks.groupby("group", sort=False):
        colours = set(own["colour"])
        colour = colours.pop() if len(colours) == 1 else "black"
        inside = colour if own["filled"].any() else "white"
        look = {"marker": own["marker"].iloc[0], "markerfacecolor": inside, **_MARK}
        look |= {"markersize": 8, "markeredgewidth": 2} if look["marker"] == STROKE else {}
        handles.append(Line2D([], [], label=name, color=colour, **look))
    return handles
