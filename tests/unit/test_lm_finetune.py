from __future__ import annotations

import json
import random
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from seqeval.metrics import f1_score as span_f1
from sklearn.metrics import accuracy_score

from lm_samples import make_model
from reproduction.lm import finetune as module
from reproduction.lm.finetune import (
    Finetuner,
    examples_in_epoch,
    finetune,
    load_model,
    load_splits,
)
from reproduction.lm.settings import FinetuneSettings
from reproduction.lm.tasks import Task
from reproduction.lm.tokenizer import IGNORED
from reproduction.lm.training import seed_torch, training_arguments

CLASSES = Task("letters", "sequence", "accuracy", ("no", "yes"))
VALUES = Task("count", "sequence", "pearson")
TAGS = Task("names", "tokens", "span_f1")
QUICK = {
    "epochs": 3,
    "max_sequence_length": 16,
    "batch": 8,
    "learning_rate": 1e-2,
    "warmup_steps": 4,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


def rows_of(task: Task, count: int, seed: int) -> pd.DataFrame:
    rng = random.Random(seed)
    words = [rng.choices(["cat", "the", "dog", "a"], k=4) for _ in range(count)]
    if task is TAGS:
        tags = [["B-PER" if word == "cat" else "O" for word in row] for row in words]
        return pd.DataFrame({"tokens": words, "tags": tags})
    shares = [row.count("cat") / 4 for row in words]
    frame = pd.DataFrame({"text": [" ".join(row) for row in words]})
    frame["label"] = shares if task is VALUES else [int(share > 0) for share in shares]
    return frame


@pytest.fixture(scope="module")
def splits(tmp_path_factory) -> dict[str, tuple[Path, Path]]:
    folder = tmp_path_factory.mktemp("tasks")
    paths = {}
    for task in (CLASSES, VALUES, TAGS):
        paths[task.name] = folder / f"{task.name}.train", folder / f"{task.name}.validation"
        for seed, (path, count) in enumerate(zip(paths[task.name], (160, 60), strict=True)):
            rows_of(task, count, seed).to_parquet(path)
    return paths


def run(model, splits, task, folder, seed=1, arguments=None, **overrides):
    settings = FinetuneSettings(**(QUICK | overrides))
    finetune(
        model,
        *splits[task.name],
        folder / "scores.json",
        folder / "predictions.parquet",
        task,
        settings,
        language="en",
        tokenizer="bpe",
        seed=seed,
        **({"state_dir": folder / "state"} | (arguments or {})),
    )
    return json.loads((folder / "scores.json").read_text()), pd.read_parquet(
        folder / "predictions.parquet"
    )


def test_classes_are_learnt_and_the_score_is_that_of_the_predictions(model, splits, tmp_path):
    scores, table = run(model, splits, CLASSES, tmp_path)
    gold = pd.read_parquet(splits["letters"][1]).label
    assert scores["value"] > scores["majority"] + 0.1
    assert scores["value"] == accuracy_score(gold, table.predicted)
    assert scores["majority"] == max(gold.mean(), 1 - gold.mean())
    assert table.label.tolist() == gold.tolist()
    assert table.example.tolist() == list(range(60))
    assert table.probability.between(0.5, 1).all()
    assert scores.keys() == {
        *("task", "language", "tokenizer", "seed", "metric", "classes", "value"),
        *("all_metrics", "majority"),
        *("examples", "train_examples", "truncated_examples", "truncated_words", "updates"),
    }
    assert (scores["task"], scores["language"], scores["tokenizer"]) == ("letters", "en", "bpe")
    counts = (scores["examples"], scores["train_examples"], scores["updates"], scores["seed"])
    assert counts == (60, 160, 3 * 20, 1)
    assert scores["all_metrics"].keys() == {"accuracy", "f1", "matthews"}


def test_tags_are_learnt_word_by_word(model, splits, tmp_path):
    scores, table = run(model, splits, TAGS, tmp_path)
    gold = pd.read_parquet(splits["names"][1])
    lists = {name: [list(row) for row in table[name]] for name in ("tokens", "tags", "predicted")}
    assert lists["tokens"] == [list(row) for row in gold.tokens]
    assert lists["tags"] == [list(row) for row in gold.tags]
    assert scores["value"] == span_f1(lists["tags"], lists["predicted"])
    assert scores["value"] > 0.9
    assert scores["majority"] == 0.0
    assert scores["truncated_words"] == 0


def test_truncated_words_are_outside_and_counted(model, splits, tmp_path):
    # A word is one token, so two words fit between [CLS] and [SEP].
    scores, table = run(model, splits, TAGS, tmp_path, max_sequence_length=4)
    assert scores["truncated_words"] == 60 * 2
    assert scores["truncated_examples"] == 60
    assert all(row[2:].tolist() == ["O", "O"] for row in table.predicted)
    assert any("B-PER" in row[:2] for row in table.predicted)


def test_a_run_on_other_rows_or_in_another_precision_begins_anew(model, splits, tmp_path, caplog):
    paths = [tmp_path / name for name in ("train", "validation")]
    for source, path in zip(splits[CLASSES.name], paths, strict=True):
        pd.read_parquet(source).to_parquet(path)
    state = {"state_dir": tmp_path / "state", "checkpoint_minutes": 0.0}
    caplog.set_level("INFO")

    def said(**arguments) -> str:
        """The log of training that is interrupted before its state is cleared."""
        caplog.clear()
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(module, "predict", Mock(side_effect=KeyboardInterrupt))
            where = model, {CLASSES.name: paths}, CLASSES, tmp_path / "scores"
            run(*where, epochs=0.3, arguments=state | arguments)
        return caplog.text

    assert "resuming" not in said()
    assert "resuming after 5 updates" in said()
    assert "resuming" not in said(precision="bf16")
    rows = pd.read_parquet(paths[0])
    rows.assign(label=1 - rows["label"]).to_parquet(paths[0])
    assert "resuming" not in said()


def prepared(model, splits, task, folder, **overrides):
    settings = FinetuneSettings(**(QUICK | overrides))
    loaded, tags = load_splits(*splits[task.name], task, model, settings.max_sequence_length)
    body = load_model(model, task, tags, settings)
    decay = {"lr_scheduler_type": settings.schedule, "warmup_steps": settings.warmup_steps}
    arguments = training_arguments(folder, "fp32", 0, 1, **decay)
    examples = loaded["train"]
    made = Finetuner(body, arguments, task, settings, examples, seed=1, checkpoint_minutes=1e9)
    return made, loaded


@pytest.mark.parametrize("task", [CLASSES, VALUES, TAGS], ids=lambda task: task.name)
def test_neither_padding_nor_dropout_changes_a_prediction(model, splits, task, tmp_path):
    made = []
    for size in (1, 60):
        seed_torch(1)
        trainer, loaded = prepared(model, splits, task, tmp_path, eval_batch=size)
        trainer.model.train()  # as training leaves it, with dropout
        made.append(trainer.logits_of(loaded["validation"]))
    for ours, theirs in zip(*made, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("task", [CLASSES, VALUES, TAGS], ids=lambda task: task.name)
def test_the_loss_is_that_of_transformers(model, splits, task, tmp_path):
    made, loaded = prepared(model, splits, task, tmp_path)
    batch = loaded["train"].batch(range(6))
    theirs = made.model.eval()(**batch).loss.item()
    count = (batch["labels"] != IGNORED).sum().item() if task is TAGS else 6
    assert made.summed_loss(made.model, batch).item() / count == pytest.approx(theirs, rel=1e-5)


def test_an_epoch_shows_every_example_once():
    settings = FinetuneSettings(batch=4, accumulation=2)
    assert settings.updates_per_epoch(21) == 3
    epoch = [examples_in_epoch(settings, update, 21, seed=1) for update in range(3)]
    assert [len(part) for part in epoch] == [8, 8, 5]
    assert sorted(np.concatenate(epoch)) == list(range(21))
    again = [examples_in_epoch(settings, update, 21, seed=1) for update in range(3, 6)]
    assert np.concatenate(epoch).tolist() != np.concatenate(again).tolist()
