"""Measurements of models and of time, for Section 5, the Limitations and the update steps.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
Intervals and tests of scores are those of `table_differences`: by bootstrap over examples and
fine-tuning seeds. They say nothing about another pretraining. A task whose models do no better than
the most frequent answer says nothing about a vocabulary, and is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reproduction.analysis.scores import TESTS
from reproduction.analysis.stats import resampled_weights
from reproduction.paper.claims_inputs import Case
from reproduction.paper.curves import (
    Curve,
    compared_at,
    context_free_bits,
    effort_ratio,
    is_above_floor,
    paired,
)
from reproduction.paper.inputs import BASELINE, BPE_RULE, SAGE_RULES
from reproduction.paper.intervals import LINES, LINES_RESAMPLED
from reproduction.paper.measures import (
    CLOCKS,
    DOWNSTREAM,
    MODELS,
    PRETRAINING,
    Measurement,
    NotMeasurableError,
    measure,
)

SEEDS = "pretraining seeds"
PAIRED_SEEDS = "Student's, paired by pretraining seed"

# --- scores and time


@measure(reads=MODELS)
def score(case: Case, *, task: str) -> Measurement:
    """Mean score of a task over the seeds; agrees if SaGe against BPE goes the paper's way."""
    agrees = None
    if case.tokenizer != BASELINE and BASELINE in case.run.lm_tokenizers:
        both = case.resampled_scores(case.tokenizer, task).difference(case.tokenizer, BASELINE)
        agrees = both.low > 0 if _printed_difference(case, task) > 0 else both.high < 0
    scores = case.resampled_scores(case.tokenizer, task)
    _require_learnt(case, task, case.tokenizer)
    unit = scores.unit(case.tokenizer)
    return Measurement(*scores.mean(case.tokenizer), agrees=agrees, unit=unit)


def _require_learnt(case: Case, task: str, *tokenizers: str) -> None:
    """Raise NotMeasurableError for a task that none of these tokenizers' models has learnt."""
    if not _is_learnt(case, task, *tokenizers):
        floor = case.most_frequent_answer(task)
        raise NotMeasurableError(f"not above the most frequent answer, which scores {floor:.4f}")


def _is_learnt(case: Case, task: str, *tokenizers: str) -> bool:
    scores = case.resampled_scores(case.tokenizer, task)
    return any(scores.mean(name).low > case.most_frequent_answer(task) for name in tokenizers)


def _printed_difference(case: Case, task: str) -> float:
    tables = case.values["tables"].values()
    table = next(table for table in tables if task in table["sage"])
    return table["sage"][task] - table["bpe"][task]


@measure(reads=MODELS, tested=True, family=DOWNSTREAM)
def score_difference(case: Case, *, task: str) -> Measurement:
    """Score of SaGe's model minus that of BPE's, means over the seeds; agrees if it is positive."""
    case.scores(BASELINE, task)
    scores = case.resampled_scores(case.tokenizer, task)
    _require_learnt(case, task, case.tokenizer, BASELINE)
    *estimate, p_value = scores.difference(case.tokenizer, BASELINE)
    unit = scores.unit(case.tokenizer, BASELINE)
    return Measurement(
        *estimate, agrees=estimate[1] > 0, unit=unit, test=TESTS[unit], p_value=p_value
    )


@measure(reads=MODELS)
def score_gain(case: Case, *, task: str) -> Measurement:
    """The same number for a claim about its size, without a second test of the same difference."""
    return replace(score_difference(case, task=task), test=None, p_value=None)


@measure(reads=MODELS)
def tasks_won(case: Case, *, tasks: Sequence[str], except_for: Sequence[str]) -> Measurement:
    """On how many tasks SaGe's model has the better mean score."""
    missing = [task for task in tasks if task not in case.run.tasks]
    if missing and case.run.lm_tokenizers:
        raise NotMeasurableError(f"config key tasks (in lm.languages) has no {missing[0]}")
    bpe, sage = (
        {task: np.mean(case.scores(name, task)) for task in tasks}
        for name in (BASELINE, case.tokenizer)
    )
    unlearnt = [task for task in tasks if not _is_learnt(case, task, case.tokenizer, BASELINE)]
    if unlearnt:
        raise NotMeasurableError(f"not above the most frequent answer on {', '.join(unlearnt)}")
    lost = [task for task in tasks if sage[task] <= bpe[task]]
    won = len(tasks) - len(lost)
    return Measurement(
        f"{won} of {len(tasks)}" + (f"; not on {', '.join(lost)}" if lost else ""),
        holds=set(lost) <= set(except_for),
        agrees=2 * won > len(tasks),
    )


@measure(reads=CLOCKS)
def cost_ratio(case: Case) -> Measurement:
    """Wall-clock time of making SaGe's vocabulary over that of making BPE's."""
    ratio = _sage_seconds(case) / case.seconds(BPE_RULE, BASELINE)
    return Measurement(ratio, agrees=ratio > 1)


@measure(reads=CLOCKS)
def cost_hours(case: Case) -> Measurement:
    """Wall-clock hours of making SaGe's vocabulary."""
    return Measurement(_sage_seconds(case) / 3600)


def _sage_seconds(case: Case) -> float:
    return sum(case.seconds(rule, case.tokenizer) for rule in SAGE_RULES)


# --- pretraining


@measure(reads=MODELS, tested=True, family=PRETRAINING)
def update_ratio(case: Case) -> Measurement:
    """Updates of SaGe's model over those of BPE's, to bits per character that both reach.

    That value is the worse of the two final ones, on the lines that all models of the language
    keep. Where frequencies of pieces reach it without seeing another
    word, it says nothing of contexts, and nothing is measured. Intervals are over held-out lines
    or, where there are several, over pretraining seeds, whose ratios are averaged as logarithms.
    """
    names = dict.fromkeys((case.tokenizer, BASELINE, *case.run.lm_tokenizers))
    curves = [case.learning_curves(name) for name in names]
    flat = paired([curve for of_seeds in curves for curve in of_seeds])
    if not len(flat[0].lines):
        raise NotMeasurableError("no held-out lines of which all models predicted the same words")
    seeds = len(curves[0])
    compared, baseline = flat[:seeds], flat[seeds : 2 * seeds]
    if min(len(curve.at) for curve in (*compared, *baseline)) < 2:
        raise NotMeasurableError("a curve of one validation; lower lm.pretrain.validation_every")
    pairs = list(zip(compared, baseline, strict=True))
    for pair in pairs:
        _require_contexts(*pair)
    weights = resampled_weights(len(flat[0].lines), seed=case.run.seed)
    ratio, low, high, p_value = effort_ratio(pairs, weights)
    unit, test = (LINES, LINES_RESAMPLED) if len(pairs) == 1 else (SEEDS, PAIRED_SEEDS)
    return Measurement(ratio, low, high, agrees=ratio < 1, unit=unit, test=test, p_value=p_value)


def _require_contexts(compared: Curve, baseline: Curve) -> None:
    """Raise NotMeasurableError where curves are compared at what frequencies alone reach."""
    if is_above_floor(compared, baseline):
        value = compared_at(compared, baseline, np.ones((1, len(compared.lines)))).item()
        floor = context_free_bits(compared, baseline)
        raise NotMeasurableError(
            f"models are compared at {value:.3f} bits per character, and frequencies of pieces, "
            f"which see no context, reach {floor:.3f}; train longer (lm.pretrain)"
        )
