"""Causal models of a finished run's tokenizers, several at a time on one GPU.

    python benchmarks/causal_gpu.py results/wiki models

Trains what rule `train_causal` trains, on all lines and with a larger model than
config/small_models.yaml has, where Snakemake cannot be installed. Model by model it writes
models/analysis/LANGUAGE/causal/TOKENIZER/SEED.parquet: give `models` to causal_controls.py.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from causal_controls import LABELS, LANGUAGES  # noqa: E402

from reproduction.lm.causal import train_causal  # noqa: E402
from reproduction.lm.settings import CausalSettings  # noqa: E402
from sagevocab.segment import load_segmenter  # noqa: E402
from sagevocab.text import read_lines  # noqa: E402
from sagevocab.words import Normalizer, WordCorpus  # noqa: E402

SETTINGS = CausalSettings(
    layers=4,
    hidden=512,
    heads=8,
    lines=750_000,
    batch=256,
    learning_rate=1e-3,
    heldout_lines=300,
    precision="bf16",
)


def train(results: Path, output: Path, gpus: int, language: str, tokenizer: str, seed: int) -> str:
    """Train a model unless it is there; return what was done."""
    started = time.monotonic()
    path = output / f"analysis/{language}/causal/{tokenizer}/{seed}.parquet"
    if path.exists():
        return f"{language} {tokenizer} {seed}: is there"
    path.parent.mkdir(parents=True, exist_ok=True)
    corpus = WordCorpus.load(results / f"corpus/{language}.train.words.npz")
    heldout = read_lines(results / f"corpus/{language}.heldout.txt.zst")
    train_causal(
        corpus,
        WordCorpus.from_lines(heldout, Normalizer()),
        load_segmenter(results / f"vocab/{language}/{tokenizer}"),
        path,
        replace(SETTINGS, lines=min(SETTINGS.lines, corpus.n_lines)),
        seed=seed,
        threads=1,
        gpus=gpus,
        state_dir=output / f"state/{language}/{tokenizer}/{seed}",
    )
    return f"{language} {tokenizer} {seed}: {time.monotonic() - started:.0f} s"


def main(given: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="folder of results, with corpus/ and vocab/")
    parser.add_argument("output", type=Path)
    parser.add_argument("--at-once", type=int, default=5, help="models trained at a time")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    arguments = parser.parse_args(given)
    if not (arguments.results / "corpus").is_dir():
        parser.error(f"{arguments.results}: has no folder `corpus`; name a run's results")
    where = arguments.results, arguments.output, int(not arguments.cpu)
    # Whole seeds first: a run that is ended early compares what it has.
    models = product(range(1, arguments.seeds + 1), LANGUAGES, LABELS)
    workers = ProcessPoolExecutor(
        arguments.at_once,
        # Trainer loads batches in a process of its own, which inherits this start method.
        mp_context=multiprocessing.get_context("fork"),
        initializer=partial(logging.basicConfig, level=logging.INFO),
    )
    with workers:
        started = [
            workers.submit(train, *where, language, tokenizer, seed)
            for seed, language, tokenizer in models
        ]
        for model in as_completed(started):
            print(model.result(), flush=True)


if __name__ == "__main__":
    main()
