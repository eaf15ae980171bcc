"""Measurements of models and of time, for the statements of Section 5 and of the Limitations.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
Intervals over fine-tuning seeds are Student's; they say nothing of another pre-training.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagevocab.paper.evidence import BASELINE, Case
from sagevocab.paper.intervals import SEEDS, difference_of_seeds, mean_of_seeds
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
    estimate = mean_of_seeds(ours)
    unit = None if estimate[1] is None else SEEDS
    return Measurement(*estimate, agrees=agrees, unit=unit)


def _printed_difference(case: Case, task: str) -> float:
    tables = case.values["tables"].values()
    table = next(table for table in tables if task in table["sage"])
    return table["sage"][task] - table["bpe"][task]


def score_difference(case: Case, *, task: str) -> Measurement:
    """Score of SaGe's model minus that of BPE's, paired by seed; agrees if it is positive."""
    pairs = zip(case.scores(case.tokenizer, task), case.scores(BASELINE, task), strict=True)
    differences = [ours - baseline for ours, baseline in pairs]
    return difference_of_seeds(differences)


def tasks_won(case: Case, *, tasks: Sequence[str], except_for: Sequence[str]) -> Measurement:
    """On how many tasks SaGe's model has the better mean score."""
    missing = [task for task in tasks if task not in case.run.tasks]
    if missing and case.run.lm_tokenizers:
        raise NotMeasurableError(f"config key tasks (of the run's languages) has no {missing[0]}")
    won = [task for task in tasks if score_difference(case, task=task).ours > 0]
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
    "tasks_won": tasks_won,
}
