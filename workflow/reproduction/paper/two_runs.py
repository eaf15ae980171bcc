"""What another text or another trainer changes in the claims: their verdicts and values.

The two runs are alike but for what their names say. Statements are those that the findings count.
The yardstick is another seed. Of the n seeds of a reference run, with standard deviation s, one
value and the mean of m others lie within t s √(1 + 1/m) of each other in 19 of 20 cases, with
Student's t of n - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import SIGNS, show_measured
from reproduction.paper.control_pieces import SAGE
from reproduction.paper.formats import NOTHING
from reproduction.paper.statements import NOT_MEASURABLE
from reproduction.paper.table import markdown_table
from reproduction.paper.tally import origin_of

Record = Mapping[str, Any]
Claims = Mapping[tuple[str, str | None, str], Record]  # by id, language and tokenizer
_CASES = 0.95


@dataclass(frozen=True)
class Pair:
    """A statement on one language and version of SaGe in two runs.

    move: how far the value moves, in units of what another seed moves it at most in 19 of 20 cases;
    None where there are no seeds to tell, or no numbers.
    """

    first: Record
    second: Record
    move: float | None

    @property
    def version(self) -> str:
        """The label of the version of SaGe."""
        return SAGE[self.first["tokenizer"]]

    @property
    def has_one_verdict(self) -> bool:
        """Whether both runs give the same verdict."""
        return self.first["verdict"] == self.second["verdict"]


def read_counted_claims(claims: Path | str, values: Path | str) -> Claims:
    """Read the claims on the versions of SaGe that the findings count.

    claims: `claims.parquet`. values: `paper_values.yaml`.

    Raises:
        UserError: a file is missing or damaged.
    """
    return {
        (record["id"], record["language"], record["tokenizer"]): record
        for record in read_records(claims, values, SAGE)
        if origin_of(record) == "real"
    }


def pair_claims(first: Claims, second: Claims, reference: Claims) -> list[Pair]:
    """Return what both runs measure, and by no clock.

    first: of one seed or several; second: of one seed. reference: of several seeds.
    """
    return [
        Pair(record, second[key], move(record, second[key], reference.get(key)))
        for key, record in first.items()
        if key in second and _is_measured(record) and _is_measured(second[key])
    ]


def _is_measured(record: Record) -> bool:
    return record["verdict"] != NOT_MEASURABLE and not record["timing"]


def move(first: Record, second: Record, reference: Record | None) -> float | None:
    """Return how far a value moves, in units of `seed_limit`; None where there is no such unit.

    first: of one seed or several; second: of one seed. reference: of several seeds.
    """
    if reference is None:
        return None
    averaged = len(_numbers_of_seeds(first)) or 1
    limit = seed_limit(_numbers_of_seeds(reference), averaged)
    return None if limit is None else abs(second["value"] - first["value"]) / limit


def _numbers_of_seeds(record: Record) -> list[float]:
    """Return what single seeds give; nothing if only one was run, or for words."""
    return [value for value in record["seeds"] if isinstance(value, int | float)]


def seed_limit(seeds: Sequence[float], averaged: int) -> float | None:
    """Return how far a seed lies from the mean of some others at most, in 19 of 20 cases.

    seeds: values of seeds; None is returned where these have no spread. averaged: how many others.
    """
    if len(seeds) < 2 or not (deviation := float(np.std(seeds, ddof=1))):
        return None
    student = float(stats.t.isf((1 - _CASES) / 2, len(seeds) - 1))
    return student * math.sqrt(1 + 1 / averaged) * deviation


def two_runs_markdown(
    pairs: Sequence[Pair], names: Sequence[str], headlines: Mapping[str, str]
) -> str:
    """Return the comparison in Markdown: counts, other verdicts, main statements by their move.

    names: of the two runs. headlines: what tables call the main statements, by id.
    """
    counts = [*_count_verdicts(pairs), *_count_moves(pairs)]
    changed = [(f"`{pair.first['id']}`", pair) for pair in pairs if not pair.has_one_verdict]
    main = [(headlines[pair.first["id"]], pair) for pair in pairs if pair.first["id"] in headlines]
    main.sort(key=lambda named: -(named[1].move or 0))
    parts = [
        counts,
        _table("another verdict", names, changed),
        _table("main statement", names, main),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _by_version(pairs: Sequence[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    for label in SAGE.values():
        if of_version := [pair for pair in pairs if pair.version == label]:
            yield label, of_version


def _count_verdicts(pairs: Sequence[Pair]) -> Iterator[str]:
    for label, of_version in _by_version(pairs):
        same = sum(pair.has_one_verdict for pair in of_version)
        yield (
            f"- {label}: {same} of {len(of_version)} statements have the same verdict in both runs."
        )


def _count_moves(pairs: Sequence[Pair]) -> Iterator[str]:
    for label, of_version in _by_version([pair for pair in pairs if pair.move is not None]):
        moves = [pair.move for pair in of_version]
        yield (
            f"- {label}: of {len(moves)} values, {sum(size > 1 for size in moves)} move further "
            "than by another seed in 19 of 20 cases; the median moves "
            f"{np.median(moves):.2f} of that."
        )


def _table(title: str, names: Sequence[str], named: Sequence[tuple[str, Pair]]) -> list[str]:
    rows = [
        [
            name,
            pair.first["language"],
            pair.version,
            _show(pair.first),
            _show(pair.second),
            NOTHING if pair.move is None else f"{pair.move:.1f}",
        ]
        for name, pair in named
    ]
    return markdown_table([title, "text", "", *names, "move"], rows)


def _show(record: Record) -> str:
    return f"{show_measured(record)} {SIGNS[record['verdict']]}"
