"""Learning curves of the language models, as bits per character.

A validation predicts the same words of held-out lines whatever the tokenizer
(`lm.heldout`). A model is given how many pieces a word is; the code of that number (`lm.floors`)
is added to what it needs for the pieces, so that the sum is the length of a code of the words, and
comparable between vocabularies. Curves of a language are compared only on lines of which every
tokenizer keeps the same number of words and characters.

Intervals resample these lines, each drawn whole under all tokenizers, validations and seeds. The
first row of every array over resamples is the measurement, the others are its replicates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from reproduction.analysis.stats import (
    CONFIDENCE,
    Comparison,
    estimate,
    percentile_p_value,
)
from reproduction.lm.floors import FLOORS
from reproduction.paper.formats import Files
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

_PROGRESS = ["step", "characters"]  # columns of training_log.parquet
_PREDICTED = ["line", "words", "characters"]
_COLUMNS = ["step", *_PREDICTED, "nats"]


@dataclass(frozen=True)
class Curve:
    """The validations of one pretraining.

    Attributes:
        at: steps and characters seen at each validation: float64, a row each.
        lines: int64[lines], numbers of the held-out lines.
        words, characters: float64[lines], how many the model predicted.
        nats: float64[validations, lines], -log p of the words and of the numbers of their pieces.
        floors: name in `FLOORS` -> float64[lines], the nats that tables need which see no
            other word.
    """

    at: pd.DataFrame
    lines: np.ndarray
    words: np.ndarray
    characters: np.ndarray
    nats: np.ndarray
    floors: Mapping[str, np.ndarray]

    def of_lines(self, chosen: np.ndarray) -> Curve:
        """Return the same of some lines; chosen: bool[lines]."""
        return replace(
            self,
            lines=self.lines[chosen],
            words=self.words[chosen],
            characters=self.characters[chosen],
            nats=self.nats[:, chosen],
            floors={name: nats[chosen] for name, nats in self.floors.items()},
        )


# title of a language -> label of a tokenizer -> its pretrainings, the run's own first
Curves = Mapping[str, Mapping[str, Sequence[Curve]]]


def read_curves(
    paths: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, list[Curve]]]:
    """Read the curves of all models and pair their lines in each language.

    paths: language -> label -> `models`, heldout.parquet of each pretraining with
    training_log.parquet in the same folder, and `floors`, what `measure_floors` gave.

    Raises:
        UserError: a file is missing or damaged, or nothing was predicted that can be compared.
    """
    return {
        title: _paired_panel(
            {
                label: [read_curve(model, files["floors"]) for model in files["models"]]
                for label, files in panel.items()
            },
            title,
        )
        for title, panel in paths.items()
    }


def _paired_panel(panel: Mapping[str, list[Curve]], title: str) -> dict[str, list[Curve]]:
    flat = paired([curve for curves in panel.values() for curve in curves])
    if not len(flat[0].lines):
        raise UserError(
            f"config keys lm.pretrain.heldout_lines and language_settings: {title} has no held-out "
            "lines that all its models predicted; hold more lines out (heldout_lines)"
        )
    rest = iter(flat)
    return {label: [next(rest) for _ in curves] for label, curves in panel.items()}


def read_curve(path: Files, floors: Files) -> Curve:
    """Read heldout.parquet of a model, the training log beside it and the floors of its words.

    Raises:
        UserError: one is missing or damaged, or they are not of one training.
    """
    path = Path(path)
    predicted = read_parquet(path, _COLUMNS)
    log = read_parquet(path.with_name("training_log.parquet"), _PROGRESS).set_index(
        "step", drop=False
    )
    steps = np.unique(predicted["step"])
    lines = np.unique(predicted["line"])
    predicted = predicted.sort_values(["step", "line"])
    if len(predicted) != steps.size * lines.size or not set(steps) <= set(log.index):
        raise UserError(f"{path}: validations or lines are missing; delete the model and run again")
    table = predicted[_COLUMNS[2:]].to_numpy(float).reshape(steps.size, lines.size, 3)
    words, characters, nats = np.moveaxis(table, -1, 0)
    by_line = _read_floors(floors, predicted[_PREDICTED].head(lines.size))
    return Curve(
        at=log.loc[steps, _PROGRESS].astype(float).reset_index(drop=True),
        lines=lines,
        words=words[:1].sum(axis=0),
        characters=characters[:1].sum(axis=0),
        nats=nats + by_line["count_nats"].to_numpy(),
        floors={
            name: (by_line[f"{name}_nats"] + by_line["count_nats"]).to_numpy() for name in FLOORS
        },
    )


def _read_floors(path: Files, predicted: pd.DataFrame) -> pd.DataFrame:
    """Read the floors of the lines, words and characters that a model predicted."""
    names = [f"{name}_nats" for name in ("count", *FLOORS)]
    found = read_parquet(path, [*_PREDICTED, *names]).sort_values("line")
    if not np.array_equal(found[_PREDICTED], predicted):
        raise UserError(
            f"{path}: these are not the held-out words that the model predicted; delete it and run "
            "again"
        )
    return found


def paired(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves on the lines of which all predicted as many words and characters."""
    predicted = [
        pd.DataFrame({"words": curve.words, "characters": curve.characters}, index=curve.lines)
        for curve in curves
    ]
    common = predicted[0][predicted[0]["words"] > 0]
    for other in predicted[1:]:
        same = other.reindex(common.index).eq(common).all(axis=1)
        common = common[same]
    return [curve.of_lines(np.isin(curve.lines, common.index)) for curve in curves]


