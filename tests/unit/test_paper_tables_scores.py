"""The score tables: means, spread, the paper's numbers, and which differences are marked."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from latex_checks import widths_of
from reproduction.analysis.scores import predictions_of, read_scores
from reproduction.lm.tasks import Task
from reproduction.paper import tables_scores as tables
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.notes import budget_note
from sagevocab.errors import UserError
from score_samples import answers, write_score
from table_files import markdown_rows, rows_of, text_of

VALUES = read_paper_values(Path(tables.__file__).parents[2] / "resources/paper_values.yaml")
PAPER_TASKS = {task for table in VALUES["tables"].values() for task in table["sage"]}
TASKS = [
    {"name": "mrpc", "label": "MRPC", "metric": "f1", "constructed": False},
    {"name": "mnli", "label": "MNLI", "metric": "accuracy", "constructed": True},
]
LABELS = {"bpe": "BPE", "sage": "SaGe"}
REST = {"significant": {("sage", "mrpc")}, "notes": ["Budget: little."]}


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
    paper = VALUES["tables"]["table_sequence"]
    tables.table_scores(scores, tasks=TASKS, labels=LABELS, paper=paper, **REST).write(**outputs)
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
    tables.table_scores(given, tasks=tasks, labels=LABELS, paper={}, **REST).write(**outputs)
    assert "One fine-tuning seed" in text_of(outputs, "md")
    last = ["Most frequent answer", "0.0000"]
    assert markdown_rows(outputs) == [["BPE", "−0.0123"], ["SaGe", "–"], last]


def test_a_missing_score_is_named(outputs):
    given = [score("mrpc", "bpe", 1, 0.5)]
    with pytest.raises(UserError, match="scores/bpe/mnli: none"):
        tables.table_scores(given, tasks=TASKS, labels={"bpe": "BPE"}, paper={}, **REST).write(
            **outputs
        )
    assert not any(path.exists() for path in outputs.values())


# --- differences

MRPC = Task("mrpc", "sequence", "f1", (0, 1))
MNLI = Task("mnli", "sequence", "accuracy", (0, 1))
RIGHT = {"bpe": (0.6, 0.62), "sage": (0.9, 0.92), "sage_released": (0.6, 0.64)}
THREE = {"bpe": "BPE", "sage": "SaGe", "sage_released": "SaGe 1.0"}


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """SaGe is far better than BPE on both tasks, the released reading is not."""
    return [
        write_score(tmp_path, name, task, seed, *answers(share, 200, start=11 * seed))
        for name, shares in RIGHT.items()
        for task in (MRPC, MNLI)
        for seed, share in enumerate(shares, start=1)
    ]


def differences(files, outputs, labels=THREE, seed=1, tasks=TASKS):
    tables.table_differences(
        read_scores(files),
        tasks=tasks,
        labels=labels,
        paper=VALUES["tables"],
        readings=["sage"],
        seed=seed,
        notes=["Budget: little."],
    ).write(**outputs)
    return rows_of(outputs)


def test_differences_are_those_of_the_means_and_tested_by_holm(files, outputs):
    rows = differences(files, outputs)
    assert [(row["tokenizer"], row["task"]) for row in rows] == [
        *itertools.product(("sage", "sage_released"), ("mrpc", "mnli"))
    ]
    by_name = {(row["tokenizer"], row["task"]): row for row in rows}
    clear, chance = by_name["sage", "mnli"], by_name["sage_released", "mnli"]
    assert float(clear["difference"]) == pytest.approx(0.30)
    assert float(chance["difference"]) == pytest.approx(0.01)
    assert (clear["significant"], chance["significant"]) == ("True", "False")
    for row in rows:
        low, high = float(row["low_seeds"]), float(row["high_seeds"])
        assert low < float(row["difference"]) < high
        # Holm over the paper's tasks, of which the values here have two and the run has both.
        same = [float(r["p_value"]) for r in rows if r["tokenizer"] == row["tokenizer"]]
        least = min(1.0, len(PAPER_TASKS) * min(same))
        second = min(1.0, (len(PAPER_TASKS) - 1) * float(row["p_value"]))
        assert float(row["p_adjusted"]) == pytest.approx(max(least, second))
    assert float(clear["paper"]) == pytest.approx(0.0124)
    assert chance["paper"] == ""
    cells = markdown_rows(outputs)
    assert cells[1][:5] == ["", "MNLI (Acc. %, constructed)", "61.00 ± 1.41", "91.00 ± 1.41"] + [
        r"+30.00\*"
    ]
    assert cells[1][-1] == "+1.24" and cells[3][-1] == "–"
    tex = text_of(outputs, "tex")
    assert widths_of(tex) == [10]
    assert tex.count(r"\midrule") == 2


def test_what_is_significant_is_read_back_for_the_other_tables(files, outputs):
    differences(files, outputs)
    found = {("sage", "mrpc"), ("sage", "mnli")}
    assert tables.read_significant([outputs["csv"]]) == found
    assert tables.read_significant([]) == set()
    outputs["csv"].write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"table\.csv: is no table of differences"):
        tables.read_significant([outputs["csv"]])


def test_one_seed_draws_examples_alone(files, outputs):
    rows = differences([path for path in files if path.name == "1.json"], outputs)
    assert {row["test"] for row in rows} == {"examples"}
    assert {row["low_seeds"] for row in rows} == {""}
    assert [row["p_value"] for row in rows] == [row["p_examples"] for row in rows]
    assert "| 95 %: examples | p |" in text_of(outputs, "md").splitlines()[0]


def test_predictions_of_another_score_are_refused(files, outputs):
    path = files[0]
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "value": 0.5}))
    with pytest.raises(UserError, match=r"1\.predictions\.parquet: has a score of .* says 0\.5000"):
        differences(files, outputs)
    table = pd.read_parquet(predictions_of(files[1]))
    table.assign(label=1 - table["label"]).to_parquet(predictions_of(files[1]))
    with pytest.raises(UserError, match=r"2\.predictions\.parquet: has other examples than"):
        differences(files, outputs)
    predictions_of(files[1]).unlink()
    with pytest.raises(UserError, match=r"2\.predictions\.parquet: cannot be read"):
        differences(files, outputs)
    assert not any(path.exists() for path in outputs.values())


def test_one_tokenizer_has_no_differences(files, outputs):
    with pytest.raises(UserError, match=r"lm\.tokenizers: differences need bpe and a tokenizer"):
        differences(files, outputs, labels={"bpe": "BPE"})
    with pytest.raises(UserError, match="scores/mine/mrpc: none"):
        differences(files, outputs, labels={"bpe": "BPE", "mine": "Mine"})


def test_tagging_and_values_are_compared_too(tmp_path, outputs):
    rng = np.random.default_rng(1)
    tags = [["O", "B-PER", "I-PER", "O", "B-LOC"] for _ in range(60)]
    values = rng.random(60)
    ner, stsb = Task("ner_en", "tokens", "span_f1"), Task("stsb", "sequence", "pearson")
    files = []
    for name, noise in {"bpe": 0.5, "sage": 0.1}.items():
        wrong = [["O"] * 5 if rng.random() < noise else row for row in tags]
        near = (values + noise * rng.standard_normal(60)).astype(np.float32)
        files.append(write_score(tmp_path, name, ner, 1, tags, wrong))
        files.append(write_score(tmp_path, name, stsb, 1, values.astype(np.float32), near))
    tasks = [
        {"name": "ner_en", "label": "NER", "metric": "span_f1", "constructed": False},
        {"name": "stsb", "label": "STS-B", "metric": "pearson", "constructed": False},
    ]
    rows = differences(files, outputs, labels=LABELS, tasks=tasks)
    assert [row["significant"] for row in rows] == ["True", "True"]
    assert [float(row["paper"]) for row in rows] == pytest.approx([0.036, 0.0293])


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
