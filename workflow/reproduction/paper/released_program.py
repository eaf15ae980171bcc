"""What the authors' program and the preset `released_loss` prune in common, and what chooses it.

docs/appendix/statistics.md has the rule ("The released program"), docs/appendix/deviations.md what
the two do differently. benchmarks/peers/prune_released.py runs them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pandas as pd

from reproduction.paper.overlap import overlaps, table_of_overlaps, what_chooses
from reproduction.paper.table import Table

PROGRAM, PRESET = "program", "preset"
_COUNTS, _PRUNABLE, _RANDOM = "counts", "prunable", "random"
_WITHOUT_CONTEXTS = ("without vectors", "shuffled words")
_DRAWS = 20

# What pruned -> pieces in their order: `program, seed 1`, `preset, without vectors`, ..., `counts`;
# `prunable` are those that could be.
PrunedBy = Mapping[str, Sequence[str]]


def table_released_program(pruned: Mapping[str, PrunedBy]) -> Table:
    """Return what each of both prunes in common with its controls, and by the rule what chooses.

    pruned: title of a language -> what each pruned.
    """
    parts = [
        _overlaps(title, of_text, reading, other)
        for reading, other in ((PROGRAM, PRESET), (PRESET, PROGRAM))
        for title, of_text in pruned.items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    chosen = rows.drop_duplicates(["reading", "language"])
    verdicts = [f"{row.reading}, {row.language}: {row.chooses}" for row in chosen.itertuples()]
    rule = 'By the rule of docs/appendix/statistics.md ("The released program"): '
    return table_of_overlaps(rows, notes=[f"{rule}{'; '.join(verdicts)}."])


def _overlaps(title: str, pruned: PrunedBy, reading: str, other: str) -> pd.DataFrame:
    """Return the rows of `overlaps` of program or preset, with the verdict in `chooses`.

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
        **{kind: [f"{reading}, {kind}"] for kind in _WITHOUT_CONTEXTS},
        _COUNTS: [_COUNTS],
        f"{other}'s seeds": seeds[other],
        _RANDOM: [*draws],
    }
    rows = overlaps({title: pieces}, {reading: seeds[reading]}, controls, [_RANDOM])
    by_control = {row["control"]: row for row in rows.to_dict("records")}
    return rows.assign(chooses=what_chooses(by_control, *_WITHOUT_CONTEXTS, [_COUNTS]))
