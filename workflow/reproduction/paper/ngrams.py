"""What Kneser-Ney n-grams of every tokenizer's pieces need for held-out lines (`analysis.ngrams`).

The bits are those of a code of whole lines, so vocabularies compare. The paper has no n-grams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reproduction.analysis.ngrams import ORDERS
from reproduction.paper.formats import Files
from reproduction.paper.frames import each
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

_BITS = [f"bits_{order}" for order in range(1, ORDERS + 1)]


@dataclass(frozen=True)
class LineBits:
    """What a tokenizer's n-grams need for held-out lines.

    characters: float64[lines]. bits: lines estimated from, ascending -> float64[orders, lines].
    """

    characters: np.ndarray
    bits: Mapping[int, np.ndarray]


Panels = Mapping[str, Mapping[str, LineBits]]


def read_ngrams(paths: Mapping[str, Mapping[str, Files]]) -> dict[str, dict[str, LineBits]]:
    """Read what `measure_ngrams` gave: title of a language -> label of a tokenizer -> file.

    Raises:
        UserError: a file is missing or damaged, or two in a language are of other lines.
    """
    panels = each(_read, paths)
    for title, panel in panels.items():
        first, *rest = panel.values()
        if any(not np.array_equal(one.characters, first.characters) for one in rest):
            raise UserError(
                f"n-grams of {title} predicted other held-out lines than one another; delete the "
                "folder analysis/LANGUAGE/ngrams and run again"
            )
    return panels


def _read(path: Files) -> LineBits:
    frame = read_parquet(path, ["lines", "line", "characters", *_BITS]).sort_values("line")
    sizes = {size: part for size, part in frame.groupby("lines")}
    characters = next(iter(sizes.values()))["characters"].to_numpy(float)
    return LineBits(characters, {size: part[_BITS].to_numpy().T for size, part in sizes.items()})
