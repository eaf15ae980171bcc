"""The score tables, where a run lacks what the reference run has."""

from __future__ import annotations

import math

import pytest

from reproduction.paper.tables_scores import table_scores
from sagevocab.errors import UserError
from table_files import markdown_rows, text_of

TASKS = [{"name": "cola", "label": "CoLA", "metric": "matthews", "language": "English"}]
LABELS = {"bpe": "BPE", "sage": "SaGe (printed)", "sage_released": "SaGe (released)"}
GIVEN = {"tasks": TASKS, "labels": LABELS, "significant": {("SaGe (printed)", "cola")}}
GIVEN |= {"paper": {"tables": {"table_ner": {}}}, "table": "table_ner", "notes": []}


def score(tokenizer: str, value: float) -> dict:
    sizes = {"examples": 40, "train_examples": 400, "truncated_examples": 0}
    one = {"task": "cola", "tokenizer": tokenizer, "seed": 1, "majority": 0.0}
    return {**one, "value": value, **sizes}


def test_one_seed_has_no_spread_and_a_metric_may_be_negative_or_undefined(outputs):
    values = {"bpe": -0.0123, "sage": 0.5, "sage_released": math.nan}
    table_scores([score(*one) for one in values.items()], **GIVEN).write(**outputs)
    assert markdown_rows(outputs) == [
        ["BPE", "−0.0123"],
        ["SaGe (printed)", r"0.5000\*"],
        ["SaGe (released)", "–"],
        ["Most frequent answer", "0.0000"],
    ]
    assert "One fine-tuning seed" in text_of(outputs, "md")


def test_a_missing_score_is_named():
    with pytest.raises(UserError, match="scores/sage/cola: "):
        table_scores([score("bpe", 0.5)], **GIVEN)
