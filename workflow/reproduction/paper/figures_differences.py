"""The figure of all differences from BPE (`paper.differences`), which the paper does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from reproduction.paper.differences import BITS, UNITS, read_differences
from reproduction.paper.forest import BRACKET, MARKS, forest, wrapped
from reproduction.paper.style import Files

_ACROSS = 3  # panels side by side
_WIDTH = 22  # characters that a panel holds
# Measures that the table alone has: order 5 says what they do.
_IN_TABLE = ("N-grams, order 3", "Gain from context")
# Groups of tokenizers have a colour each.
_COLOURS = ("#D55E00", "#882200", "#333333", "#00508C")


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
    labels = [label for label in chain(*groups.values()) if label in set(data["tokenizer"])]
    data = data.sort_values("tokenizer", key=lambda names: names.map(labels.index), kind="stable")
    factors = np.array([UNITS[unit][1] for unit in data["unit"]])
    sign = factors * np.where(data["more_is_better"], 1, -1)
    languages = list(dict.fromkeys(data["language"]))
    colours = dict(zip(groups, _COLOURS, strict=True))
    group_of = {label: name for name, members in groups.items() for label in members}
    marks = pd.DataFrame(
        {
            "strip": "",
            "panel": wrapped(data["measure"], _WIDTH),
            "unit": [_unit(*one) for one in zip(data["unit"], data["more_is_better"], strict=True)],
            "row": data["tokenizer"],
            "group": data["language"],
            "x": sign * data["difference"],
            "low": sign * data["low"],
            "high": sign * data["high"],
            "filled": data["significant"].astype(bool),
            "colour": [colours[group_of[label]] for label in data["tokenizer"]],
            "marker": [MARKS[languages.index(name) % len(MARKS)] for name in data["language"]],
        }
    )
    marks = marks.loc[data["measure"].map(_order_of(data)).sort_values(kind="stable").index]
    power = (factors * data["seen_from"]).groupby(marks["panel"]).max().to_dict()
    shown = [name for name, members in groups.items() if any(one in labels for one in members)]
    last = [[one for one in groups[name] if one in labels][-1] for name in shown[:-1]]
    handles = [_handle(name, colours[name]) for name in shown]
    look = {"across": _ACROSS, "power": power, "divided": last, "handles": [*handles, *_signs()]}
    forest(marks, **look, **files)


def _order_of(data: pd.DataFrame) -> dict[str, int]:
    """Return the place of each measure: that of its first row in the table."""
    measures = data.sort_index()["measure"]
    return {name: place for place, name in enumerate(dict.fromkeys(measures))}


def _unit(unit: str, more_is_better: bool) -> str:
    name = "bits per character" if unit == BITS else f"{UNITS[unit][0]} (× 100)"
    return f"{name}, {'more' if more_is_better else 'fewer'} →"


def _handle(name: str, colour: str) -> Line2D:
    return Line2D([], [], label=name, color=colour, linewidth=3)


def _signs() -> list[Line2D]:
    hollow = {"color": "black", "linestyle": "none", "marker": "o", "markersize": 3.8}
    return [
        Line2D([], [], label="open: not significant", markerfacecolor="white", **hollow),
        Line2D([], [], label="bracket: power below 80 %", **BRACKET),
    ]