def bits_per_character(curve: Curve, weights: np.ndarray) -> np.ndarray:
    """Return float64[1 + resamples, validations] for the `weights` of `resampled_weights`."""
    return weights @ curve.nats.T / (weights @ curve.characters)[:, None] / math.log(2)


def first_reached(at: np.ndarray, values: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return where curves first come down to a target, straight lines between validations.

    at: float64[validations], ascending. values: float64[rows, validations]. target: float64[rows].
    Returns float64[rows]: inf where a curve never does, the first validation where it already has.
    """
    reached = values <= target[:, None]
    after = reached.argmax(axis=1)
    before = np.maximum(after - 1, 0)
    rows = np.arange(len(values))
    above, below = values[rows, before], values[rows, after]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(after > 0, (above - target) / (above - below), 1.0)
        found = at[before] + share * (at[after] - at[before])
    return np.where(reached.any(axis=1), found, np.inf)


def compared_at(first: Curve, second: Curve, weights: np.ndarray) -> np.ndarray:
    """Return the worse of the two final bits per character, so that both curves reach it."""
    return np.maximum(*(bits_per_character(curve, weights)[:, -1] for curve in (first, second)))


def is_above_floor(first: Curve, second: Curve) -> bool:
    """Return whether two curves are compared where tables that see no other word are, too."""
    value = compared_at(first, second, np.ones((1, len(first.lines)))).item()
    return value >= context_free_bits(first, second)


def context_free_bits(first: Curve, second: Curve) -> float:
    """Return what tables that see no other word reach with the better of two vocabularies."""
    return min(
        nats.sum() / curve.characters.sum() / math.log(2)
        for curve in (first, second)
        for nats in curve.floors.values()
    )


def efforts(first: Curve, second: Curve, weights: np.ndarray) -> list[np.ndarray]:
    """Return the updates that each curve needs for the value of `compared_at`.

    Two float64[1 + resamples].
    """
    target = compared_at(first, second, weights)
    return [
        first_reached(curve.at["step"].to_numpy(), bits_per_character(curve, weights), target)
        for curve in (first, second)
    ]


def effort_ratio(pairs: Sequence[tuple[Curve, Curve]], weights: np.ndarray) -> Comparison:
    """Return the updates of the first curve of each pair over those of the second (`efforts`).

    pairs: of one pretraining, or one for each seed. Of one, the interval and the test of 1 are over
    held-out lines, for the `weights` of `resampled_weights`. Of several, ratios are averaged as
    logarithms, with Student's interval and test over seeds.
    """
    if len(pairs) == 1:
        ratios = np.divide(*efforts(*pairs[0], weights))
        return Comparison(*estimate(ratios), percentile_p_value(np.log(ratios)))
    logs = [np.log(np.divide(*efforts(*pair, weights[:1]))).item() for pair in pairs]
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * stats.sem(logs)
    ratio, low, high = np.exp(np.mean(logs) + half * np.array([0, -1, 1])).tolist()
    return Comparison(ratio, low, high, _student(logs))


def _student(logs: Sequence[float]) -> float:
    if np.ptp(logs) == 0:  # as on a coarse grid of validations: then a test of signs
        return 1.0 if logs[0] == 0 else 2.0 ** (1 - len(logs))
    return float(stats.ttest_1samp(logs, 0.0).pvalue)


def difference_along(
    first: Curve, second: Curve, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return bits per character of `first` minus those of `second` where both have been.

    Between validations curves are straight lines.
    Returns characters seen, float64[places], and float64[1 + resamples, places].
    """
    grids = [curve.at["characters"].to_numpy() for curve in (first, second)]
    low, high = max(grid[0] for grid in grids), min(grid[-1] for grid in grids)
    at = np.unique(np.clip(np.concatenate(grids), low, high)) if low <= high else np.zeros(0)
    one, other = (
        along(at, grid, bits_per_character(curve, weights))
        for curve, grid in zip((first, second), grids, strict=True)
    )
    return at, one - other


def along(at: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return curves at other places, straight lines between their own and level beyond.

    places: float64[places], ascending. values: float64[rows, places]. Returns float64[rows, at].
    """
    # the weight of each place's value in a straight line
    shares = np.array([np.interp(at, places, one) for one in np.eye(len(places))])
    return values @ shares
