"""How many pieces two vocabularies have in common, and how many of those that they pruned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from sagevocab.errors import UserError
from sagevocab.vocab.pieces import read_pieces


@dataclass(frozen=True)
class Spread:
    """A number taken several times: its mean, lowest and highest value; nan of nothing."""

    mean: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of some values."""
        known = np.array(list(values), dtype=float)
        if not known.size:
            return cls(float("nan"), float("nan"), float("nan"), 0)
        return cls(float(known.mean()), float(known.min()), float(known.max()), len(known))


@dataclass(frozen=True)
class Build:
    """A vocabulary and the pieces that were pruned on the way to it; BPE prunes none."""

    pieces: frozenset[str]
    pruned: frozenset[str]


def read_build(folder: Path | str) -> Build:
    """Read `pieces.txt` and, if there is one, `ablations.parquet`.

    Raises:
        UserError: a file is missing or damaged.
    """
    path = Path(folder) / "ablations.parquet"
    pieces = frozenset(read_pieces(Path(folder) / "pieces.txt"))
    return Build(pieces, _pruned(path) if path.exists() else frozenset())


def _pruned(path: Path) -> frozenset[str]:
    try:
        return frozenset(pd.read_parquet(path, columns=["piece"])["piece"])
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: holds no pruned pieces ({reason}); make it again") from error


def common_share(first: Collection[str], second: Collection[str]) -> float:
    """Return the pieces in both over the mean size of the two; nan of nothing.

    Of two sets of equal size it is the share of the one that is in the other (Dice's measure).
    """
    size = len(first) + len(second)
    return 2 * len(set(first) & set(second)) / size if size else float("nan")


def common_shares(builds: Sequence[Build]) -> tuple[Spread, Spread]:
    """Return the shares in common of every two builds: of vocabularies, and of pruned pieces."""
    pairs = list(combinations(builds, 2))
    vocabularies = (common_share(one.pieces, two.pieces) for one, two in pairs)
    pruned = [pair for pair in pairs if all(build.pruned for build in pair)]
    return Spread.of(vocabularies), Spread.of(
        common_share(one.pruned, two.pruned) for one, two in pruned
    )
