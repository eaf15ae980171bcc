"""What each update trains on, made ready by a thread while the device works on the one before."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch

from sagevocab.lm.masking import MaskedRows
from sagevocab.lm.team import Team, even_parts


@dataclass(frozen=True)
class Part:
    """A micro-batch: rows of a batch, and whether some of them end in padding."""

    rows: slice
    padded: bool


@dataclass(frozen=True)
class Batch:
    """One process's rows of an update, as tensors; the fields of `MaskedRows`.

    targets: tokens that the whole update predicts, over all processes; at least 1.
    """

    inputs: torch.Tensor
    positions: torch.Tensor
    labels: torch.Tensor
    present: torch.Tensor | None
    parts: tuple[Part, ...]
    targets: int

    def to(self, device: torch.device) -> Batch:
        """Copy to `device`; from pinned memory that goes on beside other work."""
        tensors = {
            name: getattr(self, name).to(device, non_blocking=True)
            for name in ("inputs", "positions", "labels")
        }
        present = self.present
        if present is not None:
            present = present.to(device, non_blocking=True)
        return Batch(**tensors, present=present, parts=self.parts, targets=self.targets)


def prepare(masked: MaskedRows, team: Team, micro_batch: int, pin: bool) -> Batch:
    """Take this process's part of an update's rows and cut it into micro-batches.

    pin: into memory that a GPU copies from without the processor.
    """
    own = masked[team.share(len(masked))]
    tensors = {name: _tensor(getattr(own, name), pin) for name in ("inputs", "positions", "labels")}
    parts = tuple(
        Part(rows, padded=own[rows].present is not None)
        for rows in even_parts(len(own), micro_batch)
    )
    present = None if own.present is None else _tensor(own.present, pin)
    return Batch(**tensors, present=present, parts=parts, targets=max(1, masked.targets()))


def _tensor(array, pin: bool) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    return tensor.pin_memory() if pin else tensor


class Batches:
    """The batches of a run, in order, each made while the one before is in use.

    A batch depends on its update's number alone, so it is the same whoever makes it, and when.

    Attributes:
        waited: seconds for which `take` had to wait.
    """

    def __init__(self, make: Callable[[int], Batch]) -> None:
        """Make batches with `make`, a function of the update's number."""
        self._make = make
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._next: tuple[int, Future[Batch]] | None = None
        self.waited = 0.0

    def take(self, update: int) -> Batch:
        """Return the batch of `update` and begin to make the one after."""
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
