"""The cost page: its arithmetic by hand, and that it is what the program writes."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
costs = importlib.import_module("costs")


@pytest.fixture(scope="module")
def setting():
    return costs.read_setting(costs.fact("share"))


def speed(name, precision):
    return next(s for s in costs.all_speeds() if name in s.label and s.precision == precision)


def test_the_page_in_the_documents_is_the_one_that_is_written(setting):
    shown = (ROOT / "docs/costs.md").read_text(encoding="utf-8")
    assert shown == costs.page(setting), "run python benchmarks/costs.py"


def test_every_number_says_where_it_is_from():
    assert {fact.kind for fact in costs.FACTS.values()} == {"measured", "published", "assumed"}
    assert all(fact.source and fact.what for fact in costs.FACTS.values())


def test_the_model_is_the_papers(setting):
    assert setting.weights == pytest.approx(320e6, rel=0.01)
    assert (setting.languages, setting.tokenizers) == (2, 3)


def test_updates_follow_from_operations_share_and_peak(setting):
    day = costs.updates_in(24 * 3600, speed("8000", "fp16"), setting)
    # 6 operations a weight of the 24 layers and token, and some for attention and output layer.
    layers = 24 * 12 * 1024**2
    at_most = 0.4 * 130.5e12 * 24 * 3600 / (6 * layers * 4032 * 128)
    assert 0.9 * at_most < day < at_most
    twice = dataclasses.replace(setting, share=0.8)
    assert costs.updates_in(24 * 3600, speed("8000", "fp16"), twice) == pytest.approx(2 * day)
    assert setting.tokens(1) == 4032 * 126


def test_old_cards_are_counted_in_the_precision_that_they_get(setting):
    assert [s.precision for s in costs.all_speeds() if "T4" in s.label] == ["fp16"]
    assert [s.precision for s in costs.all_speeds() if "H100" in s.label] == ["bf16"]


def test_small_batches_are_bound_by_launching_and_memory(setting):
    task = costs.TaskSize("x", train=1600, validation=16, padded=20.0)
    hours = costs.finetuning_hours(task, speed("H100", "bf16"), setting)
    updates = setting.finetune["epochs"] * 1600 / 16
    optimiser = 28 * setting.weights / 3350e9
    assert hours * 3600 == pytest.approx(updates * (0.05 + optimiser) + 0.05 / 3)
    assert costs.runs_of(task, setting) == 9
    assert sum(costs.runs_of(task, setting) for task in costs.TASKS) == 90


def test_the_appendixs_micro_batch_fits_sixteen_gigabytes(setting):
    for precision in ("bf16", "fp32"):
        total = sum(costs.gpu_memory(32, precision, setting).values())
        assert 10 < total < 16
        assert sum(costs.gpu_memory(252, precision, setting).values()) > 24
    assert costs._fitting(17.0) == "16 GB"  # a card of 16 GiB has 17.2 GB
    assert costs._fitting(1000) == "none of these"


def test_turkish_scales_with_its_text():
    text, lines, tokens = costs.turkish()
    assert lines == pytest.approx(462_441 * text / 67.026822)
    assert tokens / lines == pytest.approx(12_206_872 / 462_441)
    word2vec = costs.cpu_hours()["Word2Vec, 5 epochs, two SaGe readings"]
    assert word2vec[1] / word2vec[0] == pytest.approx(tokens / 24_582_790)


def test_what_a_layer_keeps_grows_with_its_rows_alone():
    four = {
        (rows, layers): costs.kept_bytes(rows, layers, 64, 8, bf16=False)
        for rows in (1, 2)
        for layers in (1, 2)
    }
    unit = (four[2, 2] - four[1, 2] - four[2, 1] + four[1, 1]) / (64 * 8)
    assert unit == costs.kept_per_unit(64, 8, bf16=False)
    # Without copies of the weights, so all of it is in proportion to the rows; near the paper's.
    assert four[2, 1] == 2 * four[1, 1]
    assert unit == pytest.approx(costs.fact("kept_fp32"), rel=0.1)


def test_two_digits_are_kept():
    assert [costs._round(value) for value in (0.0123, 4.56, 45.6, 456.0, 45678.0, 0)] == [
        "0.012", "4.6", "46", "460", "46,000", "0",
    ]  # fmt: skip


def test_a_share_beyond_the_peak_is_refused(capsys):
    with pytest.raises(SystemExit):
        costs.main(["--share", "1.5"])
    assert "--share" in capsys.readouterr().err
