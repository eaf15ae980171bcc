"""Tiny trainings come out as they did: whoever changes that raises a RESULT_VERSION.

Finished models and checkpoints outlive every edit of the code (`lm.settings.RESULT_VERSION`), so a
change that gives other weights must say so. Shards hold whole numbers and are compared by digest.
Weights are float32: another processor may sum in another order, so some numbers that follow from
all of them are compared, to four digits, and dropout, whose draws differ between processors, is
left out; its rates and the seeds of its draws are compared. After a change that is meant:

    PYTHONPATH=workflow/scripts:tests python tests/golden/test_lm_results.py
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from lm_samples import TINY, make_shards, make_vocabulary, sentences
from reproduction.lm import causal
from reproduction.lm import finetune as finetuning
from reproduction.lm import pretrain as pretraining
from reproduction.lm.model import build_model, save_model
from reproduction.lm.settings import (
    RESULT_VERSION,
    CausalSettings,
    FinetuneSettings,
    PretrainSettings,
)
from reproduction.lm.tasks import Task
from reproduction.lm.tokenizer import load_encoder
from reproduction.lm.training import (
    DROPOUT,
    INITIAL_WEIGHTS,
    ORDER,
    generator,
    seed_torch,
    training_arguments,
)
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.huggingface.segmenter import load_segmenter

STORED = Path(__file__).with_name("lm_results.json")
SETTINGS = PretrainSettings(**TINY | {"steps": 10, "dropout": 0.0, "attention_dropout": 0.0})
CAUSAL = CausalSettings(layers=1, hidden=16, heads=2, longest=32, lines=48, batch=8)
TEXTS = ["the cat sees", "a dog", "a bird sees", "the moon"] * 6
LABELS = [1, 0, 1, 0] * 6
# The last pair is longer than the longest input; words have several pieces.
TASKS = {
    Task("class", "sequence", "accuracy", ("no", "yes")): {"text": TEXTS, "label": LABELS},
    Task("value", "sequence", "pearson"): {"text": TEXTS, "label": [0.5, 3.0, 1.0, 4.0] * 6},
    Task("pair", "sequence", "f1", ("no", "yes")): {
        "text": TEXTS, "text_pair": [*TEXTS[1:], "the dog sees a bird " * 4], "label": LABELS
    },
    Task("tags", "tokens", "span_f1"): {
        "tokens": [text.split() for text in TEXTS],
        "tags": [["O", "B-A", "O"][: len(text.split())] for text in TEXTS],
    },
}  # fmt: skip
FINETUNING = FinetuneSettings(
    max_sequence_length=16, epochs=8, batch=5, learning_rate=1e-2, warmup_steps=2
)


def shards_results(folder: Path) -> dict[str, Any]:
    """The digests of rows and questions, whatever the form of the tokenizer's file."""
    arrays = {"rows": np.load(make_shards(folder) / "train.npy")}
    arrays |= np.load(folder / "shards/heldout.npz")
    return {
        name: hashlib.sha256(f"{array.dtype} {array.tolist()}".encode()).hexdigest()
        for name, array in arrays.items()
        if name != "tokenizer"
    }


def pretrain_results(folder: Path) -> dict[str, Any]:
    """Losses, held-out bits and the size of every weight; rates and seeds of dropout."""
    shards, words = make_shards(folder), folder / "vocabulary"
    named = {"name": "x", "seed": 1, "state_dir": folder / "state"}
    pretraining.pretrain(shards, words, folder / "m", SETTINGS, **named)
    log = pd.read_parquet(folder / "m/training_log.parquet")
    weights = load_file(folder / "m/model.safetensors")
    dropped = replace(SETTINGS, dropout=0.1, attention_dropout=0.2)
    config = build_model(load_encoder(words), dropped).config
    seed_torch(1, DROPOUT, 3)
    return {
        "losses": log.loss.tolist(),
        "bits": log.heldout_bits_per_character.dropna().tolist(),
        "weights": {name: weight.norm().item() for name, weight in sorted(weights.items())},
        "dropout": torch.initial_seed(),
        "rates": [config.hidden_dropout_prob, config.attention_probs_dropout_prob],
    }


