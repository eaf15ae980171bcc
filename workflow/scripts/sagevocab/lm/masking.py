"""Masked tokens: which positions of a row are hidden, and what stands there instead.

Every row gets the same number of them, so that every batch has one shape and the vocabulary-wide
output layer is computed where there is something to predict, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sagevocab.lm.encoder import TextEncoder

IGNORED = -100  # PyTorch's label for "nothing to predict here"
# Devlin et al. 2019: of the tokens to predict 80 % are hidden, 10 % replaced, 10 % kept.
HIDDEN, REPLACED = 0.8, 0.1


@dataclass(frozen=True)
class MaskedRows:
    """Rows with hidden tokens.

    Attributes:
        inputs: int64[rows, length], ids that the model sees.
        positions: int64[rows, masked], where it predicts.
        labels: int64[rows, masked], the ids that stood there; IGNORED in a row with too few tokens.
        present: bool[rows, length], False on padding; None if there is none.
    """

    inputs: np.ndarray
    positions: np.ndarray
    labels: np.ndarray
    present: np.ndarray | None

    def __getitem__(self, rows: slice) -> MaskedRows:
        """Return some of the rows."""
        present = None if self.present is None else self.present[rows]
        if present is not None and present.all():
            present = None
        return MaskedRows(self.inputs[rows], self.positions[rows], self.labels[rows], present)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.inputs)

    def targets(self) -> int:
        """Return how many tokens there are to predict."""
        return int((self.labels != IGNORED).sum())


def masked_per_row(length: int, rate: float) -> int:
    """Return how many of a row's tokens ([CLS] and [SEP] don't count) are predicted."""
    return max(1, round(rate * (length - 2)))


def mask_rows(
    rows: np.ndarray, rate: float, encoder: TextEncoder, rng: np.random.Generator
) -> MaskedRows:
    """Hide tokens of `rows` (int[rows, length]) for a model to predict.

    Special tokens, the unknown token among them, are neither hidden nor put in another's place.
    """
    inputs = np.asarray(rows, dtype=np.int64).copy()
    ordinary = encoder.ordinary[inputs]
    draws = rng.random(inputs.shape, dtype=np.float32)
    draws[~ordinary] = 2.0  # behind every ordinary token
    count = masked_per_row(inputs.shape[1], rate)
    positions = np.sort(np.argpartition(draws, count - 1, axis=1)[:, :count], axis=1)

    originals = np.take_along_axis(inputs, positions, axis=1)
    hidden = np.take_along_axis(ordinary, positions, axis=1)
    shown = np.where(hidden, _shown(originals, encoder, rng), originals)
    np.put_along_axis(inputs, positions, shown, axis=1)
    present = inputs != encoder.pad
    return MaskedRows(
        inputs=inputs,
        positions=positions,
        labels=np.where(hidden, originals, IGNORED),
        present=None if present.all() else present,
    )


def _shown(originals: np.ndarray, encoder: TextEncoder, rng: np.random.Generator) -> np.ndarray:
    fate = rng.random(originals.shape)
    others = rng.choice(np.flatnonzero(encoder.ordinary), size=originals.shape)
    shown = np.where(fate < HIDDEN + REPLACED, others, originals)
    return np.where(fate < HIDDEN, encoder.mask, shown)
