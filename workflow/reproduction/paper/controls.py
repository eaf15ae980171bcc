"""The paper's main statements under SaGe and under its controls, pruned without contexts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from reproduction.paper.chance import (
    AS_CHANCE,
    FREQUENCY,
    drawn,
    numbers,
)
from reproduction.paper.claims import read_records
from reproduction.paper.claims_page import SIGNS, show_chance, show_control, show_ours, show_value
from reproduction.paper.forest import SHADE, STROKE, forest
from reproduction.paper.formats import NOTHING, Files, number
from reproduction.paper.measures import FEWEST_SEEDS
from reproduction.paper.statements import REPRODUCED, ahead, read_headlines
from reproduction.paper.style import GREY, drawing, few_round_ticks, tokenizer_styles
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
        "chance (docs/appendix/statistics.md)."
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

# What a reader can take in at a glance; the table has all main statements.
_SHOWN = (
    *("sage_only_word_initial", "bpe_only_word_initial", "bpe_only_short", "words_of_5_more"),
    *("token_ratio", "ratio_lower"),
)
_LEAST = "least frequent pruned"
_PAPER = "the paper's value"
_WIDEST = 24  # characters of a statement in one line
_BREAK = 10  # deviations from which on the axis has a smaller scale
_OUTSIDE = 0.8  # of the room up to the break, which what is outside it has
_UNIT = "deviations of random prunings,\nas the paper says →"
_NO_SPREAD = "The random prunings agree on every main statement:\nthere is no spread to draw."


def figure_controls(
    claims: Files,
    values: Files,
    *,
    labels: Mapping[str, str],
    controls: Mapping[str, Mapping[str, str]],
    languages: Mapping[str, str],
    **files: Files,
) -> None:
    """Draw SaGe beside its controls on a few main statements: a panel a version of SaGe.

    The unit is the standard deviation of the random seeds, and right is where the statement points.
    A statement on which all seeds agree has no such unit and is left out. Where nothing is left,
    the figure says so.
    claims, values, languages: as for `table_controls`. labels: SaGe tokenizers and what they are
    called. controls: SaGe tokenizer -> what it is set against beside the random and the least
    frequent ones, and what that is called. files: pdf, png and optionally style.

    Raises:
        UserError: `claims` is missing or damaged, or has no controls.
    """
    rows = control_rows(read_records(claims, labels), read_headlines(values))
    rows = [row for row in rows if np.ptp(_seeds(row)) > 0]
    found = [row for row in rows if row.any["id"] in _SHOWN]
    if not found:
        with drawing([1], **files) as (_, grid):
            grid[0, 0].text(0.5, 0.5, _NO_SPREAD, ha="center", va="center")
            grid[0, 0].set_axis_off()
        return
    marks = pd.DataFrame(
        [
            {
                "strip": languages.get(row.language or "", row.language or ""),
                "panel": label,
                "unit": _UNIT,
                "row": fill(row.headline, _WIDEST, break_on_hyphens=False),
                **mark,
            }
            for row in sorted(found, key=lambda row: list(languages).index(row.language))
            for name, label in labels.items()
            for mark in _marks(row, name, label, controls[name])
        ]
    )
    reach = {label: _reach(found) for label in labels.values()}
    scale = _BrokenScale(float(marks[["x", "low", "high"]].abs().max(axis=None)))
    band = Patch(label="where all random prunings lie", color=SHADE)
    look = {"shade": reach, "dress": scale.dress, "handles": [band], "sharex": "col"}
    forest(marks, **look, **files)


def _seeds(row: Row) -> np.ndarray:
    return drawn(row.any["controls"])


def _reach(rows: Sequence[Row]) -> float:
    """Return the largest distance of a random seed from the mean of its row, in deviations."""
    return max(abs(_standardised(row, seed)) for row in rows for seed in _seeds(row).tolist())


def _marks(
    row: Row, name: str, label: str, controls: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield what is drawn of a statement beside a version of SaGe: paper, controls, SaGe."""
    if not isinstance(row.any["paper"], Sequence):  # neither words nor a range
        stroke = {"colour": "black", "marker": STROKE, "filled": True}
        yield _mark(row, _PAPER, row.any["paper"]) | stroke
    for control, value in _control_values(row, controls).items():
        yield _mark(row, control, value) | {"filled": False}
    record = row.records.get(name)
    if record is not None and record["ours"] is not None:
        beyond = record["chance"] not in (AS_CHANCE, None)
        interval = (record["low"], record["high"])
        yield _mark(row, label, record["ours"], interval) | {"filled": beyond}


def _control_values(row: Row, controls: Mapping[str, str]) -> dict[str, float]:
    """Return what the controls beside the random ones give, mean of their seeds, by their names."""
    found = {
        label: numbers(row.any["controls"].get(name, ()))
        for name, label in {FREQUENCY: _LEAST, **controls}.items()
    }
    return {label: float(values.mean()) for label, values in found.items() if values.size}


def _mark(
    row: Row, label: str, value: float, interval: Sequence[float | None] = (None, None)
) -> dict[str, Any]:
    style = tokenizer_styles([label])[label]
    low, high = (np.nan if end is None else _standardised(row, end) for end in interval)
    return {
        "group": label,
        "x": _standardised(row, value),
        "low": low,
        "high": high,
        "colour": style.colour,
        "marker": style.mark,
    }


def _standardised(row: Row, value: float) -> float:
    """Return a value as deviations from the random mean, positive where the statement points."""
    seeds = _seeds(row)
    mean, deviation = float(seeds.mean()), float(seeds.std(ddof=1))
    kind, paper, direction = row.any["kind"], row.any["paper"], row.any.get("direction")
    further, at_mean = (
        ahead(kind, paper, one, direction) for one in (mean + 1e-6 * deviation, mean)
    )
    up = further >= at_mean
    return (value - mean) / (deviation if up else -deviation)


@dataclass(frozen=True)
class _BrokenScale:
    """An axis with a smaller scale outside `_BREAK` deviations; reach: the largest to be shown."""

    reach: float

    @property
    def _squeeze(self) -> float:
        return max(1.0, (self.reach - _BREAK) / (_OUTSIDE * _BREAK))

    def _place(self, value: np.ndarray) -> np.ndarray:
        outside = np.maximum(np.abs(value) - _BREAK, 0)
        return np.sign(value) * (np.minimum(np.abs(value), _BREAK) + outside / self._squeeze)

    def _value(self, place: np.ndarray) -> np.ndarray:
        outside = np.maximum(np.abs(place) - _BREAK, 0)
        return np.sign(place) * (np.minimum(np.abs(place), _BREAK) + outside * self._squeeze)

    def dress(self, axes: Axes) -> None:
        """Set scale and ticks of a panel, and mark where the axis breaks."""
        if self._squeeze == 1:
            few_round_ticks(axes)
            return
        axes.set_xscale("function", functions=(self._place, self._value))
        power = 10 ** np.floor(np.log10(self.reach))
        far = np.floor(self.reach / power) * power
        axes.set_xticks([-far, -_BREAK, 0, _BREAK, far] if far > _BREAK else [-_BREAK, 0, _BREAK])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: number(x, ",.0f")))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlim(-1.1 * self.reach, 1.1 * self.reach)
        for side in (-1, 1):
            axes.axvline(side * _BREAK, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
            place = {"x": side * _BREAK, "y": 0, "transform": axes.get_xaxis_transform()}
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0}
            axes.text(s="//", ha="center", va="center", fontsize=8, bbox=box, **place)
