"""What the authors' program and the preset `released_loss` prune in common, and without contexts.

docs/appendix/deviations.md says what the two do differently, benchmarks/peers/prune_released.py
runs them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pandas as pd

from reproduction.paper.overlap import overlaps, table_of_overlaps
from reproduction.paper.table import Table

PROGRAM, PRESET = "program", "preset"
_COUNTS, _PRUNABLE, _RANDOM = "counts", "prunable", "random"
_WITHOUT_CONTEXTS = {"zero": "without vectors", "shuffled_vectors": "shuffled words"}
_DRAWS = 20

# What pruned -> pieces in their order: `program, seed 1`, `preset, without vectors`, ..., `counts`;
# `prunable` are those that could be.
PrunedBy = Mapping[str, Sequence[str]]


def table_released_program(pruned: Mapping[str, PrunedBy]) -> Table:
    """Return what each of both prunes in common with its controls.

    pruned: title of a language -> what each pruned.
    """
    parts = [
        _overlaps(title, of_text, reading, other)
        for reading, other in ((PROGRAM, PRESET), (PRESET, PROGRAM))
        for title, of_text in pruned.items()
    ]
    taken_away = dict.fromkeys((PROGRAM, PRESET), _WITHOUT_CONTEXTS)
    return table_of_overlaps(pd.concat(parts, ignore_index=True), taken_away)


def _overlaps(title: str, pruned: PrunedBy, reading: str, other: str) -> pd.DataFrame:
    """Return the rows of `overlaps` of program or preset.

    reading: which of them. other: the other one, whose seeds are a control.
    """
    size = len(pruned[_COUNTS])
    draws = {
        f"{_RANDOM} {seed}": random.Random(seed).sample(pruned[_PRUNABLE], size)
        for seed in range(_DRAWS)
    }
    pieces = {name: frozenset(found) for name, found in {**pruned, **draws}.items()}
    seeds = {
        name: [one for one in pruned if one.startswith(f"{name}, seed")]
        for name in (reading, other)
    }
    controls = {
        **{kind: [f"{reading}, {kind}"] for kind in _WITHOUT_CONTEXTS.values()},
        _COUNTS: [_COUNTS],
        f"{other}'s seeds": seeds[other],
        _RANDOM: [*draws],
    }
    return overlaps({title: pieces}, {reading: seeds[reading]}, controls, [_RANDOM])
