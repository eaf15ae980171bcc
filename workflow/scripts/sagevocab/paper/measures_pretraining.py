"""Measurements of pretraining, for the statement that Section 4 leaves to future work.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from sagevocab.analysis.resampling import percentile_p_value
from sagevocab.analysis.stats import CONFIDENCE
from sagevocab.paper.evidence import BASELINE, Case
from sagevocab.paper.intervals import LINES, LINES_RESAMPLED
from sagevocab.paper.learning_curves import Curve, draw_lines, effort_ratio, estimate, paired
from sagevocab.paper.verdicts import Measurement, NotMeasurableError

SEEDS = "pretraining seeds"
PAIRED_SEEDS = "Student's, paired by pretraining seed"


def update_ratio(case: Case) -> Measurement:
    """Updates of SaGe's model over those of BPE's, to bits per character that both reach.

    That value is the worse of the two final ones, on the lines that all models of the language
    keep, as in `table_learning_curves`. Intervals are over held-out lines or, where there are
    several, over pretraining seeds, whose ratios are averaged as logarithms.
    """
    names = dict.fromkeys((case.tokenizer, BASELINE, *case.run.lm_tokenizers))
    curves = [case.learning_curves(name) for name in names]
    flat = paired([curve for own in curves for curve in own])
    if not len(flat[0].lines):
        raise NotMeasurableError("no held-out lines of which all models were asked the same words")
    seeds = len(curves[0])
    ours, baseline = flat[:seeds], flat[seeds : 2 * seeds]
    if min(len(curve.at) for curve in (*ours, *baseline)) < 2:
        raise NotMeasurableError("a curve of one validation; lower lm.pretrain.validation_every")
    pairs = list(zip(ours, baseline, strict=True))
    return _over_lines(*pairs[0], case.run.seed) if len(pairs) == 1 else _over_seeds(pairs)


def _over_lines(ours: Curve, baseline: Curve, seed: int) -> Measurement:
    weights = draw_lines(len(ours.lines), seed)
    ratios = effort_ratio(ours, baseline, weights, "step")
    logs = np.log(ratios)
    return Measurement(
        *estimate(ratios),
        agrees=bool(ratios[0] < 1),
        unit=LINES,
        test=LINES_RESAMPLED,
        p_value=percentile_p_value(logs[1:]),
    )


def _over_seeds(pairs: Sequence[tuple[Curve, Curve]]) -> Measurement:
    logs = [
        np.log(effort_ratio(ours, baseline, np.ones((1, len(ours.lines))), "step")[0])
        for ours, baseline in pairs
    ]
    error = stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1) * stats.sem(logs)
    ours, low, high = np.exp(np.mean(logs) + error * np.array([0, -1, 1])).tolist()
    return Measurement(
        ours,
        low,
        high,
        agrees=ours < 1,
        unit=SEEDS,
        test=PAIRED_SEEDS,
        p_value=_student(logs),
    )


def _student(logs: Sequence[float]) -> float:
    if np.ptp(logs) == 0:  # as on a coarse grid of validations: what signs alone can tell
        return 1.0 if logs[0] == 0 else 2.0 ** (1 - len(logs))
    return float(stats.ttest_1samp(logs, 0.0).pvalue)


MEASURES = {"update_ratio": update_ratio}
