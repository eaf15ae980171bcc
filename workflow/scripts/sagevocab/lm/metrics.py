"""Scores of predictions, as fractions: F1, accuracy, Matthews, Pearson, span F1 (paper, Section 5).

The libraries that define them are used: scikit-learn, scipy, seqeval. Where a correlation is
undefined, because all predictions (or labels) are the same, it counts as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

CLASS_METRICS = ("accuracy", "f1", "matthews")
VALUE_METRICS = ("pearson", "spearman")
SPAN_METRICS = ("span_f1", "span_precision", "span_recall", "word_accuracy")


def fitting_metrics(kind: str, labels: Sequence | None) -> tuple[str, ...]:
    """Return the metrics that tables can show of a task; without labels it is a regression."""
    if kind == "tokens":
        return SPAN_METRICS[:1]
    return VALUE_METRICS[:1] if labels is None else CLASS_METRICS


def class_scores(labels: np.ndarray, predictions: np.ndarray, classes: int) -> dict[str, float]:
    """Return CLASS_METRICS for class numbers in [0, classes).

    F1 is that of class 1 if there are two classes, as GLUE reports it; else the mean over classes.
    """
    from sklearn.metrics import f1_score, matthews_corrcoef

    average = {"average": "binary"} if classes == 2 else {"average": "macro"}
    numbers = None if classes == 2 else list(range(classes))
    f1 = f1_score(labels, predictions, labels=numbers, zero_division=0.0, **average)
    return {
        "accuracy": float((labels == predictions).mean()),
        "f1": float(f1),
        "matthews": float(matthews_corrcoef(labels, predictions)),
    }


def value_scores(labels: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """Return VALUE_METRICS for real numbers."""
    labels, predictions = labels.astype("float64"), predictions.astype("float64")
    if labels.min() == labels.max() or predictions.min() == predictions.max():
        return dict.fromkeys(VALUE_METRICS, 0.0)
    from scipy.stats import pearsonr, spearmanr

    return {
        "pearson": float(pearsonr(labels, predictions).statistic),
        "spearman": float(spearmanr(labels, predictions).statistic),
    }


def span_scores(
    tags: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Return SPAN_METRICS for IOB2 tags of words: a span counts if its type and both ends agree.

    Predicted tags that break the scheme (an I- without a B-) start a span of their own, as in the
    CoNLL evaluation.
    """
    from seqeval.metrics import f1_score, precision_score, recall_score

    gold, found = [list(row) for row in tags], [list(row) for row in predictions]
    right = [a == b for x, y in zip(gold, found, strict=True) for a, b in zip(x, y, strict=True)]
    return {
        "span_f1": float(f1_score(gold, found, zero_division=0)),
        "span_precision": float(precision_score(gold, found, zero_division=0)),
        "span_recall": float(recall_score(gold, found, zero_division=0)),
        "word_accuracy": sum(right) / max(len(right), 1),
    }