def finetune_results(folder: Path) -> dict[str, Any]:
    """Losses on each kind of task, and predictions of a classifier.

    The first weights of the model are no draws of pretraining's.
    """
    make_shards(folder)
    model = build_model(load_encoder(folder / "vocabulary"), SETTINGS)
    for parameter in filter(lambda weight: weight.ndim > 1, model.parameters()):
        noise = torch.from_numpy(generator(len(parameter), ORDER).normal(size=parameter.shape))
        parameter.data = 0.2 * noise.float()
    (folder / "m").mkdir()
    save_model(model, folder / "vocabulary", folder / "m")
    losses = {task.name: _losses(folder, task) for task in TASKS}
    rows, task = folder / "rows", next(iter(TASKS))
    pd.DataFrame(TASKS[task]).to_parquet(rows)
    files = rows, rows, folder / "scores.json", folder / "predictions"
    names = {"language": "en", "tokenizer": "x", "seed": 1, "state_dir": folder / "state"}
    finetuning.finetune(folder / "m", *files, task, FINETUNING, **names)
    predictions = pd.read_parquet(folder / "predictions")
    return {
        "losses": losses,
        "predicted": predictions.predicted[:4].tolist(),
        "probability": predictions.probability[:4].tolist(),
    }


def _losses(folder: Path, task: Task) -> list[float]:
    """The losses of the first updates at a rate that stays."""
    rows = folder / "rows"
    pd.DataFrame(TASKS[task]).to_parquet(rows)
    settings = replace(FINETUNING, epochs=1.2)
    splits, tags = finetuning.load_splits(rows, rows, task, folder / "m", 16)
    arguments = training_arguments(
        *(folder / "state", "fp32", 0, 1),
        **{"learning_rate": 1e-2, "lr_scheduler_type": "constant", "weight_decay": 0.1},
    )
    seed_torch(1, INITIAL_WEIGHTS)
    model = finetuning.load_model(folder / "m", task, tags, settings)
    examples = splits["train"]
    trainer = finetuning.Finetuner(
        model, arguments, task, settings, examples, seed=1, checkpoint_minutes=1e9
    )
    trainer.run()
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def causal_results(folder: Path) -> dict[str, Any]:
    """What held-out lines cost after an update and at the end."""
    corpus, asked = (WordCorpus.from_lines(sentences(64, seed), Normalizer()) for seed in (0, 1))
    segmenter = load_segmenter(make_vocabulary(folder))
    causal.train_causal(
        corpus, asked, segmenter, folder / "bits", CAUSAL, seed=1, state_dir=folder / "state"
    )
    found = pd.read_parquet(folder / "bits").groupby("step")
    return {name: found[name].sum().tolist() for name in ("seen", "line", "characters", "bits")}


RESULTS = {
    "shards": shards_results,
    "pretrain": pretrain_results,
    "finetune": finetune_results,
    "causal": causal_results,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_their_version(name, tmp_path):
    found, stored = RESULTS[name](tmp_path), json.loads(STORED.read_text())[name]
    renew = "PYTHONPATH=workflow/scripts:tests python tests/golden/test_lm_results.py"
    version, module = RESULT_VERSION[name], "reproduction/lm/settings.py"
    assert version == stored["version"], f"another RESULT_VERSION of {name}; run {renew}"
    assert found == near(stored["results"]), (
        f"the same settings give other results. If that is meant, raise it in {module} "
        f"(what is finished is then made anew) and run {renew}"
    )


def near(results: Any) -> Any:
    """Return `results` with every fraction as what is near enough to be equal to it."""
    if isinstance(results, dict):
        return {key: near(value) for key, value in results.items()}
    if isinstance(results, list):
        return [near(value) for value in results]
    is_fraction = isinstance(results, float)
    return pytest.approx(results, rel=1e-4, abs=1e-6) if is_fraction else results


def renew() -> None:
    """Store the results of this code under its versions."""
    stored = {}
    for name, results_of in RESULTS.items():
        with TemporaryDirectory() as folder:
            results = results_of(Path(folder))
        stored[name] = {"version": RESULT_VERSION[name], "results": results}
    STORED.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    renew()
