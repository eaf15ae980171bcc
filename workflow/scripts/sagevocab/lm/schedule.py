"""How long training lasts, and the learning rate of every update."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Schedule(Protocol):
    """What a training loop asks for: when to stop and how large a step to take."""

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the budget that is spent after `updates` and `seconds`."""

    def rate(self, updates: int, seconds: float) -> float:
        """Return the learning rate of the update that comes after `updates` and `seconds`."""


@dataclass(frozen=True)
class BudgetSchedule:
    """A rise over the share `warmup` of a budget, then a linear decay to 0 (paper, Appendix A).

    The budget is a number of updates, or of seconds when `updates` is None: then the clock alone
    drives the rate, as in Izsak et al. 2021. `decay` False keeps the peak after the rise.
    """

    peak: float
    warmup: float
    updates: int | None
    seconds: float | None = None
    decay: bool = True

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the budget that is spent."""
        return updates / self.updates if self.updates is not None else seconds / self.seconds

    def rate(self, updates: int, seconds: float) -> float:
        """Return the rate in the middle of the update: neither the first nor the last is 0."""
        share = min(1.0, self.share(updates + 0.5, seconds))
        if share < self.warmup:
            return self.peak * share / self.warmup
        if not self.decay:
            return self.peak
        return self.peak * (1 - share) / max(1 - self.warmup, 1e-9)


@dataclass(frozen=True)
class ReplaySchedule:
    """The learning rates of an earlier run, one an update: repeats a run that the clock drove."""

    rates: Sequence[float]

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the recorded updates that are done."""
        return updates / len(self.rates)

    def rate(self, updates: int, seconds: float) -> float:
        """Return the recorded rate."""
        return self.rates[updates]


@dataclass(frozen=True)
class PolynomialSchedule:
    """Hugging Face's polynomial decay of degree 1 with warm-up, step for step.

    Args: the peak, the rate at the end (1e-7 for "polynomial", 0 for "linear"), the updates of the
    warm-up and of the whole run. As there, the very first update has rate 0 if there is a warm-up.
    """

    peak: float
    warmup_updates: int
    updates: int
    end: float = 1e-7

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the updates that are done."""
        return updates / self.updates

    def rate(self, updates: int, seconds: float) -> float:
        """Return the rate of the update after `updates`."""
        if updates < self.warmup_updates:
            return self.peak * updates / self.warmup_updates
        left = 1 - (updates - self.warmup_updates) / (self.updates - self.warmup_updates)
        return self.end + (self.peak - self.end) * left


def crosses(before: float, after: float, every: float) -> bool:
    """Tell whether a multiple of `every` lies in (before, after]."""
    # Sums of shares miss a multiple by rounding: 3 * 0.1 > 0.3.
    return math.floor(after / every + 1e-9) > math.floor(before / every + 1e-9)
