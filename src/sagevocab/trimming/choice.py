"""Which pieces to prune, in which order: greedy, the cheapest first, and nested over sizes.

By `tokens`, a piece costs the tokens that a text gains without it: its occurrences, times its parts
less one. A piece that falls into two parts and one that falls into one byte both cost 1 an
occurrence, or letters that have bytes would go first. By `frequency` it costs its occurrences at
the beginning.

A piece's occurrences go to its parts, and costs only grow, so a heap whose entries are corrected
when they come up is exact. But parts join their neighbours. So after every `_ROUND`-th of the
pieces the words that held them are cut again, by the model that is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import numpy as np

from sagevocab.trimming.chunks import Chunks
from sagevocab.trimming.models import Model

BY = ("tokens", "frequency")
_ROUND = 64  # rounds until all pieces of a model would have gone

Cost = Callable[[str, int], float]


def part_counts(model: Model) -> dict[str, int]:
    """Return into how many parts each piece falls; those that can never go are left out."""
    counts = {piece: len(model.parts(piece) or ()) for piece in model.left - model.protected}
    return {piece: count for piece, count in counts.items() if count}


def order_of_pruning(
    model: Model,
    chunks: Chunks,
    by: str,
    lengths: dict[str, int],
    scores: Mapping[str, float] | None = None,
) -> Iterator[str]:
    """Yield pieces in the order in which they are to go, as long as one can.

    Args:
        model: all pieces; those that were yielded have gone from it.
        chunks: of the text, cut by the model; they are cut again on the way.
        by: `tokens` or `frequency`; without meaning with `scores`.
        lengths: the model's `part_counts`.
        scores: what pieces are worth, by piece: all of `lengths`.
    """
    size = max(model.ids.values()) + 1
    first = chunks.occurrences(size)
    # Only by `tokens` do costs depend on how words are cut on the way.
    is_fixed = scores is not None or by == "frequency"
    a_round = len(model.ids) if is_fixed else max(1, len(model.ids) // _ROUND)
    while True:
        occurrences = chunks.occurrences(size)

        def cost(piece: str, parts: int, now: np.ndarray = occurrences) -> float:
            if scores is not None:
                return scores[piece]
            if by == "frequency":
                return int(first[model.ids[piece]])
            return int(now[model.ids[piece]]) * max(1, parts - 1)

        gone = []
        for piece in islice(_cheapest_first(model, occurrences, cost, lengths), a_round):
            yield piece
            gone.append(piece)
        if not gone:
            return
        chunks.encode_again(model, gone)


def _cheapest_first(
    model: Model, occurrences: np.ndarray, cost: Cost, lengths: dict[str, int]
) -> Iterator[str]:
    """Take pieces away, the cheapest first, and yield each; occurrences go to its parts.

    lengths: how many parts a piece had when it was last looked at; they seldom become fewer.
    """

    def entry(piece: str) -> tuple[float, int, str]:
        return cost(piece, lengths[piece]), -model.ids[piece], piece

    def enter(pieces: Iterable[str]) -> None:
        for piece in pieces:
            if piece in lengths:
                heapq.heappush(heap, entry(piece))

    heap: list[tuple[float, int, str]] = []
    enter(filter(model.can_go, model.left))
    while heap:
        piece = heap[0][2]
        parts = model.parts(piece) or ()
        lengths[piece] = len(parts)
        before = heapq.heappop(heap)
        if parts and entry(piece) > before:
            heapq.heappush(heap, entry(piece))
        elif parts and model.can_go(piece):
            for part in parts:
                occurrences[model.ids[part]] += occurrences[model.ids[piece]]
            enter(model.take_away(piece))
            yield piece
