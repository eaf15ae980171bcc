"""Weighted choice for the text generators: words follow Zipf's law, as in natural text."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from sagevocab.errors import UserError

T = TypeVar("T")


class Choice(Generic[T]):
    """Items with weights, drawn by a seeded generator that the caller passes in."""

    def __init__(self, items: Sequence[T], weights: Sequence[float] | None = None) -> None:
        """Keep the items; without weights all are equally likely."""
        self.items = tuple(items)
        self._cumulative = list(accumulate(weights or [1.0] * len(self.items)))

    def pick(self, rng: random.Random) -> T:
        """Draw one item."""
        return self.items[bisect(self._cumulative, rng.random() * self._cumulative[-1])]


def zipf(items: Iterable[T], exponent: float = 0.8, shift: float = 3.0) -> Choice[T]:
    """Items in order of frequency, weighted 1 / (rank + shift) ** exponent (Zipf-Mandelbrot)."""
    ranked = tuple(dict.fromkeys(items))
    return Choice(ranked, [(rank + shift) ** -exponent for rank in range(len(ranked))])


def distinct(draw: Callable[[], str], count: int, *, patience: int = 1000) -> Iterator[str]:
    """Yield `count` different texts from a generator function.

    Raises UserError when `patience` draws in a row bring nothing new.
    """
    seen: set[str] = set()
    misses = 0
    while len(seen) < count:
        text = draw()
        if text in seen:
            misses += 1
            if misses == patience:
                raise UserError(
                    f"rows: the generator made {len(seen)} different texts, not {count}; "
                    "ask for fewer rows"
                )
            continue
        misses = 0
        seen.add(text)
        yield text
