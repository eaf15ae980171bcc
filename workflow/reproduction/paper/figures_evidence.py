"""The figure of all methods (`paper.evidence`), which the paper does not have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reproduction.paper.evidence import BITS, unit_of
from reproduction.paper.style import Files, drawing, dress_rows, legend_above
from sagevocab.errors import UserError

_ROW = 0.072  # inches of a mark
_LINE = 0.15  # of a further line of a title
_LANGUAGES = (("#00508C", "o"), ("#D55E00", "D"), ("#2CA58D", "^"), ("#AA4499", "s"))
_ACROSS, _IN_A_COLUMN = 4, 2  # panels side by side on a page, and in one of its columns
_WIDTH = 16  # characters that a panel holds


def figure_evidence(table: Files, *, labels: Sequence[str], baseline: str, **files: Files) -> None:
    """Draw the differences from BPE, right the better: a panel a measure, a row a tokenizer.

    A colour and a mark are a language; a mark is filled where the difference is significant. A true
    difference in the grey is found less often than four times in five.

    Args:
        table: csv of `table_evidence`.
        labels: of all tokenizers in their order.
        baseline: label of BPE.
        files: pdf, png and optionally style.

    Raises:
        UserError: the table is missing or damaged.
    """
    data = _read_table(table, baseline)
    others = [label for label in labels if label != baseline]
    titles = {one: fill(one, _WIDTH, break_on_hyphens=False) for one in data["measure"].unique()}
    languages = dict(zip(dict.fromkeys(data["language"]), cycle(_LANGUAGES), strict=False))
    down = math.ceil(len(titles) / _ACROSS)
    lines = max(title.count("\n") for title in titles.values())
    marks = max(3, len(others)) * len(languages)
    height = 0.6 + _LINE * lines + _ROW * max(6, marks)
    shape = {"shape": (down, _ACROSS), "fold": _IN_A_COLUMN, "height": height, "sharey": True}
    with drawing(**shape, **files) as (figure, grid):
        for axes, (name, title) in zip(grid.flat, titles.items(), strict=False):
            _draw_measure(axes, data[data["measure"] == name], others, languages)
            axes.set_title(title)
        for unused in grid.flat[len(titles) :]:
            unused.set_visible(False)
        grid[0, 0].set_yticks(range(len(others)), others)
        grid[0, 0].set_ylim(len(others) - 0.5, -0.5)
        legend_above(figure, _handles(languages))


def _read_table(path: Files, baseline: str) -> pd.DataFrame:
    try:
        data = pd.read_csv(path)
        return data[data["tested"].astype(bool) & (data["baseline"] == baseline)]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: is no table of evidence ({error}); delete it") from error


def _draw_measure(
    axes: Axes,
    rows: pd.DataFrame,
    tokenizers: Sequence[str],
    languages: Mapping[str, tuple[str, str]],
) -> None:
    first = rows.iloc[0]
    unit, factor, _ = unit_of(first["metric"])
    sign = factor if first["more_is_better"] else -factor
    seen = factor * rows["seen_from"].max()
    axes.axvspan(-seen, seen, color="#E8E8E8", linewidth=0, zorder=0)
    axes.axvline(0, color="black", linewidth=0.7, zorder=1)
    own = [name for name in languages if name in set(rows["language"])]
    shifts = np.linspace(-0.5, 0.5, 2 * len(own) + 1)[1::2] * 0.8
    for row in rows.to_dict("records"):
        colour, marker = languages[row["language"]]
        at = tokenizers.index(row["tokenizer"]) + shifts[own.index(row["language"])]
        ends = [sign * row["low"], sign * row["high"]]
        axes.plot(ends, [at, at], color=colour, linewidth=1, zorder=2)
        inside = colour if row["significant"] else "white"
        mark = {"marker": marker, "markersize": 3.4, "markerfacecolor": inside}
        axes.plot(sign * row["difference"], at, color=colour, markeredgewidth=0.8, zorder=3, **mark)
    saved = " saved" if unit == BITS and not first["more_is_better"] else ""
    name = f"bits a character{saved}" if unit == BITS else f"{unit} (× 100)"
    axes.set_xlabel(fill(name, _WIDTH))
    dress_rows(axes, len(tokenizers) - 1, margin=0.08)
    axes.xaxis.set_major_formatter(_short)


def _short(value: float, _: int) -> str:
    """Write a tick as .02, without the 0: three such have room below half a column."""
    text = f"{abs(value):g}".removeprefix("0") or "0"
    return f"−{text}" if value < 0 else text  # noqa: RUF001, as on other axes


def _handles(languages: Mapping[str, tuple[str, str]]) -> list[Line2D | Patch]:
    marks = [
        Line2D([], [], label=name, color=colour, marker=marker, markersize=4)
        for name, (colour, marker) in languages.items()
    ]
    hollow = {"color": "black", "linestyle": "none", "marker": "o", "markersize": 4}
    return [
        *marks,
        Line2D([], [], label="not significant", markerfacecolor="white", **hollow),
        Patch(label="power below 80 %", facecolor="#E8E8E8"),
    ]
