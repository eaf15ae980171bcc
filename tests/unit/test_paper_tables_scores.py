"""The score tables: means, spread, the paper's numbers, and which differences are marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.paper import tables_scores as tables
from reproduction.paper.inputs import read_paper_values
from sagevocab.errors import UserError
from table_files import markdown_rows, text_of

VALUES = read_paper_values(Path(tables.__file__).parents[2] / "resources/paper_values.yaml")
PAPER_TASKS = {task for table in VALUES["tables"].values() for task in table["sage"]}
TASKS = [
    {"name": "mrpc", "label": "MRPC", "metric": "f1", "constructed": False},
    {"name": "mnli", "label": "MNLI", "metric": "accuracy", "constructed": True},
]
LABELS = {"bpe": "BPE", "sage": "SaGe"}
NO_PAPER = {"paper": {"tables": {"table_ner": {}}}, "table": "table_ner"}
REST = {"significant": {("SaGe", "mrpc")}, "notes": ["Budget: little."]}


def score(task, tokenizer, seed, value, majority=0.5):
    names = {"task": task, "tokenizer": tokenizer, "seed": seed}
    cut = 10 if (task, tokenizer) == ("mnli", "sage") else 0
    sizes = {"examples": 40, "train_examples": 400, "truncated_examples": cut}
    return {**names, "value": value, "majority": majority, **sizes}


# --- means


def test_one_seed_has_no_spread_and_a_metric_may_be_negative_or_undefined(outputs):
    tasks = [{"name": "cola", "label": "CoLA", "metric": "matthews", "constructed": False}]
    given = [score("cola", "bpe", 1, -0.0123, 0), score("cola", "sage", 1, float("nan"), 0)]
    tables.table_scores(given, tasks=tasks, labels=LABELS, **NO_PAPER, **REST).write(**outputs)
    assert "One fine-tuning seed" in text_of(outputs, "md")
    last = ["Most frequent answer", "0.0000"]
    assert markdown_rows(outputs) == [["BPE", "−0.0123"], ["SaGe", "–"], last]


def test_a_missing_score_is_named(outputs):
    given = [score("mrpc", "bpe", 1, 0.5)]
    with pytest.raises(UserError, match="scores/bpe/mnli: none"):
        tables.table_scores(given, tasks=TASKS, labels={"bpe": "BPE"}, **NO_PAPER, **REST).write(
            **outputs
        )
    assert not any(path.exists() for path in outputs.values())


# --- budgets
