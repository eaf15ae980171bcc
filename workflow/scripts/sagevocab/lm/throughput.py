"""How much arithmetic training is, and how much a device could do: the share of its peak.

The count is that of Chowdhery et al. 2022 (PaLM, Appendix B): the multiplications and additions of
the matrix products that the model needs, nothing for what is computed twice, nothing for element by
element work. A share of the peak is that count a second over the device's dense peak.
"""

from __future__ import annotations

import functools
import re
import time

import torch
from transformers import PretrainedConfig

from sagevocab.lm.training import PRECISIONS

# Makers' data sheets, one card each: dense TFLOP/s (half of what is advertised "with sparsity") of
# products with float32 sums, by input type, and GiB of memory. A name holds for the fastest form of
# a card, mostly SXM; tf32 is what float32 products run in where the card has it.
PEAKS: dict[str, dict[str, float]] = {
    "Quadro RTX 8000": {"fp16": 130.5, "fp32": 16.3, "memory": 48},
    "Quadro RTX 6000": {"fp16": 130.5, "fp32": 16.3, "memory": 24},
    "GeForce RTX 2080 Ti": {"fp16": 53.8, "fp32": 13.4, "memory": 11},
    "Tesla T4": {"fp16": 65.0, "fp32": 8.1, "memory": 16},
    "V100 PCIE": {"fp16": 112.0, "fp32": 14.0, "memory": 32},
    "V100": {"fp16": 125.0, "fp32": 15.7, "memory": 32},
    "A10": {"bf16": 125.0, "fp16": 125.0, "tf32": 62.5, "fp32": 31.2, "memory": 24},
    "A40": {"bf16": 149.7, "fp16": 149.7, "tf32": 74.8, "fp32": 37.4, "memory": 48},
    "RTX A6000": {"bf16": 154.8, "fp16": 154.8, "tf32": 77.4, "fp32": 38.7, "memory": 48},
    "A100": {"bf16": 312.0, "fp16": 312.0, "tf32": 156.0, "fp32": 19.5, "memory": 80},
    "GeForce RTX 3090": {"bf16": 71.0, "fp16": 71.0, "tf32": 35.6, "fp32": 35.6, "memory": 24},
    "GeForce RTX 4090": {"bf16": 165.2, "fp16": 165.2, "tf32": 82.6, "fp32": 82.6, "memory": 24},
    "L4": {"bf16": 121.0, "fp16": 121.0, "tf32": 60.0, "fp32": 30.3, "memory": 24},
    "L40S": {"bf16": 362.0, "fp16": 362.0, "tf32": 183.0, "fp32": 91.6, "memory": 48},
    "H100 PCIe": {"bf16": 756.0, "fp16": 756.0, "tf32": 378.0, "fp32": 51.0, "memory": 80},
    "H100 NVL": {"bf16": 835.5, "fp16": 835.5, "tf32": 417.5, "fp32": 60.0, "memory": 94},
    "H100": {"bf16": 989.4, "fp16": 989.4, "tf32": 494.7, "fp32": 66.9, "memory": 80},
    "H200": {"bf16": 989.4, "fp16": 989.4, "tf32": 494.7, "fp32": 66.9, "memory": 141},
    "B200": {"bf16": 2250.0, "fp16": 2250.0, "tf32": 1125.0, "fp32": 75.0, "memory": 180},
}
# Words in a device's name that make another card of it, or a part of one.
_OTHERS = frozenset({"ti", "super", "d", "laptop", "mobile", "max", "mig", "nvl", "grid"})
_VIRTUAL = re.compile(r"\d+[acq]")  # how much of a card a virtual one has: 10c, 8q
MEASURED_SECONDS = 0.5


def flops_per_update(config: PretrainedConfig, rows: int, length: int, masked: int) -> float:
    """Return the floating-point operations of an update, forward and backward.

    Args:
        config: of the model; its layers, widths and vocabulary are read.
        rows: rows of an update.
        length: tokens of a row.
        masked: tokens of a row that are predicted; the output layer is computed there alone.
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    # Two operations an entry: four projections and two feed-forward matrices a token, and the
    # products of queries with keys and of their weights with values.
    layer = 2 * (4 * hidden * hidden + 2 * hidden * inner) + 2 * (2 * length * hidden)
    output = 2 * (hidden * hidden + hidden * config.vocab_size)
    forward = rows * (length * config.num_hidden_layers * layer + masked * output)
    return 3.0 * forward  # the backward pass makes two products of each


def peak_flops(device: torch.device | str, precision: str) -> float | None:
    """Return what `device` can do at most, in floating-point operations a second.

    The published dense peak of a known GPU; else, and on the CPU at torch's number of threads,
    what a product of large matrices reaches. None where neither can be had. `precision` is a key of
    `training.PRECISIONS`; fp32 runs as TF32 where the GPU has that.
    """
    device = torch.device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    card = known_card(name)
    if card is None:
        return _measured(device, precision, torch.get_num_threads())
    peaks = PEAKS[card]
    terms = ("tf32", "fp32") if precision == "fp32" else (precision,)
    found = [peaks[term] for term in terms if term in peaks]
    return found[0] * 1e12 if found else _measured(device, precision, 0)


def known_card(name: str) -> str | None:
    """Return the key in PEAKS of the device that calls itself `name`; None if it is not there."""
    words = _words(name)
    fitting = [card for card in PEAKS if _words(card) <= words]
    card = max(fitting, key=lambda card: len(_words(card)), default=None)
    if card is None:
        return None
    more = words - _words(card)
    return None if more & _OTHERS or any(map(_VIRTUAL.fullmatch, more)) else card


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.lower()))


@functools.cache
def _measured(device: torch.device, precision: str, threads: int) -> float | None:
    """Return the best rate of a matrix product within half a second; `threads` is a cache key."""
    size = 1024 if device.type == "cpu" else 8192
    dtype = PRECISIONS[precision]
    try:
        left, right = (torch.ones(size, size, device=device, dtype=dtype) for _ in range(2))
        fastest = min(_product_times(left, right, MEASURED_SECONDS))
    except RuntimeError:  # no memory, or no product of this type
        return None
    return 2.0 * size**3 / fastest


def _product_times(left: torch.Tensor, right: torch.Tensor, seconds: float) -> list[float]:
    times, started = [], time.perf_counter()
    torch.matmul(left, right)  # the first one sets up what the others use
    while len(times) < 2 or time.perf_counter() - started < seconds:
        _wait(left.device)
        began = time.perf_counter()
        torch.matmul(left, right)
        _wait(left.device)
        times.append(time.perf_counter() - began)
    return times


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
