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
    difference_along,
    draw_lines,
)
from sagevocab.paper.style import (
    MOST_STYLES,
    TokenizerStyle,
    curve_legend,
    drawing,
    tokenizer_styles,
)

Files = str | Path
# row of panels -> label of its axis; the middle one needs a baseline
_ROWS = {
    "bits_per_character": "Bits per\ncharacter",
    "difference": "minus\n{baseline}",
    "word_accuracy": "Words\nright (%)",
}
# axis -> (title, unit that is shown if the largest value is below the limit: limit, size, name)
_UNITS = {
    "step": ("Updates", [(np.inf, 1, "")]),
    "characters": ("Characters seen", [(2e6, 1e3, "thousands"), (2e9, 1e6, "millions")]),
    "seconds": ("Time with validations", [(180, 1, "seconds"), (10800, 60, "minutes")]),
}
_LARGEST = {"characters": (1e9, "billions"), "seconds": (3600, "hours")}
_MARK = "o"  # a curve of one validation is a point
_REPEAT = {"linewidth": 0.6, "alpha": 0.8}


def figure_learning_curves(
    panels: Curves,
    *,
    labels: Sequence[str],
    baseline: str | None,
    seed: int,
    pdf: Files,
    png: Files,
    style: Files | None = None,
) -> None:
    """Draw bits per character and word accuracy against updates, characters and time.

    Three rows of panels a language, a line a tokenizer with its 95 % interval over held-out lines
    as a band: bits per character, their difference from the baseline's on the same lines and at the
    same place, and words right. Pretrainings with further seeds are thin lines.
    panels: as `read_curves` gives them. labels: of all tokenizers of the run, whose order gives
    the colours. baseline: label of BPE; None, if it has no model, draws no differences. seed: of
    the bootstrap.
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
    comparable = baseline in compared and len(compared) > 1
    names = [name for name in _ROWS if name != "difference" or comparable]
    shape = (len(names) * len(panels), len(AXES))
    with drawing(shape, height=1.12, pdf=pdf, png=png, style=style, sharey="row") as (
        figure,
        grid,
    ):
        for number, (title, panel) in enumerate(panels.items()):
            rows = dict(zip(names, grid[len(names) * number :], strict=False))
            _draw_language(rows, panel, drawn, baseline, seed)
            rows[names[0]][0].set_title(title)
        figure.align_ylabels(grid[:, 0])
        curve_legend(figure, drawn)


def _draw_language(
    rows: Mapping[str, np.ndarray],
    panel: Mapping[str, Sequence[Curve]],
    styles: Mapping[str, TokenizerStyle],
    baseline: str | None,
    seed: int,
) -> None:
    weights = draw_lines(len(next(iter(panel.values()))[0].lines), seed)
    columns = [_axis(axis, panel) for axis in AXES]
    for name, row in rows.items():
        row[0].set_ylabel(_ROWS[name].format(baseline=baseline))
        for axes, axis, (_, unit, largest) in zip(row, AXES, columns, strict=True):
            for label, style in styles.items():
                if name == "difference" and label == baseline:
                    axes.axhline(0, linewidth=0.8, **style.curve)
                    continue
                other = panel[baseline] if name == "difference" else None
                _draw_tokenizer(axes, name, panel[label], other, weights, axis, unit, style)
            _dress(axes, largest)
    for axes, (name, *_) in zip(row, columns, strict=True):
        axes.set_xlabel(name)


def _draw_tokenizer(
    axes: Axes,
    name: str,
    curves: Sequence[Curve],
    baseline: Sequence[Curve] | None,
    weights: np.ndarray,
    axis: str,
    unit: float,
    style: TokenizerStyle,
) -> None:
    """Draw a tokenizer's own pretraining with a band, and further seeds as thin lines.

    baseline: draws the difference from these pretrainings instead, seed by seed.
    """
    others = baseline if baseline is not None else [None] * len(curves)
    for number, (curve, other) in enumerate(zip(curves, others, strict=False)):
        at, values = _values(name, curve, other, weights[: 1 if number else None], axis)
        if number:
            axes.plot(at / unit, values[0], **style.curve, **_REPEAT)
            continue
        low, high = np.quantile(values[1:], [0.025, 0.975], axis=0)
        axes.fill_between(at / unit, low, high, color=style.colour, alpha=0.18, linewidth=0)
        axes.plot(at / unit, values[0], marker=_MARK if len(at) == 1 else "", **style.curve)


def _values(
    name: str, curve: Curve, other: Curve | None, weights: np.ndarray, axis: str
) -> tuple[np.ndarray, np.ndarray]:
    if other is not None:
        return difference_along(curve, other, weights, axis)
    factor = 100 if name == "word_accuracy" else 1
    return curve.at[axis].to_numpy(), factor * QUANTITIES[name](curve, weights)


def _dress(axes: Axes, largest: float) -> None:
    # The same for all panels above one another, also where differences end before the curves do.
    axes.set_xlim(0, 1.03 * largest)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.locator_params(axis="x", nbins=4)
    axes.locator_params(axis="y", nbins=4)


def _axis(axis: str, panel: Mapping[str, Sequence[Curve]]) -> tuple[str, float, float]:
    """Return the name of an axis with its unit, the unit's size, and the largest value in it."""
    largest = max(curve.at[axis].max() for curves in panel.values() for curve in curves)
    title, units = _UNITS[axis]
    for limit, size, unit in units:
        if largest < limit:
            return f"{title} ({unit})" if unit else title, size, largest / size
    size, unit = _LARGEST[axis]
    return f"{title} ({unit})", size, largest / size
