from __future__ import annotations

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lm_samples import TINY, make_vocabulary
from reproduction.lm import journal as module
from reproduction.lm.encoder import load_encoder
from reproduction.lm.journal import NO_VALIDATION, Journal, Scale, flops_per_update, peak_flops
from reproduction.lm.model import build_model, masked_logits
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.training import Clock, Progress

SCALE = Scale(
    rows=10,
    length=20,
    corpus_rows=100,
    corpus_tokens=1800,
    corpus_characters=5000,
    flops=3e6,
    peak=1e7,
)
VALIDATED = NO_VALIDATION | {
    "heldout_bits_per_character": 2.5,
    "heldout_word_accuracy": 0.25,
    "heldout_loss": 3.5,
    "heldout_accuracy": 0.5,
}


def do(journal: Journal, progress: Progress, seconds: float, validation=NO_VALIDATION) -> None:
    progress.updates += 1
    progress.seconds = seconds
    journal.record(loss=4.0, rate=1e-3, duration=0.5, waited=0.25, more=validation)


def test_a_row_says_what_was_seen_and_how_fast():
    progress = Progress()
    journal = Journal(SCALE, progress, Clock(0.0), spent=0.0)
    do(journal, progress, 2.0)
    do(journal, progress, 3.0)
    first, second = journal.frame().to_dict("records")
    assert (second["step"], second["epoch"], second["tokens"]) == (2, 0.2, 360)
    assert second["characters"] == 1000
    assert second["tokens_per_second"] == 400  # two updates a second of 10 rows of 20
    assert second["peak_share"] == pytest.approx(0.6)
    assert (first["waiting"], second["waiting"]) == (0.5, 0.0)
    assert math.isnan(second["heldout_loss"])


def test_the_time_left_is_by_the_pace_since_the_start_of_this_process(caplog):
    # Half was done in 1000 s; this process did a tenth in 5 s.
    progress = Progress(updates=5, seconds=1000.0)
    progress.log = {"step": []}
    journal = Journal(SCALE, progress, Clock(1000.0), spent=0.5)
    do(journal, progress, 1005.0, VALIDATED)
    caplog.set_level("INFO")
    journal.report(0.6, validated=True)
    pace, heldout = (record.getMessage() for record in caplog.records)
    assert "update 6 (60 %)" in pace
    assert "400 tokens/s (60.0 % of the peak)" in pace
    assert pace.endswith("0:00:20 left")
    assert "2.500 bits per character, 25.0 % right" in heldout


@pytest.mark.parametrize("layers", [1, 3])
def test_operations_are_those_that_torch_counts(layers, tmp_path):
    encoder = load_encoder(make_vocabulary(tmp_path))
    changed = {"layers": layers, "dropout": 0.0, "attention_dropout": 0.0}
    model = build_model(encoder, PretrainSettings(**(TINY | changed)))
    model.set_attn_implementation("eager")  # torch does not count the CPU's fused attention
    rows, length, masked = 4, 16, 3
    inputs = torch.randint(5, encoder.size, (rows, length))
    positions = torch.arange(masked).expand(rows, -1)
    counter = FlopCounterMode(display=False)
    with counter:
        masked_logits(model, inputs, positions, None).sum().backward()
    assert counter.get_total_flops() == flops_per_update(model.config, rows, length, masked)


def test_a_known_gpu_has_its_published_peak_and_others_are_measured(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Quadro RTX 8000")
    assert peak_flops(torch.device("cuda"), "fp16") == 130.5e12
    monkeypatch.setattr(module, "MEASURED_SECONDS", 0.01)
    assert 1e7 < peak_flops(torch.device("cpu"), "fp32") < 1e15
