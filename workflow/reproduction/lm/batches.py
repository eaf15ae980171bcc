"""What each update trains on: masked rows, cut into micro-batches while the device is busy.

Every row gets the same number of masked tokens, so that every batch has one shape and the output
layer, as wide as the vocabulary, is computed only where there is something to predict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduction.lm.encoder import IGNORED, TextEncoder
from reproduction.lm.team import Team

# Devlin et al. 2019: of the tokens to predict 80 % are hidden, 10 % replaced, 10 % kept.
HIDDEN, REPLACED = 0.8, 0.1


@dataclass(frozen=True)
class MaskedRows:
    """Rows with masked tokens, as arrays or as tensors.

    Attributes:
        inputs: int64[rows, length], ids that the model sees.
        positions: int64[rows, masked], where it predicts.
        labels: int64[rows, masked], the ids that stood there; IGNORED in a row with too few tokens.
        present: bool[rows, length], False on padding; None if there is none.
    """

    inputs: Any
    positions: Any
    labels: Any
    present: Any

    def __getitem__(self, rows: slice) -> MaskedRows:
        """Return some of the rows."""
        present = None if self.present is None else self.present[rows]
        if present is not None and present.all():
            present = None
        return MaskedRows(self.inputs[rows], self.positions[rows], self.labels[rows], present)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.inputs)


@dataclass(frozen=True)
class Batch:
    """One process's micro-batches of an update, as tensors.

    targets: tokens that the whole update predicts, over all processes; at least 1.
    """

    parts: list[MaskedRows]
    targets: int


def masked_per_row(length: int, rate: float) -> int:
    """Return how many of a row's tokens ([CLS] and [SEP] don't count) are predicted."""
    return max(1, round(rate * (length - 2)))


def mask_rows(
    rows: np.ndarray, rate: float, encoder: TextEncoder, rng: np.random.Generator
) -> MaskedRows:
    """Mask tokens of `rows` (int[rows, length]) for a model to predict.

    Special tokens, the unknown token among them, are neither masked nor put in another's place.
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
    present = inputs != encoder.pad
    return MaskedRows(
        inputs=inputs,
        positions=positions,
        labels=np.where(masked, originals, IGNORED),
        present=None if present.all() else present,
    )


def _shown(originals: np.ndarray, encoder: TextEncoder, rng: np.random.Generator) -> np.ndarray:
    fate = rng.random(originals.shape)
    others = rng.choice(np.flatnonzero(encoder.ordinary), size=originals.shape)
    shown = np.where(fate < HIDDEN + REPLACED, others, originals)
    return np.where(fate < HIDDEN, encoder.mask, shown)


def even_parts(rows: int, largest: int) -> list[slice]:
    """Cut `rows` into as few parts of at most `largest` as possible; sizes differ by one at most.

    So there are at most two shapes to compile, and no part leaves the device idle.
    """
    count = -(-rows // largest)
    bounds = [rows * part // count for part in range(count + 1)]
    return [slice(start, end) for start, end in zip(bounds, bounds[1:], strict=False)]


def make_batch(
    masked: MaskedRows, team: Team, micro_batch: int, put: Callable[[np.ndarray], Any]
) -> Batch:
    """Cut this process's share of an update's rows into micro-batches; `put` makes tensors."""
    own = masked[team.share(len(masked))]
    parts = []
    for rows in even_parts(len(own), micro_batch):
        part = own[rows]
        present = None if part.present is None else put(part.present)
        parts.append(MaskedRows(put(part.inputs), put(part.positions), put(part.labels), present))
    return Batch(parts, targets=max(1, int((masked.labels != IGNORED).sum())))


class Batches:
    """The batches of a run in order, each made by a thread while the one before is in use.

    A batch depends only on its update's number, so it does not matter when it is made.

    Attributes:
        waited: seconds that `take` had to wait.
    """

    def __init__(self, make: Callable[[int], Batch]) -> None:
        """Make batches with `make`, a function of the update's number."""
        self._make = make
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._next: tuple[int, Future[Batch]] | None = None
        self.waited = 0.0

    def take(self, update: int) -> Batch:
        """Return the batch of `update` and begin to make the next one."""
        began = time.perf_counter()
        if self._next is None or self._next[0] != update:
            self._next = (update, self._thread.submit(self._make, update))
        batch = self._next[1].result()
        self.waited += time.perf_counter() - began
        self._next = (update + 1, self._thread.submit(self._make, update + 1))
        return batch

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)
