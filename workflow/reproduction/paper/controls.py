"""The paper's main statements under SaGe and under its controls, pruned without contexts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.paper.claims import read_records
from reproduction.paper.claims_page import SIGNS, show_control, show_ours, show_value
from reproduction.paper.formats import NOTHING, Files
from reproduction.paper.measures import FEWEST_SEEDS
from reproduction.paper.statements import REPRODUCED, read_headlines
from reproduction.paper.style import (
    TokenizerStyle,
    drawing,
    few_round_ticks,
    is_narrow,
    legend_above,
    tokenizer_styles,
)
from reproduction.paper.table import Table
from reproduction.paper.tally import RANDOM, met_by_controls, numbers
from sagevocab.errors import UserError

log = logging.getLogger(__name__)

Record = Mapping[str, Any]

_COLUMNS = (
    *("id", "language", "tokenizer", "preset", "statement", "kind", "paper"),
    *("group", "ours", "low", "high", "meets", "p_adjusted"),
    *("verdict", "definition"),
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
    return len(numbers(record["controls"].get(RANDOM, ()))) >= FEWEST_SEEDS


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
    """Return the main statements: paper, controls, and each SaGe tokenizer with its verdict.

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
        "SaGe with its 95 % interval over the text or the pieces, and over seeds where it has "
        f"several, and the verdict ({signs}; docs/appendix/statistics.md)."
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
    return f"{show_ours(record)} {SIGNS[record['verdict']]}"


# --- the figure

# What a reader can take in at a glance; the table has all main statements.
_SHOWN = (
    *("sage_only_word_initial", "bpe_only_word_initial", "bpe_only_short", "words_of_5_more"),
    *("token_ratio", "ratio_lower"),
)
_PAPER = "the paper's value"
_WIDEST = 18  # characters of a statement in one line
_LANE = 0.085  # inches of a vocabulary in a panel
_NOTHING_MEASURED = "None of the main statements is measured on controls."


@dataclass(frozen=True)
class Point:
    """A vocabulary's value of a statement, with its interval or the range of its seeds."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def figure_controls(
    claims: Files,
    values: Files,
    *,
    labels: Mapping[str, str],
    controls: Mapping[str, str],
    languages: Mapping[str, str],
    **files: Files,
) -> None:
    """Draw SaGe beside its controls on a few main statements: a row a statement, with its scale.

    claims, values: as for `table_controls`. labels, controls, languages: SaGe tokenizers, controls
    and languages, and what they are called. files: pdf, png and optionally style.

    Raises:
        UserError: `claims` is missing or damaged, or has no controls.
    """
    rows = control_rows(read_records(claims, labels), read_headlines(values))
    panels = {(row.any["id"], row.language): row for row in rows if row.any["id"] in _SHOWN}
    shown = [name for name in _SHOWN if any(name == known for known, _ in panels)]
    columns = [code for code in languages if any(code == language for _, language in panels)]
    vocabularies = [*controls.values(), *labels.values()]
    styles = tokenizer_styles(vocabularies)
    if not shown:
        with drawing([1], **files) as (_, grid):
            grid[0, 0].text(0.5, 0.5, _NOTHING_MEASURED, ha="center", va="center")
            grid[0, 0].set_axis_off()
        return
    heights = [0.4 + _LANE * len(vocabularies)] * len(shown)
    with drawing(heights, len(columns), **files) as (figure, grid):
        for axes_of_row, name in zip(grid, shown, strict=True):
            for axes, language in zip(axes_of_row, columns, strict=True):
                row = panels.get((name, language))
                axes.set_visible(row is not None)
                if row is not None:
                    _draw_statement(axes, row, points_of_row(row, labels, controls), styles)
                    axes.set_ylabel(languages[language] if is_narrow() else "")
            _name_statement(axes_of_row, panels, name)
        if not is_narrow():
            for column, language in zip(grid.T, columns, strict=True):
                next(filter(Axes.get_visible, column)).set_title(languages[language])
        legend_above(figure, [*_handles(styles), _paper_handle()])


def points_of_row(row: Row, labels: Mapping[str, str], controls: Mapping[str, str]) -> list[Point]:
    """Return the measured values of a statement: controls first, then SaGe.

    A control of several seeds has their mean, lowest and highest value, SaGe its 95 % interval.
    """
    points = []
    for name, label in controls.items():
        seeds = numbers(row.any["controls"].get(name, ()))
        if seeds.size:
            spread = (seeds.min(), seeds.max()) if seeds.size > 1 else (None, None)
            points.append(Point(label, float(seeds.mean()), *spread))
    for name, label in labels.items():
        record = row.records.get(name)
        if record is not None and record["ours"] is not None:
            points.append(Point(label, record["ours"], record["low"], record["high"]))
    return points


def _draw_statement(
    axes: Axes, row: Row, points: Sequence[Point], styles: Mapping[str, TokenizerStyle]
) -> None:
    """Draw a mark a vocabulary on a scale of the statement; the paper's value is a line."""
    lanes = {label: place for place, label in enumerate(styles)}
    if isinstance(row.any["paper"], int | float):
        axes.axvline(row.any["paper"], color="black", linewidth=1, zorder=1)
    for point in points:
        style, place = styles[point.label], lanes[point.label]
        if point.low is not None:
            axes.plot([point.low, point.high], [place, place], color=style.colour, linewidth=1)
        axes.plot(point.value, place, **style.dot, markersize=4)
    axes.set_ylim(len(styles) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(visible=True, axis="x")
    axes.margins(x=0.06)
    few_round_ticks(axes)


def _name_statement(
    axes_of_row: Sequence[Axes], panels: Mapping[tuple[str, str | None], Row], name: str
) -> None:
    """Write a statement at the left of its first panel, or above it where panels are stacked."""
    headline = next(row.headline for (known, _), row in panels.items() if known == name)
    first = next(axes for axes in axes_of_row if axes.get_visible())
    if is_narrow():
        first.set_title(fill(headline, 2 * _WIDEST, break_on_hyphens=False))
        return
    text = fill(headline, _WIDEST, break_on_hyphens=False)
    first.set_ylabel(text, rotation=0, ha="right", va="center")


def _handles(styles: Mapping[str, TokenizerStyle]) -> list[Line2D]:
    look = {"linestyle": "-", "linewidth": 1, "markersize": 4}
    return [Line2D([], [], label=k, **{**style.dot, **look}) for k, style in styles.items()]


def _paper_handle() -> Line2D:
    return Line2D([], [], label=_PAPER, color="black", marker="|", linestyle="none", markersize=8)
