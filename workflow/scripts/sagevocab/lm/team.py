"""The processes that train one model together, one a device, on one machine.

Every process holds the whole model, takes its part of an update's rows and adds its gradients to
the others', once an update. What an update computes is what one device would compute, up to the
order of a sum; only dropout is drawn by each process for itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import distributed

# What torchrun, accelerate and their like tell each process that they start.
_TOLD = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# The first process validates, saves and draws while the others wait.
PATIENCE = timedelta(hours=2)


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
        """Return which of an update's rows are this process's: parts differ by a row at most."""
        bounds = [rows * part // self.size for part in (self.rank, self.rank + 1)]
        return slice(*bounds)

    def agree(self, value: float) -> float:
        """Return the first process's `value`: clocks differ, decisions must not."""
        if self.size == 1:
            return value
        told = torch.tensor([value], dtype=torch.float64)
        distributed.broadcast(told, src=0)
        return told.item()

    def add(self, values: torch.Tensor) -> None:
        """Put the sum over all processes in the place of `values`."""
        if self.size > 1:
            distributed.all_reduce(values)

    def wait(self) -> None:
        """Return when all processes are here."""
        self.agree(0.0)


class Gradients:
    """The gradients of a model as one stretch of memory, which is summed over a team at once.

    The last value of the stretch is the loss, so that it needs no round of its own. A single
    process needs none of it: its parameters keep the gradients that torch makes.
    """

    def __init__(self, model: torch.nn.Module, team: Team) -> None:
        """Lay the gradients of `model` out, if `team` has to sum them."""
        self._team, self._parameters = team, list(model.parameters())
        self._flat: torch.Tensor | None = None
        if team.size > 1:
            count = sum(parameter.numel() for parameter in self._parameters)
            like = self._parameters[0]
            self._flat = torch.zeros(count + 1, dtype=like.dtype, device=like.device)
            self._assign()

    def clear(self) -> None:
        """Forget the gradients of the update before."""
        if self._flat is None:
            for parameter in self._parameters:
                parameter.grad = None
        else:
            self._flat.zero_()

    def total(self, loss: torch.Tensor) -> torch.Tensor:
        """Sum gradients and `loss` (a scalar) over the team; return the loss."""
        if self._flat is None:
            return loss
        self._flat[-1] = loss
        self._team.add(self._flat)
        return self._flat[-1]

    def _assign(self) -> None:
        sizes = [parameter.numel() for parameter in self._parameters]
        parts = self._flat[:-1].split(sizes)
        for parameter, part in zip(self._parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)


def in_team() -> bool:
    """Tell whether this process was started as one of several."""
    return all(name in os.environ for name in _TOLD) and int(os.environ["WORLD_SIZE"]) > 1


@contextmanager
def joined_team(gpus: int) -> Iterator[Team]:
    """Join the processes that were started together with this one; alone, be a team of one."""
    if not in_team():
        yield Team()
        return
    team = Team(*(int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")))
    if gpus and torch.cuda.is_available():
        torch.cuda.set_device(team.local_rank % torch.cuda.device_count())
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    distributed.init_process_group(backend, timeout=PATIENCE)
    yield team
    team.wait()
    # Not after an error: the others would see the connection close before they are told of it,
    # or, in a sum on GPUs, never return. The end of the process closes it.
    distributed.destroy_process_group()


def even_parts(rows: int, largest: int) -> list[slice]:
    """Cut `rows` into as few parts of at most `largest` as can be, which differ by a row at most.

    So there are no more than two shapes to compile, and no part that leaves a device idle.
    """
    count = -(-rows // largest)
    bounds = [rows * part // count for part in range(count + 1)]
    return [slice(start, end) for start, end in zip(bounds, bounds[1:], strict=False)]
