"""What each update of pretraining predicts: masked rows.

Every row gets the same number of masked tokens, so that every batch has one shape and the output
layer, as wide as the vocabulary, is computed only where there is something to predict.
"""

from __future__ import annotations

import numpy as np
import torch

from reproduction.lm.tokenizer import IGNORED, TextEncoder
from reproduction.lm.training import Batch

# Devlin et al. 2019: of the tokens to predict 80 % are hidden, 10 % replaced, 10 % kept.
HIDDEN, REPLACED = 0.8, 0.1


def masked_per_row(length: int, rate: float) -> int:
    """Return how many of a row's tokens ([CLS] and [SEP] don't count) are predicted."""
    return max(1, round(rate * (length - 2)))


def mask_rows(
    rows: np.ndarray, rate: float, encoder: TextEncoder, rng: np.random.Generator
) -> Batch:
    """Mask tokens of `rows` (int[rows, length]) for a model to predict.

    Special tokens, the unknown token among them, are neither masked nor put in another's place.

    Returns:
        input_ids: int64[rows, length], what the model sees.
        attention_mask: bool[rows, length], False on padding.
        positions: int64[rows, masked], where it predicts.
        labels: int64[rows, masked], the ids that stood there; IGNORED in a row with too few tokens.
    """
    inputs = np.asarray(rows, dtype=np.int64).copy()
    ordinary = encoder.ordinary[inputs]
    draws = rng.random(inputs.shape, dtype=np.float32)
    draws[~ordinary] = 2.0  # behind every ordinary token
    count = masked_per_row(inputs.shape[1], rate)
    positions = np.sort(np.argpartition(draws, count - 1, axis=1)[:, :count], axis=1)

    originals = np.take_along_axis(inputs, positions, axis=1)
    masked = np.take_along_axis(ordinary, positions, axis=1)
    shown = np.where(masked, _shown(originals, encoder, rng), originals)
    np.put_along_axis(inputs, positions, shown, axis=1)
    arrays = {
        "input_ids": inputs,
        "attention_mask": inputs != encoder.pad,
        "positions": positions,
        "labels": np.where(masked, originals, IGNORED),
    }
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


def _shown(originals: np.ndarray, encoder: TextEncoder, rng: np.random.Generator) -> np.ndarray:
    fate = rng.random(originals.shape)
    others = rng.choice(np.flatnonzero(encoder.ordinary), size=originals.shape)
    shown = np.where(fate < HIDDEN + REPLACED, others, originals)
    return np.where(fate < HIDDEN, encoder.mask, shown)


def micro_batches(batch: Batch, largest: int) -> list[Batch]:
    """Cut a batch into as few parts of at most `largest` rows as possible.

    Their sizes differ by one at most: there are at most two shapes to compile, and no part leaves
    the device idle.
    """
    rows = len(batch["input_ids"])
    count = -(-rows // largest)
    bounds = [rows * part // count for part in range(count + 1)]
    return [part_of(batch, *pair) for pair in zip(bounds, bounds[1:], strict=False)]


def part_of(batch: Batch, start: int, end: int) -> Batch:
    """Return rows of a batch."""
    return {name: values[start:end] for name, values in batch.items()}
