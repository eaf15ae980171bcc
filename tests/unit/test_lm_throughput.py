from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lm_samples import TINY, make_vocabulary
from sagevocab.lm import throughput
from sagevocab.lm.encoder import load_encoder
from sagevocab.lm.model import build_model, masked_logits
from sagevocab.lm.settings import ARCHITECTURE
from sagevocab.lm.throughput import PEAKS, flops_per_update, known_card, peak_flops


@pytest.mark.parametrize("layers", [1, 3])
def test_the_count_is_what_torch_counts(layers, tmp_path):
    encoder = load_encoder(make_vocabulary(tmp_path))
    settings = TINY | {
        "layers": layers,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation": "gelu",
    }
    model = build_model(encoder, **{key: settings[key] for key in ARCHITECTURE})
    model.set_attn_implementation("eager")  # torch does not count the CPU's fused attention
    rows, length, masked = 4, 16, 3
    inputs = torch.randint(5, encoder.size, (rows, length))
    positions = torch.arange(masked).expand(rows, -1)
    counter = FlopCounterMode(display=False)
    with counter:
        masked_logits(model, inputs, positions, None).sum().backward()
    assert counter.get_total_flops() == flops_per_update(model.config, rows, length, masked)


def test_the_papers_update_is_about_six_operations_a_weight_and_token():
    config = type("Config", (), {"hidden_size": 1024, "intermediate_size": 4096})
    config.num_hidden_layers, config.vocab_size = 24, 16005
    count = flops_per_update(config, 4032, 128, 19)
    weights = 24 * 12 * 1024**2
    assert count == pytest.approx(6 * weights * 4032 * 128, rel=0.05)


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("Quadro RTX 8000", "Quadro RTX 8000"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100-PCIE-40GB", "A100"),
        ("Tesla V100-PCIE-16GB", "V100 PCIE"),
        ("Tesla V100-SXM2-32GB", "V100"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 2080 Ti", "GeForce RTX 2080 Ti"),
        ("NVIDIA GeForce RTX 3090 Ti", None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", None),
        ("NVIDIA A10G", None),
        ("NVIDIA A10-8Q", None),
        ("GRID A100-10C", None),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("", None),
    ],
)
def test_a_card_is_known_by_its_name(name, card):
    assert known_card(name) == card


def test_peaks_are_of_the_precision_in_use(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100-SXM4-80GB")
    assert peak_flops("cuda", "bf16") == 312e12
    assert peak_flops("cuda", "fp32") == 156e12
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Quadro RTX 8000")
    assert peak_flops("cuda", "fp32") == 16.3e12
    assert peak_flops("cuda", "fp16") == 130.5e12


def test_the_cpu_is_measured(monkeypatch):
    monkeypatch.setattr(throughput, "MEASURED_SECONDS", 0.05)
    throughput._measured.cache_clear()
    found = peak_flops("cpu", "fp32")
    throughput._measured.cache_clear()
    assert 1e8 < found < 1e14


def test_a_card_is_at_most_as_fast_in_longer_numbers():
    for name, card in PEAKS.items():
        rates = [card[term] for term in ("fp16", "tf32", "fp32") if term in card]
        assert rates == sorted(rates, reverse=True), name
        assert card["memory"] > 0
