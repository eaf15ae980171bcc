"""Measurements of models and of time, for the statements of Section 5 and of the Limitations.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
Intervals and tests of scores are those of `table_differences`: by bootstrap over examples and
fine-tuning seeds. They say nothing of another pre-training. A score that is not above what the most
frequent answer scores says nothing of a vocabulary, and is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sagevocab.paper.evidence import BASELINE, Case
from sagevocab.paper.score_intervals import TESTS, TaskScores
from sagevocab.paper.verdicts import Measurement, NotMeasurableError

# The rules that make a SaGe vocabulary, and the one that makes BPE's.
SAGE_RULES = ("train_bpe_initial", "train_embeddings", "build_sage")
BPE_RULE = "train_bpe"


def score(case: Case, *, task: str) -> Measurement:
    """Mean score of a task over the seeds; agrees if SaGe against BPE goes the paper's way."""
    ours = case.scores(case.tokenizer, task)
    agrees = None
    if case.tokenizer != BASELINE and BASELINE in case.run.lm_tokenizers:
        difference = np.mean(ours) - np.mean(case.scores(BASELINE, task))
        agrees = bool(np.sign(difference) == np.sign(_printed_difference(case, task)))
    scores = case.resampled_scores(case.tokenizer, task)
    _require_learnt(case, scores, task, [case.tokenizer])
    return Measurement(
        *scores.mean(case.tokenizer), agrees=agrees, unit=scores.unit(case.tokenizer)
    )


def _require_learnt(case: Case, scores: TaskScores, task: str, tokenizers: Sequence[str]) -> None:
    """Refuse a task that none of these tokenizers' models has learnt, as far as can be told."""
    if not _is_learnt(case, scores, task, tokenizers):
        floor = case.most_frequent_answer(task)
        raise NotMeasurableError(f"not above the most frequent answer, which scores {floor:.4f}")


def _is_learnt(case: Case, scores: TaskScores, task: str, tokenizers: Sequence[str]) -> bool:
    floor = case.most_frequent_answer(task)
    return any(scores.mean(name).low > floor for name in tokenizers)


def _printed_difference(case: Case, task: str) -> float:
    tables = case.values["tables"].values()
    table = next(table for table in tables if task in table["sage"])
    return table["sage"][task] - table["bpe"][task]


def score_difference(case: Case, *, task: str) -> Measurement:
    """Score of SaGe's model minus that of BPE's, means over the seeds; agrees if it is positive."""
    case.scores(BASELINE, task)
    scores = case.resampled_scores(case.tokenizer, task)
    _require_learnt(case, scores, task, [case.tokenizer, BASELINE])
    found = scores.difference(case.tokenizer, BASELINE)
    unit = scores.unit(case.tokenizer, BASELINE)
    return Measurement(
        found.difference,
        found.low,
        found.high,
        agrees=found.difference > 0,
        unit=unit,
        test=TESTS[unit],
        p_value=found.p_value,
    )


def score_gain(case: Case, *, task: str) -> Measurement:
    """The same number for a claim about its size, which is no other test of the same difference."""
    return replace(score_difference(case, task=task), test=None, p_value=None)


def tasks_won(case: Case, *, tasks: Sequence[str], except_for: Sequence[str]) -> Measurement:
    """On how many tasks SaGe's model has the better mean score."""
    missing = [task for task in tasks if task not in case.run.tasks]
    if missing and case.run.lm_tokenizers:
        raise NotMeasurableError(f"config key tasks (of the run's languages) has no {missing[0]}")
    means = {
        name: {task: np.mean(case.scores(name, task)) for task in tasks}
        for name in (BASELINE, case.tokenizer)
    }
    unlearnt = [
        task
        for task in tasks
        if not _is_learnt(
            case, case.resampled_scores(case.tokenizer, task), task, [case.tokenizer, BASELINE]
        )
    ]
    if unlearnt:
        raise NotMeasurableError(f"not above the most frequent answer on {', '.join(unlearnt)}")
    won = [task for task in tasks if means[case.tokenizer][task] > means[BASELINE][task]]
    expected = [task for task in tasks if task not in except_for]
    lost = [task for task in tasks if task not in won]
    return Measurement(
        f"{len(won)} of {len(tasks)}" + (f"; not on {', '.join(lost)}" if lost else ""),
        holds=set(expected) <= set(won),
        agrees=2 * len(won) > len(tasks),
    )


def cost_ratio(case: Case) -> Measurement:
    """Wall-clock time of making SaGe's vocabulary over that of making BPE's."""
    ratio = _sage_seconds(case) / case.seconds(BPE_RULE, BASELINE)
    return Measurement(ratio, agrees=ratio > 1)


def cost_hours(case: Case) -> Measurement:
    """Wall-clock hours of making SaGe's vocabulary."""
    return Measurement(_sage_seconds(case) / 3600)


def _sage_seconds(case: Case) -> float:
    return sum(case.seconds(rule, case.tokenizer) for rule in SAGE_RULES)


MEASURES = {
    "cost_hours": cost_hours,
    "cost_ratio": cost_ratio,
    "score": score,
    "score_difference": score_difference,
    "score_gain": score_gain,
    "tasks_won": tasks_won,
}
