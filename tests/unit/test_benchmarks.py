"""The benchmarks: the engine's table, two runs, and the controls."""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from reproduction.data.construct import shipped_sentences
from sagevocab.state import read_json

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
engine = importlib.import_module("engine")
controls = importlib.import_module("controls")
control_causal = importlib.import_module("control_causal")
control_vectors = importlib.import_module("control_vectors")
two_runs = importlib.import_module("two_runs")
sys.path.append(str(ROOT / "benchmarks/peers"))
compare_released = importlib.import_module("compare_released")


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


# --- Two runs


def claims_of(values: dict[str, float], **changes) -> dict:
    """Records of statements on SaGe, by id."""
    sample = {"seeds": [1.0, 1.1, 0.9], "low": None, "high": None, "timing": None}
    sample |= {"verdict": "reproduced", "statement": "", **changes}
    return {(name, "en", "sage"): {**sample, "ours": ours} for name, ours in values.items()}


def test_a_move_is_given_in_what_another_seed_moves_it_by():
    several = claims_of({"a": 1.0, "b": 1.0})
    one, second = claims_of({"a": 1.0, "b": 1.0}, seeds=[]), claims_of({"a": 1.1, "b": 3.0})
    student = 4.303 * 0.1  # of two degrees of freedom
    for first, limit in ((one, student * 2**0.5), (several, student * (4 / 3) ** 0.5)):
        found = [two_runs.move(first[key], second[key], several[key]) for key in several]
        assert found == pytest.approx([0.1 / limit, 2.0 / limit], rel=1e-3)
    assert two_runs.seed_limit({"seeds": [1.0, 1.0]}) is None


def test_verdicts_of_two_runs_are_counted_and_what_differs_is_shown():
    first, second = claims_of({"a": 1.0, "b": 1.0}), claims_of({"a": 1.1, "b": 3.0})
    second["b", "en", "sage"]["verdict"] = "not reproduced"
    for run in (first, second):
        run |= claims_of({"clock": 9.0}, timing="clock")
        run |= claims_of({"none": 9.0}, verdict="not measurable here")
    text = two_runs.two_runs({"one": first, "other": second}, first, {"a": "tokens"})
    assert "- SaGe: 1 of 2 statements have the same verdict" in text
    assert "of 2 values, 1 move further" in text
    assert "| another verdict | text |  | one | other | move |" in text
    assert "| `b` | en | SaGe | 1 ✓ | 3 ✗ | 4.0 |" in text
    assert "| tokens | en | SaGe | 1 ✓ | 1.1 ✓ | 0.2 |" in text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("half 1=reruns/claims-half-1.parquet", "half 2=reruns/claims-half-2.parquet"),
        ("blocks=intrinsic/frames/claims.parquet", "gensim=reruns/claims-gensim.parquet"),
    ],
)
def test_the_page_of_other_runs_is_what_their_claims_give(first, second, monkeypatch, tmp_path):
    reference = two_runs.ROOT / "results/reference"
    named = [run.replace("=", f"={reference}/") for run in (first, second)]
    monkeypatch.setattr(sys, "argv", ["two_runs.py", *named, f"--output={tmp_path / 'page.md'}"])
    two_runs.main()
    page = (reference / "reruns/README.md").read_text(encoding="utf-8")
    assert (tmp_path / "page.md").read_text(encoding="utf-8").strip() in page


def test_tables_of_controls_are_drawn_again_from_what_is_committed(tmp_path):
    controls.main([f"--output={tmp_path}"])
    committed = ROOT / "results/reference/controls"
    for name in ("table_overlap_sizes", "table_pieces_differ"):
        for form in ("csv", "md"):
            file = f"{name}.{form}"
            assert (tmp_path / file).read_bytes() == (committed / file).read_bytes(), file


