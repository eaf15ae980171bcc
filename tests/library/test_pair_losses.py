"""Losses of pairs: against float64, in both orders, and alone as in the table of all."""

from __future__ import annotations

import numpy as np
import pytest

from sagevocab.pruning.kernels import _loss_of, make_scores


def losses_of(scores, pieces: int) -> np.ndarray:
    """All pairs of tokens, -1 for an uncovered character: float64, a loss of 1 is 1."""
    tokens = range(-1, pieces)
    units = [[_loss_of(scores, np.int32(x), np.int32(y)) for y in tokens] for x in tokens]
    return np.array(units) / float(scores.one)


@pytest.mark.parametrize("scale", [0, 0.01, 1, 8])
@pytest.mark.parametrize(("pieces", "dimension"), [(1, 1), (127, 3), (128, 4), (300, 50)])
def test_table_and_cache_hold_equation_1_for_every_pair(pieces, dimension, scale):
    rng = np.random.default_rng(pieces)
    target, context = rng.normal(size=(2, pieces, dimension)).astype(np.float32)
    target, context = target * np.float32(scale), context / np.float32(np.sqrt(dimension))
    table = losses_of(make_scores(target, context, 8, table=True, threads=2), pieces)
    cache = losses_of(make_scores(target, context, 8), pieces)
    assert table.tobytes() == cache.tobytes() == table.T.copy().tobytes()
    assert not table[0].any()
    dots = target.astype(float) @ context.T.astype(float)
    expected = np.logaddexp(0, -dots) + np.logaddexp(0, -dots.T)
    # A dot product has the rounding errors of its terms.
    np.testing.assert_allclose(table[1:, 1:], expected, rtol=1e-6, atol=1e-6 * (1 + scale))
