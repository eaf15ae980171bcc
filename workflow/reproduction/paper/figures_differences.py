"""The figure of all differences from BPE (`paper.differences`), which the paper does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.paper.differences import BITS, UNITS, read_differences
from reproduction.paper.formats import Files
from reproduction.paper.style import GREY, drawing, few_round_ticks, legend_above, name_panels

_ACROSS = 3  # panels side by side
_WIDTH = 22  # characters that a panel holds
_LANE, _LINE = 0.075, 0.135  # inches of a mark, and of a line of text
_IN_A_LINE = 4  # entries of a legend
# Measures that the table alone has: order 5 says what they do.
_IN_TABLE = ("N-grams, order 3", "Gain from context")
# Groups of tokenizers have a colour each, languages a marker.
_COLOURS = ("#D55E00", "#882200", "#333333", "#00508C")
_MARKERS = ("o", "D", "^", "s", "v", "P", "X", "<", ">", "*")
_MARK = {"markersize": 3.8, "markeredgewidth": 0.8, "linestyle": "none"}
_BRACKET = {"color": GREY, "linewidth": 1, "marker": "|", "markersize": 5}
_BAND = "#F4F4F4"


def figure_differences(
    table: Files, *, groups: Mapping[str, Sequence[str]], baseline: str, **files: Files
) -> None:
    """Draw the differences from BPE, right the better: a panel a measure, a row a tokenizer.

    A colour is a group of tokenizers, a mark a language; it is filled where the difference is
    significant. A true difference within the bracket is found less often than four times in five.

    Args:
        table: csv of `table_differences`.
        groups: name of a group -> labels of its tokenizers, in their order.
        baseline: label of BPE.
        files: pdf, png and optionally style.

    Raises:
        UserError: the table is missing or damaged.
    """
    data = read_differences(table)
    data = data[(data["baseline"] == baseline) & ~data["measure"].isin(_IN_TABLE)]
    found = set(data["tokenizer"])
    shown = {name: [one for one in members if one in found] for name, members in groups.items()}
    shown = {name: members for name, members in shown.items() if members}
    marks = _marks(data, shown, dict(zip(groups, _COLOURS, strict=True)))
    panels, rows = list(dict.fromkeys(marks["panel"])), list(chain(*shown.values()))
    across = min(_ACROSS, len(panels))
    heights = [_height(marks, rows)] * -(-len(panels) // across)
    with drawing(heights, across, sharey="row", **files) as (figure, grid):
        for axes, panel in zip_longest(grid.flat, panels):
            axes.set_visible(panel is not None)
            if panel is not None:
                _draw_panel(axes, marks[marks["panel"] == panel], rows)
                for *_, last in list(shown.values())[:-1]:
                    axes.axhline(rows.index(last) + 0.5, color=GREY, linewidth=0.5)
        drawn = grid.flat[: len(panels)]
        for axes, panel in zip(drawn, panels, strict=True):
            few_round_ticks(axes)
            if not marks.loc[marks["panel"] == panel, "more_is_better"].all():
                axes.invert_xaxis()
        name_panels(drawn, panels)
        for axes in grid[:, 0]:
            axes.set_yticks(range(len(rows)), rows)
            axes.set_ylim(len(rows) - 0.5, -0.5)
        handles = list(_handles(marks))
        figure.set_figheight(figure.get_figheight() + _LINE * (len(handles) // _IN_A_LINE))
        legend_above(figure, handles)


def _marks(
    data: pd.DataFrame, groups: Mapping[str, Sequence[str]], colours: Mapping[str, str]
) -> pd.DataFrame:
    """Return a row a mark, in the order of the panels, rows and languages.

    Columns: panel, unit, row, language, x, low, high, more_is_better, half (of the bracket),
    filled, group, colour and marker.
    """
    measures = list(dict.fromkeys(data["measure"]))
    group_of = {label: name for name, members in groups.items() for label in members}
    places = {"measure": measures.index, "tokenizer": list(group_of).index}
    order = data[[*places]].apply(lambda column: column.map(places[column.name]))
    data = data.loc[order.sort_values([*places], kind="stable").index]
    factors = np.array([UNITS[unit][1] for unit in data["unit"]])
    languages = list(dict.fromkeys(data["language"]))
    marks = pd.DataFrame(
        {
            "panel": [fill(name, _WIDTH, break_on_hyphens=False) for name in data["measure"]],
            "unit": [_unit(*one) for one in zip(data["unit"], data["more_is_better"], strict=True)],
            "row": data["tokenizer"],
            "language": data["language"],
            "x": factors * data["difference"],
            "low": factors * data["low"],
            "high": factors * data["high"],
            "more_is_better": data["more_is_better"],
            "half": factors * data["seen_from"],
            "filled": data["significant"].astype(bool),
            "group": data["tokenizer"].map(group_of),
            "marker": [_MARKERS[languages.index(n) % len(_MARKERS)] for n in data["language"]],
        }
    )
    return marks.assign(colour=marks["group"].map(colours))


def _unit(unit: str, more_is_better: bool) -> str:
    name = "bits per character" if unit == BITS else f"{UNITS[unit][0]} (× 100)"
    return f"{name},\n{'more' if more_is_better else 'fewer'} →"


def _height(marks: pd.DataFrame, rows: Sequence[str]) -> float:
    """Return the inches of a row of panels."""
    languages = marks.groupby("panel")["language"].nunique().max()
    of_row = max(_LANE * (languages + 0.6), _LINE * _lines(rows))
    titles = _LINE * (2 + _lines(marks["panel"]) + _lines(marks["unit"]))
    return titles + max(0.45, len(rows) * of_row)


def _lines(texts: Iterable[str]) -> int:
    return 1 + max(text.count("\n") for text in texts)


def _draw_panel(axes: Axes, marks: pd.DataFrame, rows: Sequence[str]) -> None:
    for place in range(1, len(rows), 2):
        axes.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=0)
    half = marks["half"].max()
    bottom = {"transform": axes.get_xaxis_transform(), **_BRACKET}
    axes.plot([-half, half], [0.01, 0.01], **bottom)  # in the height of the panel
    axes.axvline(0, color="black", linewidth=0.7, zorder=1)
    lanes = list(dict.fromkeys(marks["language"]))
    for mark in marks.itertuples():
        lane = 0.84 * ((lanes.index(mark.language) + 0.5) / len(lanes) - 0.5)
        at, inside = rows.index(mark.row) + lane, mark.colour if mark.filled else "white"
        axes.plot([mark.low, mark.high], [at, at], color=mark.colour, linewidth=1, zorder=3)
        look = {"color": mark.colour, "marker": mark.marker, "markerfacecolor": inside}
        axes.plot(mark.x, at, zorder=4, **look, **_MARK)
    for place, row in enumerate(rows):
        if row not in set(marks["row"]):
            where = {"x": 0.5, "y": place, "transform": axes.get_yaxis_transform()}
            look = {"fontsize": 7, "color": GREY, "fontstyle": "italic"}
            look["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axes.text(s="not run", ha="center", va="center", **where, **look)
    axes.set_xlabel(marks["unit"].iloc[0])
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.08)


def _handles(marks: pd.DataFrame) -> Iterator[Line2D]:
    """Yield what the legend names: languages, groups, and two signs."""
    for language, rows in marks.groupby("language", sort=False):
        inside = "black" if rows["filled"].any() else "white"
        look = {"marker": rows["marker"].iloc[0], "markerfacecolor": inside, **_MARK}
        yield Line2D([], [], label=language, color="black", **look)
    for group, rows in marks.groupby("group", sort=False):
        yield Line2D([], [], label=group, color=rows["colour"].iloc[0], linewidth=3)
    hollow = {"color": "black", "linestyle": "none", "marker": "o", "markersize": 3.8}
    yield Line2D([], [], label="open: not significant", markerfacecolor="white", **hollow)
    yield Line2D([], [], label="bracket: power below 80 %", **_BRACKET)
