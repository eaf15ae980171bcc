"""The training benchmark: its table from made-up blocks, and both loops for real in small."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

from lm_samples import sentences

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
training = importlib.import_module("training")
Block = training.Block


def comparison(what="pretraining", **changes):
    """Three blocks each: the Trainer takes 3, 2 and 4 s, we 2 s, by the processor's time 1 s."""
    fields = {
        "what": what,
        "size": 1000,
        "peer": [Block(seconds, 1.5, 0.1) for seconds in (3.0, 2.0, 4.0)],
        "ours": [Block(2.0, 1.0, 0.01)] * 3,
        "losses": (9.5, 9.4),
        "operations": (6e9, 4e9),
        "peak": 1e10,
        "model": "a model",
    }
    return training.Comparison(**(fields | changes))


def test_a_ratio_is_the_median_of_neighbouring_blocks():
    speed, processor, share, *_ = training.lines_of("small", comparison(), "cpu")
    assert speed.cells()[1:] == [
        "at least 1x", "1.5 (1 to 2)x, 500 beside the Trainer's 333", "1.50", "yes"
    ]  # fmt: skip
    assert processor.measured == "1.5 (1.5 to 1.5)x"
    share = share.cells()[1:3]
    assert share == ["-", "20 % (the Trainer 20 %, doing 1.50 times as many operations)"]


def test_both_loops_run_and_learn_the_same(tmp_path, monkeypatch):
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefgh", k=4)) for _ in range(300)]
    text = [f"{line} {rng.choice(words)}" for line in sentences(300)]
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in text))
    shape = {
        "layers": 1, "hidden": 16, "heads": 2, "intermediate": 32, "sequence_length": 16,
        "batch": 8, "micro_batch": 4, "dropout": 0.0, "attention_dropout": 0.0, "vocabulary": 120,
    }  # fmt: skip
    monkeypatch.setitem(training.SIZES, "demo", shape)
    found = []
    compare = training.compare

    def noted(*arguments):
        for one in compare(*arguments):
            found.append(one)
            yield one

    monkeypatch.setattr(training, "compare", noted)
    options = {"device": "cpu", "size": "demo", "rounds": 3, "updates": 2, "threads": 1}
    options |= {"data": tmp_path / "lines.txt", "work": tmp_path, "output": tmp_path / "page.md"}
    training.main([f"--{name}={value}" for name, value in options.items()])
    for one in found:
        assert len(one.peer) == len(one.ours) == 3
        assert all(block.seconds > block.waiting >= 0 for block in [*one.peer, *one.ours])
    pretraining, finetuning = found
    # The same first weights and rows, other masks: at so small a rate the means agree.
    assert pretraining.losses[0] == pytest.approx(pretraining.losses[1], rel=0.03)
    # Without dropout the two do the same, batch for batch.
    assert finetuning.losses[0] == pytest.approx(finetuning.losses[1], rel=1e-3)
    assert "demo: fine-tuning, mean loss" in (tmp_path / "page.md").read_text()
