"""The benchmark of the engine: its numbers by hand, and its table from a run on a small text."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
engine = importlib.import_module("engine")

COSTS = {  # of a run of each measure
    "whole": {
        "seconds": 60.0,
        "processor": 100.0,
        "memory": 3e9,
        "stages": {"pruning": 60.0},
        "multiply_adds": 50.0,
    },
    "bpe": {"seconds": 5.0, "processor": 8.0, "memory": 1e9, "multiply_adds": 40.0},
}


def bench_of(run) -> engine.Bench:
    return engine.Bench(
        run,
        lines=750_000,
        tokens=24_000_000,
        repeats=3,
        initial_size=20_000,
        vocab_size=16_000,
        growth=[750_000],
        peers=Path(),
    )


def measured(bench: engine.Bench, name: str) -> list[str]:
    return [value for _, value in engine.ROWS[name](bench)]


def test_whole_sage_is_compared_with_bpe_by_clock_processor_and_memory() -> None:
    bench = bench_of(lambda measure, number, **parameters: COSTS[measure])
    whole, *ratios, rates = measured(bench, "whole")
    assert whole == "60 s (pruning 60); processor 100 s; 3.00 GB"
    assert ratios == ["12x (60 s to 5 s)", "12.5x (100 s to 8 s)", "3x (3 GB to 1 GB)"]
    assert "50 (50 to 50)" in rates
    assert "40 (40 to 40)" in rates


def test_a_pass_is_given_by_million_tokens() -> None:
    passes = [{"first": 12.0, "filled": 6.0}, {"first": 24.0, "filled": 12.0}]
    passes.append(passes[0])
    first, filled = measured(bench_of(lambda measure, number, **_: passes[number]), "pass")
    assert first.startswith("0.5 (0.5 to 1) s per million tokens (12 s, 24,000,000 tokens)")
    assert filled.startswith("0.25 (0.25 to 0.5) s per million tokens (6 s, ")


def table_of(page: str) -> list[list[str]]:
    """The cells of the table of a printed page, without its head."""
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    return rows[2:]


def test_a_failed_row_leaves_the_others(capsys) -> None:
    def run(measure, number, **parameters):
        if measure == "word2vec":
            raise engine.RunError("no | memory")
        return COSTS[measure]

    assert not engine.print_page(["whole_gensim", "whole"], bench_of(run))
    first, *others = table_of(capsys.readouterr().out)
    assert first == ["whole_gensim", "failed: no , memory"]
    assert len(others) == 5
