"""The benchmark of the engine."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from reproduction.data.construct import shipped_sentences

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
engine = importlib.import_module("engine")


def made_up(measure, number, **parameters):
    """Stand in for a process: three runs of a pass that takes 0.25 s a million tokens at two."""
    if measure == "one_pass":
        tokens = parameters["lines"] * 32
        seconds = 0.25e-6 * tokens * (2 / parameters["threads"]) * (1.0, 1.2, 0.9)[number]
        return {"first": 2 * seconds, "filled": seconds, "tokens": tokens}
    return {"seconds": 361.0 if parameters["every_batch"] else 120.0, "memory": 3.1e9}


@pytest.fixture
def bench(tmp_path):
    return engine.Bench(made_up, 750_000, 24_000_000, peers=tmp_path)


def lines_of(bench, name):
    return [line.cells() for line in engine.ROWS[name](bench)]


def met(bench, name):
    return [cells[-1] for cells in lines_of(bench, name)]


def test_a_target_is_met_up_to_its_bound(bench):
    assert met(bench, "loop") == ["yes", "no"]  # 120 s of 120, 3.1 GB of 3
    assert met(bench, "every_batch") == ["no"]  # 361 s, where 3 x 120 are allowed


def test_a_pass_is_given_by_million_tokens_with_and_without_the_cache(bench):
    first, filled = lines_of(bench, "pass")
    assert filled[2].startswith("0.25 (0.225 to 0.3) s per million tokens (6 s, 24,000,000 tokens)")
    assert filled[3:] == ["0.83", "yes"]
    assert first[2].startswith("0.5 ") and first[4] == "no"


def test_whole_sage_is_compared_with_each_peer_by_clock_processor_and_memory(bench):
    runs = {
        "whole": {"seconds": 60.0, "processor": 100.0, "memory": 3e9, "anonymous": 2e9},
        "bpe": {"seconds": 5.0, "processor": 8.0, "memory": 1e9},
        "word2vec": {"seconds": 600.0, "processor": 1000.0, "memory": 2e9},
    }
    by_stage = dict.fromkeys(("stages", "processor_stages", "memory_stages"), {"pruning": 1.0})

    def run(measure, number, **parameters):
        return runs[measure] | by_stage | {"lines": 750_000}

    made = engine.Bench(run, bench.lines, bench.tokens)
    _, *lines = lines_of(made, "whole")
    lines += lines_of(made, "whole_gensim")
    assert [cells[2].split()[0] for cells in lines] == ["12x", "12.5x", "3x"] * 2 + [
        "0.1x", "0.1x", "1.5x",
    ]  # fmt: skip
    assert [cells[-1] for cells in lines] == ["no", *["-"] * 8]


@pytest.mark.parametrize(("power", "answer"), [(0.99, "yes"), (1.01, "no")])
def test_whole_sage_grows_no_faster_than_its_lines(bench, power, answer):
    by_stage = dict.fromkeys(("stages", "processor_stages", "memory_stages"), {"pruning": 1.0})

    def run(measure, number, **parameters):
        if measure == "lengthen":
            return {"text": parameters["lines"]}
        cost = parameters["text"] ** power
        names = ("seconds", "processor", "memory", "anonymous")
        return by_stage | {"lines": parameters["text"]} | dict.fromkeys(names, cost)

    made = engine.Bench(run, bench.lines, bench.tokens)
    growth = [cells for cells in lines_of(made, "whole_growth") if cells[0].startswith("growth")]
    assert [cells[-1] for cells in growth] == [answer] * 3


def test_the_exponent_is_that_of_a_power():
    points = [(lines, 3 * lines**1.2) for lines in (10, 100, 1000)]
    assert engine.exponent(points) == pytest.approx(1.2)


def test_a_failed_row_leaves_the_others(bench, capsys):
    def run(measure, number, **parameters):
        if measure == "word2vec":
            raise engine.RunError("/some/where/words.npz: no | memory")
        return made_up(measure, number, **parameters)

    broken = engine.Bench(run, bench.lines, bench.tokens, peers=bench.peers)
    written = []
    assert not engine.run_rows(["word2vec", "loop"], broken, written.append)
    assert [line.measured for line in written[0]] == ["failed: words.npz: no , memory"]
    printed = capsys.readouterr().out.splitlines()
    table = [row for row in printed if row.startswith("| ")]
    assert len(table) == 5  # head, rule, one line failed, two of the loop
    assert {row.count(" | ") for row in table} == {4}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in shipped_sentences("tr")[:400]))
    return path


def run_small(text, folder, monkeypatch, **options):
    source = str(ROOT / "workflow" / "scripts")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
    chosen = {
        "text": text, "lines": 300, "repeats": 1, "initial-size": 400, "final-size": 250,
        "threads": 2, "work": folder, "output": folder / "engine.md", "peers": folder, **options,
    }  # fmt: skip
    return engine.main([f"--{name}={value}" for name, value in chosen.items()])


def test_a_run_in_processes_of_their_own(text, tmp_path, monkeypatch):
    assert run_small(text, tmp_path, monkeypatch, rows="loop,every_batch,peers") == 0
    page = (tmp_path / "engine.md").read_text()
    assert page.startswith("300 lines, ")
    assert "the 400 -> 250 loop without Word2Vec" in page
    assert page.count("| yes |") + page.count("| no |") == 3
    assert page.count("| not measured |") == 1
    assert "Measured on " in page
    assert "numba " in page and str(tmp_path) not in page and str(ROOT) not in page


def test_a_text_too_small_is_one_line(text, tmp_path, monkeypatch, capsys):
    assert run_small(text, tmp_path, monkeypatch, **{"initial-size": 90_000}) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert "90000 pieces" in error
