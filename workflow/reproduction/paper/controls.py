"""The paper's main statements under SaGe and under its controls, pruned without contexts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reproduction.paper.chance import (
    AS_CHANCE,
    FREQUENCY,
    drawn,
    numbers,
)
from reproduction.paper.claims import read_records
from reproduction.paper.claims_page import SIGNS, show_chance, show_control, show_ours, show_value
from reproduction.paper.formats import MINUS, NOTHING, Files
from reproduction.paper.measures import FEWEST_SEEDS
from reproduction.paper.statements import REPRODUCED, ahead, read_headlines
from reproduction.paper.style import (
    TokenizerStyle,
    drawing,
    is_narrow,
    label_below,
    legend_above,
    tokenizer_styles,
)
from reproduction.paper.table import Table
from reproduction.paper.tally import met_by_controls
from sagevocab.errors import UserError

log = logging.getLogger(__name__)

Record = Mapping[str, Any]

_COLUMNS = (
    *("id", "language", "tokenizer", "preset", "statement", "kind", "paper"),
    *("group", "ours", "low", "high", "meets", "p_adjusted"),
    *("random_as_far", "random_ranked"),
    *("verdict", "chance_p_value", "chance_p_adjusted", "chance", "definition"),
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
    return len(drawn(record["controls"])) >= FEWEST_SEEDS


def main_rows(records: Sequence[Record], headlines: Mapping[str, str]) -> list[Row]:
    """Return the statements with a headline that the run could measure."""
    members: dict[tuple[str, str | None], dict[str, Record]] = {}
    for record in records:
        if record["id"] in headlines:
            members.setdefault((record["id"], record["language"]), {})[record["tokenizer"]] = record
    return [
        Row(headlines[name], language, own)
        for (name, language), own in members.items()
        if any(record["ours"] is not None for record in own.values())
    ]


def control_rows(records: Sequence[Record], headlines: Mapping[str, str]) -> list[Row]:
    """Return the statements with a headline that are numbers and measured on the controls.

    Raises:
        UserError: there is none.
    """
    rows = [row for row in main_rows(records, headlines) if _has_spread(row.any)]
    if not rows:
        raise UserError(
            "config key tokenizers: no statement is measured on control vocabularies; list bpe, a "
            "SaGe tokenizer and two or more of method random"
        )
    return rows


# --- the table


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
    """Return the main statements: paper, controls, and each SaGe tokenizer with both verdicts.

    claims: `claims.json`. values: `paper_values.yaml`. labels, controls, languages: SaGe
    tokenizers, controls, languages, and their titles. without_contexts: SaGe tokenizer -> the
    controls that are it without its contexts, and come before it. The CSV has all statements
    that the controls are measured by, and the main ones.

    Raises:
        UserError: `claims` is missing or damaged.
    """
    records, headlines = read_records(claims, labels), read_headlines(values)
    measured = [
        {name: record.get(name) for name in _COLUMNS} | _spread(record)
        for record in records
        if _has_spread(record) or record["id"] in headlines
    ]
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items())
    note = (
        "Controls of several seeds: mean, lowest to highest. Beside a control, "
        f"{SIGNS[REPRODUCED]}: its value meets the statement, of several seeds more than half. "
        "SaGe with its 95 % interval over the text or the pieces, the verdict against the paper "
        f"({signs}), and the one against the random prunings: beyond chance, as chance or below "
        "chance (docs/statistics.md)."
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
        columns[f"{name}_meets"] = record["met_by"][name]
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
        sign = SIGNS[REPRODUCED] if name in met_by_controls(row.any) else ""
        return f"{show_control(row.any, name)} {sign}".strip() or NOTHING
    return _sage_cell(row.records.get(name))


def _sage_cell(record: Record | None) -> str:
    if record is None or record["ours"] is None:
        return NOTHING
    return f"{show_ours(record)} {SIGNS[record['verdict']]} {show_chance(record)}".rstrip()


# --- the figure

_GREY, _BAND, _SHADE = "#6E6E6E", "#D4D4D4", "#F4F4F4"
_SEED = {"linestyle": "none", "marker": "|", "markersize": 6, "color": _GREY, "zorder": 3}
_LEAST = {"linestyle": "none", "marker": "x", "markersize": 4, "color": "black", "zorder": 3}
_PAPER = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 4,
    "color": "black",
    "markerfacecolor": "white",
    "zorder": 4,
}
_LINE_HEIGHT, _NARROW_LINE = 0.24, 0.145  # inches, at the width of a page and of a column
_SMALL = 7  # points
_WIDEST, _NARROW_WIDEST = 43, 52  # characters of a statement in one line
_STATEMENT, _LANGUAGE = -48, -43  # points left of the panel
_LINEAR = 5  # deviations from which on the axis is logarithmic
_UNIT = (
    "Distance from the random mean, in standard deviations of the random seeds; "
    "right: where the statement points"
)
_NO_SPREAD = "The random prunings agree on every main statement:\nthere is no spread to draw."
_TICKS = [sign * 2 * 10.0**power for power in range(1, 7) for sign in (-1, 1)]


def figure_controls(
    claims: Files,
    values: Files,
    *,
    labels: Mapping[str, str],
    shown: Sequence[str],
    languages: Mapping[str, str],
    **files: Files,
) -> None:
    """Draw how far SaGe is from the random prunings, statement by statement.

    The unit is the standard deviation of the random seeds, and right is where the statement points.
    A statement on which all seeds agree has no such unit and is left out; so is the second reading
    of a statement, which is not tested against chance. Where nothing is left, the figure says so.
    claims, values, languages: as for `table_controls`. labels: SaGe tokenizers and what they are
    called. shown: labels of all tokenizers of the figures, whose order gives the colours. files:
    pdf, png and optionally style.

    Raises:
        UserError: `claims` is missing or damaged, or has no controls.
    """
    rows = control_rows(read_records(claims, labels), read_headlines(values))
    tested = [row for row in rows if not row.any.get("variant")]
    rows = [row for row in tested if np.ptp(_seeds(row)) > 0]
    styles = {name: tokenizer_styles(shown)[label] for name, label in labels.items()}
    with drawing((1, 1), height=1, **files) as (figure, grid):
        axes = grid[0, 0]
        if not rows:
            axes.text(0.5, 0.5, _NO_SPREAD, ha="center", va="center")
            axes.set_axis_off()
            return
        blocks = _blocks(rows, narrow=is_narrow(figure))
        places = [place for block in blocks for place in block.places]
        for place, row in zip(places, rows, strict=True):
            _draw_controls(axes, place, row)
            _draw_sage(axes, place, row, styles)
        _dress(axes)
        label_below(figure, _UNIT)
        axes.spines["left"].set_visible(not is_narrow(figure))  # statements stand across it
        _name_rows(axes, blocks, [_title(row, languages) for row in rows])
        line = _NARROW_LINE if is_narrow(figure) else _LINE_HEIGHT
        figure.set_figheight(line * (blocks[-1].last + 1) + 1.45)  # the legend and the axis
        legend_above(figure, list(_handles(labels, styles)))


def _seeds(row: Row) -> np.ndarray:
    return drawn(row.any["controls"])


def _standardised(row: Row, value: Any) -> Any:
    """Return values as deviations from the random mean, positive where the statement points."""
    seeds = _seeds(row)
    mean, deviation = float(seeds.mean()), float(seeds.std(ddof=1))
    kind, paper, direction = row.any["kind"], row.any["paper"], row.any.get("direction")
    values = (mean + 1e-6 * deviation, mean)
    further, at_mean = (ahead(kind, paper, one, direction) for one in values)
    up = further >= at_mean
    return (np.asarray(value, dtype=float) - mean) / (deviation if up else -deviation)


def _draw_controls(axes: Axes, place: int, row: Row) -> None:
    seeds = _seeds(row)
    reach = np.sort(_standardised(row, [seeds.min(), seeds.max()]))
    axes.barh(place, np.ptp(reach), left=reach[0], height=0.62, color=_BAND, linewidth=0, zorder=1)
    axes.plot(_standardised(row, seeds), np.full(len(seeds), place), **_SEED)
    least = numbers(row.any["controls"].get(FREQUENCY, ()))
    axes.plot(_standardised(row, least), np.full(len(least), place), **_LEAST)
    if not isinstance(row.any["paper"], Sequence):  # neither words nor a range
        axes.plot(_standardised(row, row.any["paper"]), place, **_PAPER)


def _draw_sage(axes: Axes, place: int, row: Row, styles: Mapping[str, TokenizerStyle]) -> None:
    shifts = np.linspace(-0.2, 0.2, len(styles)) if len(styles) > 1 else [0.0]
    for (name, style), shift in zip(styles.items(), shifts, strict=True):
        record = row.records.get(name)
        if record is None or record["ours"] is None:
            continue
        if record["low"] is not None:
            bounds = _standardised(row, [record["low"], record["high"]])
            axes.plot(bounds, [place + shift] * 2, color=style.colour, linewidth=1.1, zorder=5)
        inside = "white" if record["chance"] in (AS_CHANCE, None) else style.colour
        mark = {"color": style.colour, "markerfacecolor": inside, "marker": "o", "markersize": 3.6}
        axes.plot(_standardised(row, record["ours"]), place + shift, zorder=6, **mark)


def _dress(axes: Axes) -> None:
    axes.axvline(0, color=_GREY, linewidth=0.7, zorder=0.5)
    low, high = axes.dataLim.intervalx
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=0.9)
    axes.set_xlim(min(1.5 * low, -_LINEAR), max(1.5 * high, _LINEAR))
    axes.xaxis.set_major_locator(FixedLocator([*_TICKS, -_LINEAR, 0, _LINEAR]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}".replace("-", MINUS)))
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


@dataclass(frozen=True)
class Block:
    """A statement and its rows, one a language, on the lines of the figure from `first` to `last`.

    text: the statement as written, beside its rows or on the lines `first` to `first + heads - 1`.
    """

    text: str
    first: int
    heads: int
    rows: int

    @property
    def places(self) -> range:
        """The lines of its rows."""
        return range(self.first + self.heads, self.last + 1)

    @property
    def last(self) -> int:
        """Its last line."""
        return self.first + self.heads + self.rows - 1


def _blocks(rows: Sequence[Row], *, narrow: bool) -> list[Block]:
    """Return the statements, beside their rows, or above them where a narrow figure has no room."""
    blocks: list[Block] = []
    for headline, own in groupby(rows, key=attrgetter("headline")):
        width = _NARROW_WIDEST if narrow else _WIDEST
        text = fill(headline, width, break_on_hyphens=False)
        heads = text.count("\n") + 1 if narrow else 0
        first = blocks[-1].last + 1 if blocks else 0
        blocks.append(Block(text, first, heads, rows=len(list(own))))
    return blocks


def _title(row: Row, languages: Mapping[str, str]) -> str:
    return languages.get(row.language or "", row.language or "")


def _name_rows(axes: Axes, blocks: Sequence[Block], titles: Sequence[str]) -> None:
    """Write statements and languages, a statement once, on a shade in turn."""
    axes.set_yticks([place for block in blocks for place in block.places], [""] * len(titles))
    axes.set_ylim(blocks[-1].last + 0.5, -0.5)
    options = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    options |= {"va": "center", "fontsize": _SMALL}
    for number, block in enumerate(blocks):
        shade = _SHADE if number % 2 else "white"
        axes.axhspan(block.first - 0.5, block.last + 0.5, color=shade, linewidth=0, zorder=0)
        beside = {"xytext": (_STATEMENT, 0), "ha": "right"}
        above = {"xytext": (_LANGUAGE, 0), "ha": "left"}
        above["bbox"] = {"facecolor": shade, "edgecolor": "none", "pad": 0.5}  # hides grid lines
        last = block.first + block.heads - 1 if block.heads else block.last
        middle = (block.first + last) / 2
        axes.annotate(block.text, (0, middle), **(above if block.heads else beside), **options)
    for place, title in zip(axes.get_yticks(), titles, strict=True):
        axes.annotate(title, (0, place), xytext=(_LANGUAGE, 0), ha="left", **options)


def _handles(
    labels: Mapping[str, str], styles: Mapping[str, TokenizerStyle]
) -> Iterator[Line2D | Patch]:
    for name, label in labels.items():
        yield Line2D([], [], label=label, color=styles[name].colour, marker="o", markersize=3.6)
    hollow = {"color": _GREY, "marker": "o", "markersize": 3.6, "markerfacecolor": "white"}
    yield Line2D([], [], label="hollow: as chance, or no test", linestyle="none", **hollow)
    yield Line2D([], [], label="random, one seed", **_SEED)
    yield Patch(label="range of these seeds", color=_BAND, linewidth=0)
    yield Line2D([], [], label="least frequent pruned", **_LEAST)
    yield Line2D([], [], label="the paper's value", **_PAPER)
