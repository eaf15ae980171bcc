"""The score tables: means, spread, the paper's numbers, and which differences are marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.paper import tables_scores as tables
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import budget_note
from sagevocab.errors import UserError
from table_files import markdown_rows, rows_of, text_of

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


def test_scores_are_means_with_spread_beside_the_papers(outputs):
    scores = [
        score("mrpc", "bpe", 1, 0.78),
        score("mrpc", "bpe", 2, 0.80),
        score("mnli", "bpe", 1, 0.5),
        score("mnli", "bpe", 2, 0.5),
        score("mrpc", "sage", 1, 0.9),
        score("mrpc", "sage", 2, 0.9),
        score("mnli", "sage", 1, 0.6),
        score("mnli", "sage", 2, 0.61),
        score("mnli", "other", 1, 0.1),
    ]
    given = {"tasks": TASKS, "labels": LABELS, "paper": VALUES, "table": "table_sequence"}
    tables.table_scores(scores, **given, **REST).write(**outputs)
    assert markdown_rows(outputs) == [
        ["BPE", "0.7900 ± 0.0141", "50.00 ± 0.00"],
        ["SaGe", r"0.9000 ± 0.0000\*", "60.50 ± 0.71"],
        ["Most frequent answer", "0.5000", "50.00"],
        ["BPE (paper)", "0.7918", "62.76"],
        ["SaGe (paper)", "0.8004", "64.00"],
    ]
    text = text_of(outputs, "md")
    assert text.splitlines()[0] == "|  | MRPC (F1) | MNLI (Acc. %, constructed) |"
    assert "2 fine-tuning seeds" in text and "Budget: little." in text and "MNLI 25 %" in text
    row = rows_of(outputs)[0]
    assert float(row["mean"]) == pytest.approx(0.79)
    assert (row["seeds"], row["paper"], row["train_examples"]) == ("2", "0.7918", "400")
    assert [row["significant"] for row in rows_of(outputs)] == ["False", "False", "True", "False"]


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


PRETRAIN = {"layers": 24, "hidden": 1024, "batch": 4032, "sequence_length": 128, "mask_rate": 0.15}
FINETUNE = {"epochs": 5, "batch": 16, "accumulation": 2, "max_sequence_length": 128}


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"hours": 24.0}, "24 hours in batches of 4,032 sequences of 128 tokens"),
        ({"hours": None, "steps": 1}, "1 update of 4,032 sequences of 128 tokens"),
        ({"tokens": 10**9}, "1,000,000,000 tokens in batches of 4,032 sequences"),
    ],
)
def test_a_note_gives_the_budget_and_the_cuts(budget, words):
    cut = [
        {"label": "NER", "max_train": 500, "max_validation": 20, "validation_share": None},
        {"label": "RTE", "max_train": 500, "validation_share": 0.1},
    ]
    note = budget_note({**PRETRAIN, **budget}, FINETUNE, cut)
    assert words in note and "5 epochs in batches of 32" in note
    assert "500 training of each task, NER 20 validation." in note and "10 % of RTE" in note
