"""Small causal transformers: what their models need for held-out lines, and learning curves.

All take {language: {tokenizer label: the models of its seeds}}. Bits are those of a code of whole
lines (`analysis.ngrams`), so vocabularies compare, also with their n-grams. The paper has no such
models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from reproduction.analysis.stats import CONFIDENCE
from reproduction.paper.formats import Files
from reproduction.paper.style import TokenizerStyle, draw_band
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

_AXIS = "seen"  # what a learning curve is drawn along
_COLUMNS = ["step", "seen", "seconds", "line", "characters", "bits"]


@dataclass(frozen=True)
class CausalModel:
    """What a model needs for held-out lines.

    characters, bits: float64[lines], of each line after the training.
    curve: a row a validation: step, seen (characters trained on), seconds (of training) and rate
        (bits per character of the lines of every validation).
    """

    characters: np.ndarray
    bits: np.ndarray
    curve: pd.DataFrame


CausalPanels = Mapping[str, Mapping[str, Sequence[CausalModel]]]


def read_causal(
    paths: Mapping[str, Mapping[str, Sequence[Files]]],
) -> dict[str, dict[str, list[CausalModel]]]:
    """Read what `train_causal` wrote: language -> label -> a file a seed.

    Raises:
        UserError: a file is missing or damaged, or two in a language are of other lines.
    """
    panels = {
        title: {label: [_read(path) for path in seeds] for label, seeds in panel.items()}
        for title, panel in paths.items()
    }
    for title, panel in panels.items():
        first, *rest = (one.characters for seeds in panel.values() for one in seeds)
        if any(not np.array_equal(one, first) for one in rest):
            raise UserError(
                f"causal models of {title} predicted other held-out lines than one another; "
                "delete the folder analysis/LANGUAGE/causal and run again"
            )
    return panels


def _read(path: Files) -> CausalModel:
    frame = read_parquet(path, _COLUMNS)
    last = frame[frame["step"] == frame["step"].max()].sort_values("line")
    always = frame.groupby("line")["step"].transform("size") == frame["step"].nunique()
    by_step = frame[always].groupby("step")
    curve = by_step[["seen", "seconds"]].first().astype(float)
    totals = by_step[["bits", "characters"]].sum()
    curve["rate"] = totals["bits"] / totals["characters"]
    return CausalModel(
        last["characters"].to_numpy(float), last["bits"].to_numpy(), curve.reset_index()
    )


# --- learning curves


def draw_causal(
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
        at = np.mean([one.curve[_AXIS] for one in seeds], axis=0) / 1e6
        change = [_minus(*pair) for pair in zip(seeds, panel[baseline], strict=True)]
        _draw_over_seeds(axes, at, change, styles[label])
    axes.set_xlim(left=0)
    axes.locator_params(nbins=4)
    axes.set_xlabel("Characters seen (millions)")


def _minus(one: CausalModel, other: CausalModel) -> np.ndarray:
    """Subtract the second curve at the first's validations; nan outside its range."""
    at, places = one.curve[_AXIS], other.curve[_AXIS]
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
