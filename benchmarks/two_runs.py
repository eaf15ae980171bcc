"""What another text or another trainer changes in the claims: their verdicts and values.

    python benchmarks/two_runs.py half_1=claims-1.parquet half_2=claims-2.parquet [--output FILE]

The two runs are alike but for what their names say. The yardstick is another seed. The reference
run has five, of standard deviation s. The values of one seed and of the mean of n others lie within
t s √(1 + 1/n) of each other in 19 of 20 cases, with t of four degrees of freedom. Statements are
those that the findings count. Prints Markdown, or writes it to --output.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import SIGNS, show_ours
from reproduction.paper.statements import read_headlines
from reproduction.paper.table import markdown_table
from reproduction.paper.tally import origin_of
from sagevocab.state import write_text

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results/reference/intrinsic/frames/claims.parquet"
VALUES = ROOT / "workflow/resources/paper_values.yaml"
UNMEASURED = "not measurable here"
LABELS = {"sage": "SaGe", "sage_released": "SaGe 1.0"}

Record = Mapping[str, Any]
Claims = Mapping[tuple[str, ...], Record]  # by id, language and tokenizer


def read_claims(path: Path | str) -> Claims:
    """Return the counted records of `claims.parquet` on the readings of SaGe."""
    return {
        (record["id"], record["language"], record["tokenizer"]): record
        for record in read_records(path, VALUES, LABELS)
        if origin_of(record) == "real"
    }


def values_of_seeds(record: Record) -> Sequence[float]:
    """Return what single seeds give; nothing if only one was run."""
    return [value for value in record["seeds"] or () if isinstance(value, int | float)]


def seed_limit(record: Record, averaged: int = 1) -> float | None:
    """Return how far a seed lies from the mean of `averaged` others at most, 19 times of 20."""
    seeds = values_of_seeds(record)
    if len(seeds) < 2 or not (deviation := float(np.std(seeds, ddof=1))):
        return None
    return float(stats.t.isf(0.025, len(seeds) - 1)) * math.sqrt(1 + 1 / averaged) * deviation


def move(first: Record, second: Record, reference: Record) -> float | None:
    """Return how far a value moves, in what another seed moves it at most."""
    limit = seed_limit(reference, averaged=len(values_of_seeds(first)) or 1)
    return None if limit is None else abs(second["ours"] - first["ours"]) / limit


def two_runs(runs: Mapping[str, Claims], reference: Claims, headlines: Mapping[str, str]) -> str:
    """Return the comparison in Markdown.

    runs: the first, of one seed or several, and the second, of one seed, by name. headlines: what
    tables call the main statements, by id.
    """
    first, second = runs.values()
    measured = [key for key in first if key in second and _is_measured(first[key], second[key])]
    known = [key for key in measured if key in reference]
    moves = {key: move(first[key], second[key], reference[key]) for key in known}
    moves = {key: size for key, size in moves.items() if size is not None}
    changed = [key for key in measured if first[key]["verdict"] != second[key]["verdict"]]
    main = sorted((key for key in measured if key[0] in headlines), key=lambda k: -moves.get(k, 0))
    parts = [
        [*_verdicts(measured, first, second), *_moves(moves)],
        _table("another verdict", [(f"`{key[0]}`", key) for key in changed], moves, runs),
        _table("main statement", [(headlines[key[0]], key) for key in main], moves, runs),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _is_measured(*records: Record) -> bool:
    """Return whether both are, and by no clock."""
    return not any(r["verdict"] == UNMEASURED or r["timing"] for r in records)


def _verdicts(measured: Sequence[tuple], first: Claims, second: Claims) -> Iterator[str]:
    for name, label in LABELS.items():
        own = [key for key in measured if key[2] == name]
        if own:
            same = sum(first[key]["verdict"] == second[key]["verdict"] for key in own)
            yield f"- {label}: {same} of {len(own)} statements have the same verdict in both runs."


def _moves(moves: Mapping[tuple, float]) -> Iterator[str]:
    for name, label in LABELS.items():
        own = [size for key, size in moves.items() if key[2] == name]
        if not own:
            continue
        yield (
            f"- {label}: of {len(own)} values, {sum(size > 1 for size in own)} move further than "
            f"by another seed in 19 of 20 cases; the median moves {np.median(own):.2f} of that."
        )


def _table(
    title: str,
    named: Sequence[tuple[str, tuple]],
    moves: Mapping[tuple, float],
    runs: Mapping[str, Claims],
) -> Sequence[str]:
    rows = [
        [name, key[1], LABELS[key[2]], *_cells(key, runs), _size(moves.get(key))]
        for name, key in named
    ]
    return markdown_table([title, "text", "", *runs, "move"], rows)


def _cells(key: tuple, runs: Mapping[str, Claims]) -> Iterator[str]:
    for run in runs.values():
        yield f"{show_ours(run[key])} {SIGNS[run[key]['verdict']]}"


def _size(size: float | None) -> str:
    return "–" if size is None else f"{size:.1f}"


def _named(text: str) -> tuple[str, Claims]:
    name, _, path = text.partition("=")
    return name.replace("_", " "), read_claims(path)


def main() -> None:
    """Compare the claims of two runs, from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs=2, type=_named, metavar="NAME=FILE")
    parser.add_argument("--reference", type=Path, default=REFERENCE)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    headlines = read_headlines(VALUES)
    text = two_runs(dict(options.runs), read_claims(options.reference), headlines)
    print(text) if options.output is None else write_text(options.output, text)


if __name__ == "__main__":
    main()
