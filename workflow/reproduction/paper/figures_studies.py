"""The studies' figures: readings of the loss, and how stable the ranking of the losses is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reproduction.analysis.vocabulary import rank_correlations
from reproduction.paper.formats import Files
from reproduction.paper.studies import (
    FULL,
    LOSSES,
    QUANTITIES,
    SAMPLE,
    Assessments,
    builds_of,
    require_studies,
    row_title,
)
from reproduction.paper.style import (
    MOST_STYLES,
    drawing,
    is_narrow,
    label_below,
    legend_above,
    tokenizer_styles,
    wrapped,
)
from sagevocab.errors import UserError
from sagevocab.presets import DEFAULT_PRESET, NUMBERS, overrides, reading_settings

Row = Mapping[str, Any]

_PANELS = {
    "sage_only_word_initial": "SaGe-only,\nword-initial\n(%)",
    "bpe_only_word_initial": "BPE-only,\nword-initial\n(%)",
    "bpe_only_short": "BPE-only,\nlength 2–3\n(%)",
    "sage_only_long": "SaGe-only,\nlength ≥ 5\n(%)",
    "token_ratio": "Tokens,\nSaGe / BPE",
    "ratio_to_bpe": "Neighbours\n/ count,\nSaGe / BPE",
}
_PERCENT = {quantity.name: quantity.percent for quantity in QUANTITIES}
# Languages are no tokenizers, so they have no hue: dark or grey, filled or open, and a mark each.
_LANGUAGES = (
    ("#222222", "o", "#222222"),
    ("#808080", "D", "#808080"),
    ("#222222", "s", "white"),
    ("#808080", "^", "white"),
)
_CHANGES = {
    "loss_lines": {"all": "all lines"},
    "retrain": {True: "retrained", False: "not retrained"},
    "push_back_line_start": {True: "pushed back", False: "not pushed back"},
}
_UNSTYLED = "#555555"
_BAND = "#EFEFEF"
_MEAN = {"linestyle": "none", "markersize": 3.8, "zorder": 4}
# A stroke, so that it shows above and below the mark of a mean that it coincides with.
_SEED = {"linestyle": "none", "marker": "|", "markersize": 7, "markeredgewidth": 0.8, "zorder": 3}
_BOUND = {"color": "#6E6E6E", "linewidth": 0.8, "linestyle": "-", "zorder": 1.5}
_PAPER = {"color": "#222222", "linewidth": 1, "linestyle": (0, (1.8, 1.2)), "zorder": 2}
_EQUAL = {"color": "#6E6E6E", "linewidth": 0.8, "zorder": 1.5}
_ROW_HEIGHT, _NARROW_ROW = 0.2, 0.13  # inches, at the width of a page and of a column
_ACROSS = 3  # panels side by side in a figure of one column
# Where the columns that name a row stand: head, points left of the panels, alignment.
_COLUMNS = (("Loss", 72, "right"), ("Decoder", 67, "left"), ("Contexts", 33, "left"))
_SMALL = 7  # points: the names of rows and panels, of which many share the width
_WIDEST = 27  # characters of a row's name in one line; more would take the panels' room


def figure_readings(
    assessments: Assessments,
    readings: Sequence[Row],
    **files: Files,
) -> None:
    """Draw key quantities of every reading: readings down, quantities across, a mark a seed.

    A mark is the mean over the seeds, a stroke a seed; the run's own tokenizers are the readings at
    full size. The paper's value, which is of English, is a dash at the height of English in every
    row, so that it crosses no other language's marks. A figure of one column has a number for each
    row, and a list of them below.
    assessments, readings: as `table_readings` takes them. files: pdf, png and optionally style.
    """
    require_studies(assessments)
    looks = _looks(assessments)
    height = _ROW_HEIGHT * len(readings) + 0.75
    shape = (1, len(_PANELS))
    with drawing(shape, height=height, fold=_ACROSS, sharey=True, **files) as (figure, grid):
        for axes, (name, title) in zip(grid[0], _PANELS.items(), strict=True):
            _draw_quantity(axes, assessments, readings, name, looks)
            _dress_panel(axes, readings, ratio=not _PERCENT[name])
            axes.set_xlabel(title, fontsize=_SMALL)
        grid[0, 0].set_ylim(len(readings) - 0.5, -0.5)
        if is_narrow(figure):
            _number_rows(figure, grid[0, 0], readings)
        else:
            _name_rows(grid[0, 0], readings)
        _readings_legend(figure, looks)


def _is_preset(row: Row) -> bool:
    return row["scale"] == FULL or not overrides(row)


def _loss_name(row: Row) -> str:
    """Return the first column of a row: the reading's label if it has one, else its loss in words.

    The decoder and the matrix have columns of their own.
    """
    unlabelled = row["label"] == row["name"].replace("_", " ")
    if _is_preset(row) or not unlabelled:
        return row_title(row)
    printed = row.get("preset", DEFAULT_PRESET) == DEFAULT_PRESET
    parts = [] if printed else [row["preset"]]
    if printed or "loss" in row:
        parts.append(LOSSES[reading_settings(row)["loss"]])
    parts += [
        words.get(row[key], f"{row[key]} lines") for key, words in _CHANGES.items() if key in row
    ]
    parts += [f"{key} {row[key]}" for key in NUMBERS if key in row]
    return ", ".join(parts)


def _looks(assessments: Assessments) -> dict[str, tuple[str, str, str]]:
    if len(assessments) > len(_LANGUAGES):
        raise UserError(
            f"config key languages: figure_readings tells {len(_LANGUAGES)} languages apart, got "
            f"{len(assessments)}; list fewer"
        )
    return dict(zip(assessments, _LANGUAGES, strict=False))


def _draw_quantity(
    axes: Axes,
    assessments: Assessments,
    rows: Sequence[Row],
    name: str,
    looks: Mapping[str, tuple[str, str, str]],
) -> None:
    factor = 100 if _PERCENT[name] else 1
    step = 0.8 / len(looks)
    for number, (title, assessment) in enumerate(assessments.items()):
        shift = step * (number + 0.5) - 0.4
        colour, marker, inside = looks[title]
        mean = {"color": colour, "marker": marker, "markerfacecolor": inside, **_MEAN}
        paper = assessment["paper"].get(name)
        for place, row in enumerate(rows):
            height = place + shift
            builds = builds_of(assessment, row)
            values = [build["quantities"][name] for build in builds]
            known = np.array([factor * value for value in values if value is not None])
            if known.size > 1:
                axes.plot(known, np.full(known.size, height), color=colour, **_SEED)
            if known.size:
                axes.plot(known.mean(), height, **mean)
            if paper is not None:
                dash = height - step / 2, height + step / 2
                axes.plot([factor * paper] * 2, dash, **_PAPER)


def _dress_panel(axes: Axes, rows: Sequence[Row], *, ratio: bool) -> None:
    """Draw the bands behind the presets, and 1 where a ratio is drawn; leave room on each side."""
    low, high = axes.dataLim.intervalx
    if ratio:
        axes.axvline(1, **_EQUAL)
        low, high = min(low, 1), max(high, 1)
    room = 0.1 * (high - low) or 1
    axes.set_xlim(low - room, high + room)
    for place, row in enumerate(rows):
        if _is_preset(row):
            axes.axhspan(place - 0.5, place + 0.5, color=_BAND, linewidth=0, zorder=0)
    on_sample = sum(row["scale"] == SAMPLE for row in rows)
    if 0 < on_sample < len(rows):
        axes.axhline(on_sample - 0.5, color="black", linewidth=0.5)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=2, steps=[1, 2, 4, 5, 10], min_n_ticks=2)


def _name_rows(axes: Axes, rows: Sequence[Row]) -> None:
    """Write the columns of every row, and their heads, left of the first panel."""
    axes.set_yticks(range(len(rows)), [""] * len(rows))
    options = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    options |= {"va": "center", "fontsize": _SMALL}
    settings = [reading_settings(row) for row in rows]
    texts = (
        [fill(_loss_name(row), _WIDEST) for row in rows],
        [setting["decoder"] for setting in settings],
        [setting["context_matrix"] for setting in settings],
    )
    weights = ["bold" if _is_preset(row) else "normal" for row in rows]
    for (head, left, align), column in zip(_COLUMNS, texts, strict=True):
        options |= {"xytext": (-left, 0), "ha": align}
        axes.annotate(head, (0, -0.95), fontstyle="italic", **options)
        for place, text in enumerate(column):
            weight = weights[place] if column is texts[0] else "normal"
            axes.annotate(text, (0, place), fontweight=weight, **options)


def _number_rows(figure: Figure, axes: Axes, rows: Sequence[Row]) -> None:
    """Number the rows of panels that leave no room for names, and list the names below them."""
    numbers = [str(number) for number in range(1, len(rows) + 1)]
    axes.set_yticks(range(len(rows)), numbers)
    down = math.ceil(len(_PANELS) / _ACROSS)
    listed = 0.13 * (len(rows) + 1)  # inches
    figure.set_figheight(0.55 + down * (_NARROW_ROW * len(rows) + 0.75) + listed)
    names = [
        f"{number}  {_loss_name(row)}; {setting['decoder']}; {setting['context_matrix']}"
        for number, row, setting in zip(numbers, rows, map(reading_settings, rows), strict=True)
    ]
    heads = "; ".join(head for head, *_ in _COLUMNS).lower()
    names.insert(0, f"Rows: {heads}")
    blank = [Line2D([], [], linestyle="none", label=name) for name in names]
    options = {"handlelength": 0, "handletextpad": 0, "labelspacing": 0.25, "fontsize": _SMALL}
    figure.legend(handles=blank, loc="outside lower left", **options)


def _readings_legend(figure: Figure, looks: Mapping[str, tuple[str, str, str]]) -> None:
    handles = [
        Line2D([], [], label=title, color=colour, marker=marker, markerfacecolor=inside, **_MEAN)
        for title, (colour, marker, inside) in looks.items()
    ]
    handles.append(Line2D([], [], label="one seed", color=_LANGUAGES[0][0], **_SEED))
    handles.append(Line2D([], [], label="the paper's value (English)", **_PAPER))
    handles.append(Line2D([], [], label="as BPE (1)", **_EQUAL))
    legend_above(figure, handles)


# --- rankings


def figure_rankings(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    labels: Sequence[str],
    stable: tuple[int, float],
    **files: Files,
) -> None:
    """Draw the rank correlation of the losses against the distance of the rankings.

    A panel a language, a line a SaGe tokenizer: the mean over the pairs of rankings that far
    apart, with a band from the lowest to the highest. Thin lines: the claim calls a ranking
    `stable` that correlates so much at such a distance (iterations, correlation).
    panels: language title -> tokenizer label -> iteration, piece, loss. labels: of all tokenizers
    of the run, whose order gives the colours. files: pdf, png and optionally style.
    Source: paper, Section 3 ("relatively stable over dozens of iterations").
    """
    if not any(panels.values()):
        raise UserError(
            "config key tokenizers: figure_rankings needs one of method sage; list sage or "
            "sage_released"
        )
    styles = tokenizer_styles(labels[:MOST_STYLES])
    with drawing((1, len(panels)), height=2.3, sharey=True, **files) as (figure, grid):
        for axes, (title, panel) in zip(grid[0], panels.items(), strict=True):
            for label, rankings in panel.items():
                curve = styles[label].curve if label in styles else {"color": _UNSTYLED}
                _draw_correlations(axes, rank_correlations(rankings), label, curve)
            axes.axvline(stable[0], **_BOUND)
            axes.axhline(stable[1], **_BOUND)
            axes.set_title(wrapped(figure, title))
            axes.set_xlim(left=0)
        grid[0, 0].set_ylabel("Spearman's correlation\nof the losses")
        grid[0, 0].set_ylim(min(0.0, grid[0, 0].get_ylim()[0]), 1.02)
        handles, _ = grid[0, 0].get_legend_handles_labels()
        claim = "claim: {} iterations apart or more, at least {:g}".format(*stable)
        handles.append(Line2D([], [], label=claim, **_BOUND))
        label_below(figure, "Distance of two rankings (pruning iterations)")
        legend_above(figure, handles)


def _draw_correlations(
    axes: Axes, correlations: pd.DataFrame, label: str, curve: Mapping[str, Any]
) -> None:
    by_distance = correlations.dropna().astype(float).groupby("distance")["correlation"]
    means = by_distance.mean()  # of nothing, where a short pruning has one ranking
    axes.fill_between(
        means.index, by_distance.min(), by_distance.max(), color=curve["color"], alpha=0.18, lw=0
    )
    axes.plot(means.index, means, label=label, marker=".", markersize=4, **curve)
