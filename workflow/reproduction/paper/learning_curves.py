"""The learning curves of the language models.

Masked models are as `curves.read_curves` gives them, {language: {tokenizer label: its
pretrainings}}, causal ones as `line_bits.read_causal` does.
Source: paper, Section 4, "Subword Fertility" (fewer update steps; left to future work).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from matplotlib.axes import Axes
from scipy import stats

from reproduction.analysis.scores import TaskScores
from reproduction.analysis.stats import CONFIDENCE, resampled_weights
from reproduction.paper.curves import Curve, Curves, along, difference_along
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
# Characters seen, and there the mean difference from BPE with its interval: float64[places] each.
Band = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def figure_learning_curves(
    panels: Curves,
    *,
    labels: Sequence[str],
    baseline: str,
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

    labels: of all tokenizers of the run. baseline: label of BPE. seed: of the bootstrap. causal: as
    `read_causal` gives them. files: pdf, png and optionally style.
    """
    rows = {"Causal": causal, "Masked": panels} if causal else {"Masked": panels}
    shown = dict.fromkeys(chain(next(iter(panels.values())), *(causal or {}).values()))
    known = tokenizer_styles(labels)
    styles = {label: known[label] for label in shown}
    columns = list(dict.fromkeys(chain(*rows.values())))
    with drawing([2.0] * len(rows), len(columns), **files) as (figure, grid):
        for (kind, drawn), row in zip(rows.items(), grid, strict=True):
            name_row(row[0], kind, f"Bits per character\nminus {baseline}")
            for axes, title in zip(row, columns, strict=True):
                axes.set_visible(title in drawn)
                if title in drawn and kind == "Causal":
                    _draw(axes, _of_causal(drawn[title], baseline), styles, baseline, "millions")
                    axes.set_xlim(left=0)
                elif title in drawn:
                    curves = chain.from_iterable(drawn[title].values())
                    largest = max(curve.at["characters"].max() for curve in curves)
                    size, unit = next((size, unit) for most, size, unit in _UNITS if largest < most)
                    bands = _of_masked(drawn[title], baseline, seed)
                    _draw(axes, bands, styles, baseline, unit)
                    axes.set_xlim(0, 1.03 * largest / size)
        name_panels([axes for axes in grid.flat if axes.get_visible()], chain(*rows.values()))
        figure.align_ylabels(grid[:, 0])
        legend_above(figure, curve_handles(styles))


def _draw(
    axes: Axes,
    bands: Iterator[tuple[str, Band]],
    styles: Mapping[str, TokenizerStyle],
    baseline: str,
    unit: str,
) -> None:
    """Draw the bands of tokenizers by characters seen, and BPE as a line at 0."""
    size = next(size for _, size, name in _UNITS if name == unit)
    axes.axhline(0, linewidth=0.8, **styles[baseline].curve)
    for label, (at, *band) in bands:
        draw_band(axes, at / size, *band, styles[label])
    axes.locator_params(nbins=4)
    axes.set_xlabel(f"Characters seen ({unit})")


def _of_causal(
    panel: Mapping[str, Sequence[CausalModel]], baseline: str
) -> Iterator[tuple[str, Band]]:
    """Yield the bands of causal models: the mean of the seeds, Student's interval over them."""
    for label in [label for label in panel if label != baseline]:
        seeds = panel[label]
        change = [_minus(*pair) for pair in zip(seeds, panel[baseline], strict=True)]
        mean, half = np.mean(change, axis=0), 0.0
        if len(seeds) > 1:
            error = stats.sem(change, axis=0)
            half = stats.t.ppf((1 + CONFIDENCE) / 2, len(seeds) - 1) * error
        at = np.mean([one.curve["seen"] for one in seeds], axis=0)
        yield label, (at, mean, mean - half, mean + half)


def _minus(one: CausalModel, other: CausalModel) -> np.ndarray:
    """Subtract the second curve at the first's validations; nan outside its range."""
    at, places = one.curve["seen"], other.curve["seen"]
    other_rates = np.interp(at, places, other.curve["rate"], left=np.nan, right=np.nan)
    return one.curve["rate"].to_numpy() - other_rates


def _of_masked(
    panel: Mapping[str, Sequence[Curve]], baseline: str, seed: int
) -> Iterator[tuple[str, Band]]:
    """Yield the bands of masked models, seed by seed minus BPE's; over lines and seeds."""
    weights = resampled_weights(len(panel[baseline][0].lines), seed=seed)
    for label in [label for label in panel if label != baseline]:
        pairs = zip(panel[label], panel[baseline], strict=True)
        drawn = [difference_along(*pair, weights) for pair in pairs]
        # Seeds have not seen quite as many characters at a validation: at the places of the first.
        at = drawn[0][0]
        seeds = np.array([along(at, *one) for one in drawn if len(one[0])])
        means = [TaskScores({"": seeds[:, :, place].T}).mean("") for place in range(len(at))]
        yield label, (at, *np.reshape(means, (-1, 3)).T)
