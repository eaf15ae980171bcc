"""What a card does in an hour: updates of the paper's model, and a fine-tuning.

    python benchmarks/gpu.py                    # on a GPU, some minutes
    python benchmarks/gpu.py compiled-126       # one way of training
    python benchmarks/gpu.py --tiny eager-126   # on a CPU: shows that this script runs

Prints a Markdown table: tokens a second, the share of the card's peak, the most memory. Text and
weights are random; neither changes the speed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from reproduction.lm.finetune import finetune  # noqa: E402
from reproduction.lm.heldout import HeldoutSettings  # noqa: E402
from reproduction.lm.masking import masked_per_row  # noqa: E402
from reproduction.lm.pretrain import pretrain  # noqa: E402
from reproduction.lm.settings import FinetuneSettings, PretrainSettings  # noqa: E402
from reproduction.lm.shards import build_shards  # noqa: E402
from reproduction.lm.tasks import Task  # noqa: E402
from sagevocab.corpus.text import write_lines  # noqa: E402
from sagevocab.errors import UserError  # noqa: E402
from sagevocab.huggingface.export import Card, WordSettings, export_greedy  # noqa: E402

PIECES = 16_000
# Dense, half precision with float32 sums, TFLOP/s, from NVIDIA's data sheets.
PEAKS = {"NVIDIA H100 80GB HBM3": 989.4, "NVIDIA H100 PCIe": 756.0, "NVIDIA H200": 989.4,
         "NVIDIA A100-SXM4-80GB": 312.0, "NVIDIA A100 80GB PCIe": 312.0}  # fmt: skip
# The ways of training: eager or compiled, with as many rows at once.
WAYS = ("eager-126", "compiled-126", "fine-tuning", "eager-252", "compiled-252")
TINY = {"layers": 1, "hidden": 32, "heads": 2, "intermediate": 64, "batch": 16}


def flops_per_update(settings: PretrainSettings) -> float:
    """Return the floating-point operations of the matrix products of an update.

    Two a multiplication, and twice as many backward as forward (Chowdhery et al. 2022, Appendix B);
    the output layer is computed at masked positions.
    """
    hidden, length = settings.hidden, settings.sequence_length
    layer = 2 * (4 * hidden * hidden + 2 * hidden * settings.intermediate) + 4 * length * hidden
    output = 2 * (hidden * hidden + hidden * PIECES)
    masked = masked_per_row(length, settings.mask_rate)
    return 3.0 * settings.batch * (length * settings.layers * layer + masked * output)


def prepare(folder: Path, count: int) -> None:
    """Write a vocabulary, shards of `count` lines of random words and a task of a fifth of them."""
    rng = np.random.default_rng(1)
    letters = [chr(97 + number) for number in range(26)]
    words = np.array(["".join(word) for word in rng.choice(letters, (4 * PIECES, 4))])
    pieces = ["▁", *letters, *dict.fromkeys(f"▁{word}" for word in words)][:PIECES]
    export_greedy(folder / "vocabulary", pieces, WordSettings(), Card("en", "English", "random"))
    lines = [" ".join(line) for line in rng.choice(words, (count, 40))]
    for name, part in (("train", lines), ("heldout", lines[:10])):
        write_lines(folder / f"{name}.txt", part)
    files = folder / "train.txt", folder / "heldout.txt", folder / "vocabulary", folder / "shards"
    build_shards(*files, sequence_length=128, questions=HeldoutSettings(1, 0.15, 1))
    rows = {"text": lines[: count // 5], "label": rng.integers(0, 2, count // 5)}
    pd.DataFrame(rows).to_parquet(folder / "task.parquet")


def measure_pretraining(folder: Path, gpus: int, **settings: Any) -> dict[str, Any]:
    """Return the speed of a pretraining by its log, and its memory."""
    chosen = PretrainSettings(**{"validation_every": 1.0, "heldout_lines": 1} | settings)
    if gpus:
        torch.cuda.reset_peak_memory_stats()
    state = Path(tempfile.mkdtemp(dir=folder))
    pretrain(
        *(folder / "shards", folder / "vocabulary", folder / "model", chosen),
        **{"name": "benchmark", "seed": 1, "state_dir": state, "gpus": gpus},
    )
    log = pd.read_parquet(folder / "model/training_log.parquet")
    update = log["seconds"].iloc[-1] / (len(log) - 1)
    peak = PEAKS.get(torch.cuda.get_device_name()) if gpus else None
    share = f"{flops_per_update(chosen) / update / peak / 1e12:.1%}" if peak else ""
    return {
        "tokens a second": f"{chosen.batch * chosen.sequence_length / update:,.0f}",
        "seconds an update": f"{update:.2f}",
        "share of the peak": share,
        "GB of memory": f"{torch.cuda.max_memory_allocated() / 1e9:.1f}" if gpus else "",
    }


def measure_finetuning(folder: Path, gpus: int) -> dict[str, Any]:
    """Return the seconds of an update of fine-tuning the model that was pretrained last."""
    rows, began = folder / "task.parquet", time.perf_counter()
    finetune(
        *(folder / "model", rows, rows, folder / "scores.json", folder / "predictions.parquet"),
        Task("task", "sequence", "accuracy", (0, 1)),
        FinetuneSettings(epochs=1),
        **{"language": "en", "tokenizer": "random", "seed": 1, "gpus": gpus},
        state_dir=folder / "finetuning",
    )
    # Those of training, and as many batches that are predicted.
    updates = 2 * len(pd.read_parquet(rows)) / 16
    return {"seconds an update": f"{(time.perf_counter() - began) / updates:.3f}"}


def measure(way: str, folder: Path, *, is_tiny: bool) -> dict[str, Any]:
    """Return the row of the table for a way of training; where the card cannot, it says why."""
    gpus, shape = (0, {"steps": 3, **TINY}) if is_tiny else (1, {"steps": 20})
    if way == "fine-tuning":
        if not (folder / "model").exists():
            measure_pretraining(folder, gpus, **shape | {"steps": 2}, compile=False)
        return {"training": way} | measure_finetuning(folder, gpus)
    mode, rows = way.split("-")
    try:
        found = measure_pretraining(
            folder, gpus, **shape, compile=mode == "compiled", micro_batch=int(rows)
        )
    except UserError as error:
        found = {"tokens a second": str(error)}
    return {"training": f"pretraining, {mode}, {rows} rows at once"} | found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--tiny", action="store_true", help="a small model on the CPU")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), 160 if options.tiny else 16_000)
        rows = []
        for way in options.ways:
            began = time.perf_counter()
            row = measure(way, Path(name), is_tiny=options.tiny)
            rows.append(row)
            # A run that is cut short has shown what it measured.
            print(row, f"in {time.perf_counter() - began:.0f} s", flush=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print("|", " | ".join(columns), "|")
    print("|", " | ".join("---" for _ in columns), "|")
    for row in rows:
        print("|", " | ".join(str(row.get(key, "")) for key in columns), "|")


if __name__ == "__main__":
    main()
