"""Which pieces a pruning may take, and the order in which one at random takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagevocab.pieces import is_single_character


def prunable(pieces: Sequence[str]) -> np.ndarray:
    """Return which pieces may go, all but single characters: bool[pieces]."""
    return np.array([not is_single_character(piece) for piece in pieces])


def draw_order(may_go: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers of the pieces that may go (bool[pieces]) in the order in which they go."""
    return rng.permutation(np.flatnonzero(may_go))
