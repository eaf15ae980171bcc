"""What a pretraining records: a log row per update, log lines now and then, its use of the device.

Operations are counted as by Chowdhery et al. 2022 (PaLM, Appendix B): the multiplications and
additions of the matrix products that the model needs, and nothing else. The share of the peak is
that count per second over the device's peak.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers import PretrainedConfig

from reproduction.lm.training import PRECISIONS, REPORT_SECONDS, Clock, Progress

log = logging.getLogger(__name__)

VALIDATION = (
    "heldout_bits_per_character",
    "heldout_word_accuracy",
    "heldout_loss",
    "heldout_accuracy",
)
NO_VALIDATION = dict.fromkeys(VALIDATION, math.nan)

# Dense peaks in half precision with float32 sums, TFLOP/s, from the makers' data sheets, by the
# name that the driver gives. The peak of any other device is measured.
PEAKS = {
    "Quadro RTX 8000": 130.5,
    "Tesla T4": 65.0,
    "Tesla V100-SXM2-16GB": 125.0,
    "Tesla V100-SXM2-32GB": 125.0,
    "NVIDIA A100-SXM4-40GB": 312.0,
    "NVIDIA A100-SXM4-80GB": 312.0,
    "NVIDIA A100 80GB PCIe": 312.0,
    "NVIDIA L4": 121.0,
    "NVIDIA L40S": 362.0,
    "NVIDIA GeForce RTX 3090": 71.0,
    "NVIDIA GeForce RTX 4090": 165.2,
    "NVIDIA H100 PCIe": 756.0,
    "NVIDIA H100 80GB HBM3": 989.4,
    "NVIDIA H200": 989.4,
    "NVIDIA B200": 2250.0,
}
MEASURED_SECONDS = 0.5


@dataclass(frozen=True)
class Scale:
    """What an update is (rows, tokens of a row), and the corpus that it is a part of.

    corpus_tokens: without special ones. flops: floating-point operations of an update. peak: the
    most that all devices together can do in a second; None if unknown.
    """

    rows: int
    length: int
    corpus_rows: int
    corpus_tokens: int
    corpus_characters: int
    flops: float
    peak: float | None


class Journal:
    """Keeps the log of a run and reports on it; `spent` is the share of the budget at the start."""

    def __init__(self, scale: Scale, progress: Progress, clock: Clock, spent: float) -> None:
        """Continue the log of `progress`."""
        self._scale, self._progress, self._clock = scale, progress, clock
        self._start = (spent, progress.seconds)
        self._waited = 0.0

    def record(
        self,
        loss: float,
        rate: float,
        duration: float,
        waited: float,
        more: dict[str, float],
    ) -> None:
        """Append the row of the update that is done.

        loss: nats per masked token. rate: learning rate. duration: seconds of the update. waited:
        seconds of waiting for data since this process started. more: values of VALIDATION and of
        `Learner.scaling`.
        """
        scale, progress = self._scale, self._progress
        epoch = progress.updates * scale.rows / scale.corpus_rows
        duration = max(duration, 1e-9)
        progress.record(
            step=progress.updates,
            epoch=epoch,
            tokens=epoch * scale.corpus_tokens,
            characters=epoch * scale.corpus_characters,
            loss=loss,
            learning_rate=rate,
            seconds=progress.seconds,
            tokens_per_second=scale.rows * scale.length / duration,
            peak_share=scale.flops / duration / scale.peak if scale.peak else math.nan,
            waiting=(waited - self._waited) / duration,
            **more,
        )
        self._waited = waited

    def frame(self) -> pd.DataFrame:
        """Return the log as a table, one row per update."""
        return pd.DataFrame(self._progress.log).astype({"step": "int64"})

    def report(self, spent: float, validated: bool) -> None:
        """Write log lines after a validation or the first update, and every few seconds."""
        first = len(self._progress.log["step"]) == 1
        if not (validated or first or self._clock.is_due("report", REPORT_SECONDS)):
            return
        row = {name: values[-1] for name, values in self._progress.log.items()}
        log.info(
            "update %d (%.0f %%), epoch %.2f, loss %.3f, learning rate %.2e, %.0f tokens/s "
            "(%.1f %% of the peak), waiting for data %.1f %%, %s left",
            row["step"],
            100 * spent,
            row["epoch"],
            row["loss"],
            row["learning_rate"],
            row["tokens_per_second"],
            100 * row["peak_share"],
            100 * row["waiting"],
            timedelta(seconds=round(self._left(spent))),
        )
        if "loss_scale" in row:
            log.info("fp16: scale %g, %d updates left out", row["loss_scale"], row["skipped"])
        if validated and math.isfinite(row["heldout_loss"]):
            log.info(
                "held-out words: %.3f bits per character, %.1f %% right; pieces: %.3f nats, "
                "%.1f %% right",
                row["heldout_bits_per_character"],
                100 * row["heldout_word_accuracy"],
                row["heldout_loss"],
                100 * row["heldout_accuracy"],
            )

    def _left(self, spent: float) -> float:
        """Return the seconds left at the pace since this process started."""
        before, seconds = self._start
        pace = (spent - before) / max(self._progress.seconds - seconds, 1e-9)
        return max(0.0, 1 - spent) / max(pace, 1e-12)


# What is known of a sitting: columns of the training log.
SITTING = ["sitting", "first_step", "card", "cards", "precision", "micro_batch", "compiled"]


def read_sittings(path: str | Path) -> list[dict[str, Any]]:
    """Return what a model was trained on, sitting by sitting, from its training log."""
    rows = pd.read_parquet(path, columns=SITTING).drop_duplicates("sitting")
    return json.loads(rows.to_json(orient="records"))


# --- use of the device


def flops_per_update(config: PretrainedConfig, rows: int, length: int, masked: int) -> float:
    """Return the floating-point operations of an update, forward and backward.

    Args:
        config: of the model; its layers, widths and vocabulary are read.
        rows: rows of an update.
        length: tokens of a row.
        masked: tokens of a row that are predicted; only there the output layer is computed.
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    # Two operations per entry: four projections and two feed-forward matrices per token, and the
    # products of queries with keys and of their weights with values.
    layer = 2 * (4 * hidden * hidden + 2 * hidden * inner) + 2 * (2 * length * hidden)
    output = 2 * (hidden * hidden + hidden * config.vocab_size)
    forward = rows * (length * config.num_hidden_layers * layer + masked * output)
    return 3.0 * forward  # the backward pass has two products for each of the forward pass


def peak_flops(device: torch.device, precision: str) -> float | None:
    """Return the most floating-point operations per second of `device`; None if unknown.

    That is a known GPU's published peak, or what a product of large matrices reaches here.
    precision: a key of `training.PRECISIONS`.
    """
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    if name in PEAKS and precision != "fp32":
        return PEAKS[name] * 1e12
    return _measured_flops(device, precision, torch.get_num_threads())


@functools.cache
def _measured_flops(device: torch.device, precision: str, threads: int) -> float | None:
    """Return the rate of the fastest of some matrix products; `threads` is a cache key."""
    size = 1024 if device.type == "cpu" else 8192
    try:
        left, right = (
            torch.ones(size, size, device=device, dtype=PRECISIONS[precision]) for _ in range(2)
        )
        fastest, started = math.inf, time.perf_counter()
        while time.perf_counter() - started < MEASURED_SECONDS or math.isinf(fastest):
            began = time.perf_counter()
            (left @ right)[0, 0].item()  # waits for the device
            fastest = min(fastest, time.perf_counter() - began)
    except RuntimeError:  # no memory, or no product of this type
        return None
    return 2.0 * size**3 / fastest
