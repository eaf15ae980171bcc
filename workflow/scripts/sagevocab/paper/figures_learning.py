"""The learning curves of the language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from sagevocab.errors import UserError
from sagevocab.paper.learning_curves import (
    AXES,
    QUANTITIES,
    Curve,
    Curves,
    draw_lines,
)
from sagevocab.paper.style import (
    MOST_STYLES,
    TokenizerStyle,
    curve_legend,
    drawing,
    row_titles,
    tokenizer_styles,
)

Files = str | Path
# quantity -> label of its axis, factor
_SHOWN = {
    "bits_per_character": ("Bits per character", 1),
    "word_accuracy": ("Words right (%)", 100),
}
# axis -> (title, unit that is shown if the largest value is below the limit: limit, size, name)
_UNITS = {
    "step": ("Updates", [(np.inf, 1, "")]),
    "characters": ("Characters seen", [(2e6, 1e3, "thousands"), (2e9, 1e6, "millions")]),
    "seconds": ("Training time", [(180, 1, "seconds"), (10800, 60, "minutes")]),
}
_LARGEST = {"characters": (1e9, "billions"), "seconds": (3600, "hours")}
_REPEAT = {"linewidth": 0.6, "alpha": 0.8}


def figure_learning_curves(
    panels: Curves,
    *,
    labels: Sequence[str],
    seed: int,
    pdf: Files,
    png: Files,
    style: Files | None = None,
) -> None:
    """Draw bits per character and word accuracy against updates, characters and time.

    Two rows of panels a language, a line a tokenizer with its 95 % interval over held-out lines as
    a band; pretrainings with further seeds are thin lines.
    panels: as `read_curves` gives them. labels: of all tokenizers of the run, whose order gives
    the colours. seed: of the bootstrap.
    Source: paper, Section 4, "Subword Fertility" (fewer update steps; left to future work).
    """
    if not panels:
        raise UserError(
            "config keys lm.enabled and lm.tokenizers: figure_learning_curves needs a model; "
            "enable them"
        )
    compared = list(next(iter(panels.values())))
    known = tokenizer_styles(labels if len(labels) <= MOST_STYLES else compared)
    drawn = {label: known[label] for label in compared}
    shape = (len(_SHOWN) * len(panels), len(AXES))
    with drawing(shape, height=1.35, pdf=pdf, png=png, style=style, sharey="row") as (
        figure,
        grid,
    ):
        for number, (title, panel) in enumerate(panels.items()):
            rows = grid[len(_SHOWN) * number : len(_SHOWN) * (number + 1)]
            _draw_language(rows, title, panel, drawn, seed)
        curve_legend(figure, drawn)


def _draw_language(
    rows: np.ndarray,
    title: str,
    panel: Mapping[str, Sequence[Curve]],
    styles: Mapping[str, TokenizerStyle],
    seed: int,
) -> None:
    weights = draw_lines(len(next(iter(panel.values()))[0].lines), seed)
    columns = [_axis(axis, panel) for axis in AXES]
    for row, name in zip(rows, QUANTITIES, strict=True):
        ylabel, factor = _SHOWN[name]
        for label, style in styles.items():
            own, *repeats = panel[label]
            values = factor * QUANTITIES[name](own, weights)
            others = [factor * QUANTITIES[name](curve, weights[:1])[0] for curve in repeats]
            for axes, axis, (_, size) in zip(row, AXES, columns, strict=True):
                _draw_curve(axes, own.at[axis].to_numpy() / size, values, style)
                for curve, line in zip(repeats, others, strict=True):
                    axes.plot(curve.at[axis] / size, line, **style.curve, **_REPEAT)
        row[0].set_ylabel(ylabel)
    row_titles(rows[0], title, [""] * len(AXES))
    for axes, (name, _) in zip(rows[-1], columns, strict=True):
        axes.set_xlabel(name)


def _draw_curve(axes: Axes, at: np.ndarray, values: np.ndarray, style: TokenizerStyle) -> None:
    low, high = np.quantile(values[1:], [0.025, 0.975], axis=0)
    axes.fill_between(at, low, high, color=style.colour, alpha=0.18, linewidth=0)
    axes.plot(at, values[0], **style.curve)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.locator_params(axis="x", nbins=4)


def _axis(axis: str, panel: Mapping[str, Sequence[Curve]]) -> tuple[str, float]:
    """Return the name of an axis with its unit, and the unit's size."""
    largest = max(curve.at[axis].max() for curves in panel.values() for curve in curves)
    title, units = _UNITS[axis]
    for limit, size, unit in units:
        if largest < limit:
            return f"{title} ({unit})" if unit else title, size
    size, unit = _LARGEST[axis]
    return f"{title} ({unit})", size
