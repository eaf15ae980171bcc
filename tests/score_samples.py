"""Scores with the predictions behind them, as fine-tuning writes them, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.lm.tasks import Task
from reproduction.parquet import write_parquet
from sagevocab.files import write_json


def write_score(
    folder: Path, tokenizer: str, task: Task, seed: int, gold: Sequence, predicted: Sequence
) -> Path:
    """Write the score and the predictions of one model; return the path of the score."""
    path = folder / tokenizer / task.name / f"{seed}.json"
    column = "tags" if task.is_tagging else "label"
    table = pd.DataFrame({column: list(gold), "predicted": list(predicted)})
    write_parquet(path.with_suffix(".predictions.parquet"), table)
    answers = (gold, predicted) if task.is_tagging else (np.array(gold), np.array(predicted))
    record = {
        "task": task.name,
        "tokenizer": tokenizer,
        "seed": seed,
        "metric": task.metric,
        "classes": len(task.labels) if task.labels else None,
        "value": task.scores(*answers)[task.metric],
        "majority": 0.5,
        "truncated_examples": 0,
        "examples": len(table),
        "train_examples": 10 * len(table),
    }
    write_json(path, record)
    return path


def answers(share: float, count: int = 100, start: int = 0) -> tuple[list[int], list[int]]:
    """Labels of two classes, and answers of which a share is right, from one example on."""
    gold = [number % 2 for number in range(count)]
    right = {(start + number) % count for number in range(round(share * count))}
    return gold, [label if n in right else 1 - label for n, label in enumerate(gold)]
