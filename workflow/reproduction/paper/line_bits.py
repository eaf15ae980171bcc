"""What models of a tokenizer's pieces need for held-out lines: n-grams, causal transformers.

Bits are those of a code of whole lines (`analysis.ngrams`), so vocabularies compare, and so do the
two kinds of models. The paper has neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd

from reproduction.analysis.ngrams import ORDERS
from reproduction.paper.formats import Files
from reproduction.paper.frames import each
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

_BITS = [f"bits_{order}" for order in ORDERS]


@dataclass(frozen=True)
class NgramBits:
    """What a tokenizer's n-grams need for held-out lines.

    characters: float64[lines]. bits: lines estimated from, ascending -> order -> float64[lines].
    """

    characters: np.ndarray
    bits: Mapping[int, Mapping[int, np.ndarray]]


@dataclass(frozen=True)
class CausalModel:
    """What a model needs for held-out lines.

    characters, bits: float64[lines], of each line after the training.
    curve: a row a validation: step, seen (characters trained on) and rate (bits per character of
        the lines of every validation).
    """

    characters: np.ndarray
    bits: np.ndarray
    curve: pd.DataFrame


# Title of a language -> label of a tokenizer -> its n-grams, or its models, one a seed.
NgramPanels = Mapping[str, Mapping[str, NgramBits]]
CausalPanels = Mapping[str, Mapping[str, Sequence[CausalModel]]]


def read_ngrams(paths: Mapping[str, Mapping[str, Files]]) -> NgramPanels:
    """Read what `measure_ngrams` gave: title of a language -> label of a tokenizer -> file.

    Raises:
        UserError: a file is missing or damaged, or two in a language are of other lines.
    """
    panels = each(_read_ngrams, paths)
    for title, panel in panels.items():
        _require_same_lines(panel.values(), f"n-grams of {title}", "ngrams")
    return panels


def _read_ngrams(path: str) -> NgramBits:
    frame = read_parquet(path, ["lines", "line", "characters", *_BITS]).sort_values("line")
    sizes = {size: part for size, part in frame.groupby("lines")}
    characters = next(iter(sizes.values()))["characters"].to_numpy(float)
    bits = {
        size: {order: part[name].to_numpy() for order, name in zip(ORDERS, _BITS, strict=True)}
        for size, part in sizes.items()
    }
    return NgramBits(characters, bits)


def read_causal(paths: Mapping[str, Mapping[str, Sequence[Files]]]) -> CausalPanels:
    """Read what `train_causal` wrote: title of a language -> label -> a file a seed.

    Raises:
        UserError: a file is missing or damaged, or two in a language are of other lines.
    """
    panels = each(_read_causal, paths)
    for title, panel in panels.items():
        models = chain.from_iterable(panel.values())
        _require_same_lines(models, f"causal models of {title}", "causal")
    return panels


def _read_causal(path: str) -> CausalModel:
    frame = read_parquet(path, ["step", "seen", "line", "characters", "bits"])
    last = frame[frame["step"] == frame["step"].max()].sort_values("line")
    always = frame.groupby("line")["step"].transform("size") == frame["step"].nunique()
    by_step = frame[always].groupby("step")
    curve = by_step[["seen"]].first().astype(float)
    totals = by_step[["bits", "characters"]].sum()
    curve["rate"] = totals["bits"] / totals["characters"]
    return CausalModel(
        last["characters"].to_numpy(float), last["bits"].to_numpy(), curve.reset_index()
    )


def _require_same_lines(
    measured: Iterable[NgramBits | CausalModel], models: str, folder: str
) -> None:
    first, *others = (one.characters for one in measured)
    if any(not np.array_equal(one, first) for one in others):
        raise UserError(
            f"{models} predicted other held-out lines than one another; delete the folder "
            f"analysis/LANGUAGE/{folder} and run again"
        )
