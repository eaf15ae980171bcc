"""The processes that train one model together, one per GPU (or several on a CPU).

Every process holds the whole model, takes its share of an update's rows and adds its gradients to
those of the others, once per update. An update computes what a single process would compute, up to
the order of a sum; only dropout is drawn by each process for itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import distributed

# What torchrun and other launchers set for each process.
_LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# The first process validates and saves while the others wait.
_PATIENCE = timedelta(hours=2)


@dataclass(frozen=True)
class Team:
    """One of `size` processes: number `rank`, number `local_rank` on its machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def leads(self) -> bool:
        """Whether this process is the one that validates, logs and saves."""
        return self.rank == 0

    def share(self, rows: int) -> slice:
        """Return this process's part of an update's rows; parts differ by one row at most."""
        bounds = [rows * part // self.size for part in (self.rank, self.rank + 1)]
        return slice(*bounds)

    def agree(self, value: float) -> float:
        """Return the first process's `value`: clocks differ, decisions must not."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64)
        distributed.broadcast(shared, src=0)
        return shared.item()

    def wait(self) -> None:
        """Return when all processes have called this."""
        self.agree(0.0)


class Gradients:
    """The gradients of a model as one tensor, so that a team sums them in one operation.

    The tensor's last value is the loss. A single process needs none of this: its parameters keep
    the gradients that torch makes.
    """

    def __init__(self, model: torch.nn.Module, team: Team) -> None:
        """Make the gradients of `model` views of one tensor, if `team` has to sum them."""
        self._parameters = list(model.parameters())
        self._flat: torch.Tensor | None = None
        if team.size > 1:
            sizes = [parameter.numel() for parameter in self._parameters]
            like = self._parameters[0]
            self._flat = torch.zeros(sum(sizes) + 1, dtype=like.dtype, device=like.device)
            parts = self._flat[:-1].split(sizes)
            for parameter, part in zip(self._parameters, parts, strict=True):
                parameter.grad = part.view_as(parameter)

    def clear(self) -> None:
        """Drop the gradients of the previous update."""
        if self._flat is not None:
            self._flat.zero_()
            return
        for parameter in self._parameters:
            parameter.grad = None

    def total(self, loss: torch.Tensor) -> torch.Tensor:
        """Sum gradients and `loss` (a scalar) over the team; return the loss."""
        if self._flat is None:
            return loss
        self._flat[-1] = loss
        distributed.all_reduce(self._flat)
        return self._flat[-1]


def in_team() -> bool:
    """Return whether a launcher started this process as one of several."""
    return all(name in os.environ for name in _LAUNCHED) and int(os.environ["WORLD_SIZE"]) > 1


@contextmanager
def joined_team(gpus: int) -> Iterator[Team]:
    """Join the processes that were launched with this one; a lone process is a team of one."""
    if not in_team():
        yield Team()
        return
    team = Team(*(int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")))
    if gpus and torch.cuda.is_available():
        torch.cuda.set_device(team.local_rank % torch.cuda.device_count())
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    distributed.init_process_group(backend, timeout=_PATIENCE)
    yield team
    team.wait()
    # Not after an error: the others may be inside a collective that would then never return.
    distributed.destroy_process_group()
