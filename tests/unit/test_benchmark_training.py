"""The training benchmark: its table from made-up blocks, and both loops for real in small."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from sagevocab.data.construct import shipped_sentences
from sagevocab.errors import UserError

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
training = importlib.import_module("training")
measures = importlib.import_module("training_measures")
Block = measures.Block


def comparison(what="pretraining", **changes):
    """Three blocks each: the Trainer takes 3, 2 and 4 s, we 2 s, by the processor's time 1 s."""
    fields = {
        "what": what,
        "unit": "tokens",
        "size": 1000,
        "peer": [Block(seconds, 1.5, 0.1) for seconds in (3.0, 2.0, 4.0)],
        "ours": [Block(2.0, 1.0, 0.01)] * 3,
        "losses": (9.5, 9.4),
        "operations": (6e9, 4e9),
        "peak": 1e10,
        "model": "a model",
    }
    return measures.Comparison(**(fields | changes))


def cells_of(found, device="cpu", size="small"):
    return [line.cells() for line in training.lines_of(size, found, device)]


def test_a_ratio_is_the_median_of_neighbouring_blocks():
    speed, processor, *_ = cells_of(comparison())
    assert speed[2] == "1.5 (1 to 2)x, 500 beside the Trainer's 333"
    assert processor[2] == "1.5 (1.5 to 1.5)x"
    assert [speed[1], speed[4]] == ["at least 1x", "yes"]


def test_a_gpu_has_higher_targets_and_no_line_for_the_processor():
    speed, peak, waiting, _ = cells_of(comparison(), "cuda", "paper")
    assert (speed[1], speed[4]) == ("at least 1.2x", "yes")
    # 4e9 operations in 2 s of 1e10: a fifth; the Trainer's 6e9 in 3 s, too.
    assert peak[1:3] == [
        "at least 40 %",
        "20 % (the Trainer 20 %, doing 1.50 times as many operations; peak 0.01 TFLOP/s)",
    ]
    assert peak[4] == "no"
    assert waiting[2].startswith("0.50 % (the Trainer 3.33 %)") and waiting[4] == "yes"
    slower = comparison(peer=[Block(2.2, 1.0, 0.0)] * 3)
    assert cells_of(slower, "cuda", "paper")[0][4] == "no"


def test_on_the_cpu_the_share_of_the_peak_counts_the_processors_time():
    share = cells_of(comparison())[2]
    assert share[2].startswith("40 % (the Trainer 40 %") and share[1] == "-"


def test_fine_tuning_must_not_be_slower_and_has_no_count_of_operations():
    found = comparison("fine-tuning", operations=None, peak=None)
    rows = cells_of(found, "cuda", "paper")
    assert rows[0][1] == "at least 1x" and len(rows) == 3


def test_the_page_leaves_out_places_and_says_what_is_unmeasured():
    options = training.arguments(
        ["--size", "demo", "--data", "/some/where.txt", "--work=/else", "--rounds", "3"]
    )
    training.complete(options)
    assert training.command(options) == "python benchmarks/training.py --size demo --rounds 3"
    page = training.page([], ["a model"], options, {"cores": "2"})
    assert "Not measured: a GPU" in page and "/some" not in page
    options.device, options.size = "cuda", ["paper"]
    assert "Not measured" not in training.page([], [], options, {})


def test_two_rounds_are_refused(capsys):
    with pytest.raises(SystemExit):
        training.arguments(["--rounds", "2"])
    assert "--rounds" in capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("training")
    text = place / "lines.txt"
    text.write_text("".join(f"{line}\n" for line in shipped_sentences("tr")[:300]))
    measures.prepare(place, text, 300, 16)
    return place


@pytest.fixture(scope="module")
def device():
    return measures.device_of("cpu", "fp32", 1)


SMALL = measures.PretrainSettings(
    layers=1, hidden=16, heads=2, intermediate=32, sequence_length=16, batch=8, micro_batch=4,
    dropout=0.0, attention_dropout=0.0, steps=1,
)  # fmt: skip
PLAN = measures.Plan(updates=2, rounds=3, warm_up=1, workers=0)


def test_both_loops_pretrain_on_the_same_rows(folder, device, monkeypatch):
    seen = []
    take = measures.PretrainingRows.__getitem__

    def noted(rows, place):
        seen.append(int(rows.order[place]))
        return take(rows, place)

    monkeypatch.setattr(measures.PretrainingRows, "__getitem__", noted)
    found = measures.compare_pretraining(folder, SMALL, 300, device, PLAN)
    assert len(found.peer) == len(found.ours) == 3
    assert all(block.seconds > block.waiting >= 0 for block in [*found.peer, *found.ours])
    assert found.size == 2 * 8 * 16
    rows = 7 * 8  # warm-up and three rounds of two updates
    index = measures.examples_of(0, 8, 10**6, measures.SEED)
    assert len(seen) == rows and len(index) == 8
    # The same first weights and rows: at so small a rate the means over all updates agree.
    assert found.losses[0] == pytest.approx(found.losses[1], rel=0.02)
    assert found.operations[0] > found.operations[1] and found.peak > 1e8


def test_both_loops_fine_tune_on_the_same_rows(folder, device):
    settings = measures.FinetuneSettings(max_sequence_length=16, batch=4)
    rows = measures.task_rows(None, 40)
    found = measures.compare_finetuning(folder, SMALL, settings, 300, rows, device, PLAN)
    assert len(found.peer) == len(found.ours) == 3 and found.size == 8
    # Without dropout the two do the same, batch for batch.
    assert found.losses[0] == pytest.approx(found.losses[1], rel=1e-4)


def test_too_few_task_rows_are_one_line(folder, device):
    with pytest.raises(UserError, match="--task-rows: 5 rows are fewer than the 112 "):
        measures.compare_finetuning(
            folder,
            SMALL,
            measures.FinetuneSettings(),
            300,
            measures.task_rows(None, 5),
            device,
            PLAN,
        )


def test_the_sample_is_read_where_no_text_is_given():
    assert measures._sample().is_file()


def test_waiting_counts_the_time_within():
    watch = measures.Watch(measures.torch.device("cpu"))
    watch.start()
    assert watch.waiting(np.sort)(np.arange(1000)[::-1])[0] == 0
    block = watch.stop()
    assert 0 < block.waiting <= block.seconds