def test_the_table_of_vectors_is_computed_again_from_what_is_committed(tmp_path):
    committed = ROOT / "results/reference/controls/vectors"
    for task in control_vectors.TASKS:
        shutil.copy(committed / f"{task}.parquet", tmp_path)
    control_vectors.main([f"--output={tmp_path}"])
    name = "table_vectors"
    assert (tmp_path / f"{name}.md").read_bytes() == (committed / f"{name}.md").read_bytes()
    # The last digits depend on the processor.
    numbers = (pd.read_csv(folder / f"{name}.csv") for folder in (tmp_path, committed))
    pd.testing.assert_frame_equal(*numbers, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "of contexts"),
        ({"counts": (0.02, 0.2)}, "open"),  # SaGe 1.0 is not above every control
        ({"counts": (0.02, 0.2), "zero": (0.02, 0.2)}, "open"),  # neither is above BPE
        ({"counts": (0.02, 0.2), "zero": (0.02, 0.2), "counts, BPE": (0.02, 0.01)}, "of counting"),
        ({"counts": (0.02, 0.2), "zero": (0.02, 0.2), "counts, BPE": (-0.02, 0.01)}, "open"),
        ({"shuffled": (-0.02, 0.01)}, "open"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_rule_of_vectors(changes, expected, sign):
    names = {
        "counts": control_vectors.COUNTS,
        "zero": control_vectors.BLIND,
        "shuffled": control_vectors.SHUFFLED,
    }
    values = {name: (0.02, 0.01) for name in names}
    values |= {f"{name}, BPE": (0.01, 0.2) for name in names}
    rows = {(control_vectors.SAGE, "BPE"): {"difference": sign * 0.02, "p_adjusted": 0.01}}
    for name, (difference, p_value) in (values | changes).items():
        control, _, bpe = name.partition(", ")
        pair = (names[control], bpe) if bpe else (control_vectors.SAGE, names[control])
        rows[pair] = {"difference": sign * difference, "p_adjusted": p_value}
    assert control_vectors.verdict(rows) == expected


def test_pieces_on_which_a_version_and_a_control_differ():
    orders = pd.DataFrame(
        {
            "sage_released": [0, -1, 1, 2, 3, -1],
            "sage_released.seed2": [3, -1, 2, 1, -1, 0],
            "counts": [-1, 3, 0, -1, 1, 2],
        },
        index=["▁ab", "c", "de", "fg8", "i", "j"],
    )
    rows = list(controls._differences(orders, "sage_released", "counts"))
    # Both seeds prune ▁ab and fg8, and counts do not: 1.5 of 4 are early. No seed prunes c.
    of_sage, of_counts = (described for _, _, described in rows)
    assert of_sage["pieces"] == 2 and of_sage["examples"] == "▁ab fg8"
    assert of_sage["word_initial"] == 0.5 and of_sage["characters"] == 2.5
    assert of_sage["digits"] == 0.5 and of_counts["digits"] == 0
    assert of_sage["late"] == 0 and of_counts["late"] == 1
    assert of_counts["pieces"] == 1 and of_counts["examples"] == "c"
    assert [row[:2] for row in rows] == [("SaGe 1.0", "counts"), ("counts", "SaGe 1.0")]


def test_the_rule_on_what_the_released_program_prunes():
    """Overlaps and verdicts from the committed pieces; the program's are of the rule, too."""
    folder = ROOT / "results/reference/controls/released_program"
    pruned = [read_json(folder / f"{language}.json") for language in ("en", "tr")]
    compared = [compare_released.compare(one) for one in pruned]
    assert [verdicts for _, verdicts in compared] == [
        {"program": "both", "preset": "mostly counts"},
        {"program": "both", "preset": "both"},
    ]
    shares = [shares.set_index(["reading", "control"]) for shares, _ in compared]
    accounted = [
        [
            round(100 * own.loc[(reading, control), "accounts_for"])
            for control in ("without vectors", "counts")
        ]
        for own in shares
        for reading in ("program", "preset")
    ]
    assert accounted == [[89, 59], [83, 83], [87, 67], [73, 75]]


def test_tables_of_causal_models_are_computed_again_from_what_is_committed(tmp_path):
    committed = ROOT / "results/reference/controls"
    for folder in control_causal.FAMILIES:
        shutil.copytree(committed / folder, tmp_path / folder)
        for file in (tmp_path / folder).glob("table_*"):
            file.unlink()
    control_causal.main([f"--output={tmp_path}"])
    for folder, file in itertools.product(control_causal.FAMILIES, ("csv", "md")):
        name = f"{folder}/table_causal.{file}"
        assert (tmp_path / name).read_bytes() == (committed / name).read_bytes(), name
