"""The learning curves of the language models.

Masked models are as `curves.read_curves` gives them, {language: {tokenizer label: its
pretrainings}}, causal ones as `line_bits.read_causal` does.
Source: paper, Section 4, "Subword Fertility" (fewer update steps; left to future work).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from matplotlib.axes import Axes
from scipy import stats

from reproduction.analysis.scores import TaskScores
from reproduction.analysis.stats import CONFIDENCE, Estimate, resampled_weights
from reproduction.paper.curves import (
    Curve,
    Curves,
    along,
    bits_per_character,
    difference_along,
)
from reproduction.paper.formats import Files
from reproduction.paper.line_bits import CausalModel, CausalPanels
from reproduction.paper.style import (
    TokenizerStyle,
    curve_handles,
    draw_band,
    drawing,
    legend_above,
    name_panels,
    name_row,
    tokenizer_styles,
)

# (limit of the largest value, size of the unit, its name)
_UNITS = [(2e6, 1e3, "thousands"), (2e9, 1e6, "millions"), (np.inf, 1e9, "billions")]


def figure_learning_curves(
    panels: Curves,
    *,
    labels: Sequence[str],
    baseline: str | None,
    seed: int,
    causal: CausalPanels | None = None,
    **files: Files,
) -> None:
    """Draw how far models are from BPE's on held-out lines, along their training.

    A row of panels is of the causal models, where there are some, one of the masked ones; a column
    is a language, a line a tokenizer with its 95 % interval as a band: bits per character minus the
    baseline's on the same lines and at the same place. Of several pretrainings a line is the mean,
    and the interval is over held-out lines and seeds. `table_differences` has final values
    and floors.

    labels: of all tokenizers of the run. baseline: label of BPE; None, if it has no model, draws
    the bits themselves. seed: of the bootstrap. causal: as `read_causal` gives them. files: pdf,
    png and optionally style.
    """
    causal = causal or {}
    compared = list(next(iter(panels.values())))
    shown = list(dict.fromkeys([*compared, *chain.from_iterable(causal.values())]))
    known = tokenizer_styles(labels)
    styles = {label: known[label] for label in shown}
    baseline = baseline if len(compared) > 1 else None
    rows = [*[causal] * bool(causal), panels]
    columns = list(dict.fromkeys(chain.from_iterable(rows)))
    with drawing([2.0] * len(rows), len(columns), **files) as (figure, grid):
        for title, *column in zip(columns, *grid, strict=True):
            if causal and title in causal:
                _draw_causal(column[0], causal[title], styles, baseline)
            if title in panels:
                _draw_masked(column[-1], panels[title], styles, baseline, seed)
        minus = f"\nminus {baseline}" if baseline else ""
        for kind, row, drawn in zip(("Causal", "Masked")[-len(rows) :], grid, rows, strict=True):
            name_row(row[0], kind, f"Bits per character{minus}")
            for axes, title in zip(row, columns, strict=True):
                axes.set_visible(title in drawn)
        name_panels([axes for axes in grid.flat if axes.get_visible()], chain(*rows))
        figure.align_ylabels(grid[:, 0])
        legend_above(figure, curve_handles(styles))


def _draw_causal(
    axes: Axes,
    panel: Mapping[str, Sequence[CausalModel]],
    styles: Mapping[str, TokenizerStyle],
    baseline: str,
) -> None:
    """Draw the difference in bits per character from BPE's at the same place.

    By characters seen. A line is the mean of the seeds, a band Student's 95 % interval over them.
    """
    for label, seeds in panel.items():
        if label == baseline:
            axes.axhline(0, linewidth=0.8, **styles[label].curve)
            continue
        at = np.mean([one.curve["seen"] for one in seeds], axis=0) / 1e6
        change = [_minus(*pair) for pair in zip(seeds, panel[baseline], strict=True)]
        _draw_over_seeds(axes, at, change, styles[label])
    axes.set_xlim(left=0)
    axes.locator_params(nbins=4)
    axes.set_xlabel("Characters seen (millions)")


def _minus(one: CausalModel, other: CausalModel) -> np.ndarray:
    """Subtract the second curve at the first's validations; nan outside its range."""
    at, places = one.curve["seen"], other.curve["seen"]
    other_rates = np.interp(at, places, other.curve["rate"], left=np.nan, right=np.nan)
    return one.curve["rate"].to_numpy() - other_rates


def _draw_over_seeds(
    axes: Axes, at: np.ndarray, values: Sequence[np.ndarray], style: TokenizerStyle
) -> None:
    """Draw the mean of the curves of several seeds, with Student's 95 % interval over them."""
    mean, half = np.mean(values, axis=0), np.zeros(len(at))
    if len(values) > 1:
        error = stats.sem(values, axis=0)
        half = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * error
    draw_band(axes, at, mean, mean - half, mean + half, style)


def _draw_masked(
    axes: Axes,
    panel: Mapping[str, Sequence[Curve]],
    styles: Mapping[str, TokenizerStyle],
    baseline: str | None,
    seed: int,
) -> None:
    """Draw the curves of masked models against the characters that they have seen."""
    weights = resampled_weights(len(next(iter(panel.values()))[0].lines), seed=seed)
    largest = max(curve.at["characters"].max() for curves in panel.values() for curve in curves)
    size, unit = next((size, unit) for limit, size, unit in _UNITS if largest < limit)
    for label, curves in panel.items():
        if label == baseline:
            axes.axhline(0, linewidth=0.8, **styles[label].curve)
        else:
            _draw_tokenizer(axes, curves, panel.get(baseline), weights, size, styles[label])
    axes.set_xlim(0, 1.03 * largest / size)
    axes.locator_params(nbins=4)
    axes.set_xlabel(f"Characters seen ({unit})")


def _draw_tokenizer(
    axes: Axes,
    curves: Sequence[Curve],
    baseline: Sequence[Curve] | None,
    weights: np.ndarray,
    unit: float,
    style: TokenizerStyle,
) -> None:
    """Draw the curve of a tokenizer's pretrainings with its band.

    baseline: draws the difference from these pretrainings instead, seed by seed.
    """
    others = baseline if baseline is not None else [None] * len(curves)
    drawn = [_values(*pair, weights) for pair in zip(curves, others, strict=False)]
    # Seeds have not seen quite as many characters at a validation: at the places of the first.
    at = drawn[0][0]
    seeds = np.array([along(at, *one) for one in drawn if len(one[0])])
    bands = [_over_seeds(seeds[:, :, place]) for place in range(len(at))]
    draw_band(axes, at / unit, *np.reshape(bands, (-1, 3)).T, style)


def _over_seeds(values: np.ndarray) -> Estimate:
    """Return the mean over seeds with its interval; values: float64[seeds, 1 + resamples]."""
    return TaskScores({"": values.T}).mean("")


def _values(
    curve: Curve, other: Curve | None, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if other is not None:
        return difference_along(curve, other, weights)
    return curve.at["characters"].to_numpy(), bits_per_character(curve, weights)
