"""Scores of predictions, as fractions: F1, accuracy, Matthews, Pearson, span F1 (paper, Section 5).

scikit-learn, scipy and seqeval compute them. Where a score is undefined, because all predictions
(or labels) are the same, it counts as 0. The functions of confusion matrices are for many resamples
at once (`analysis.scores`).
"""

from __future__ import annotations

from collections.abc import Sequence

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
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    average = {"average": "binary"} if classes == 2 else {"average": "macro"}
    f1 = f1_score(labels, predictions, labels=range(classes), zero_division=0.0, **average)
    return {
        "accuracy": float(accuracy_score(labels, predictions)),
        "f1": float(f1),
        "matthews": float(matthews_corrcoef(labels, predictions)),
    }


def f1_of_classes(confusion: np.ndarray) -> np.ndarray:
    """Return F1 of class 1 of two classes, the mean over classes of more: float64[...].

    confusion: float64[..., labels, answers], counts.
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    both = confusion.sum(axis=-1) + confusion.sum(axis=-2)
    by_class = ratio(2 * right, both)
    return by_class[..., 1] if by_class.shape[-1] == 2 else by_class.mean(axis=-1)


def matthews(confusion: np.ndarray) -> np.ndarray:
    """Return Matthews' correlation, for any number of classes (Gorodkin 2004): float64[...].

    confusion: float64[..., labels, answers], counts.
    """
    labels, answers = confusion.sum(axis=-1), confusion.sum(axis=-2)
    total = labels.sum(axis=-1)
    right = np.trace(confusion, axis1=-2, axis2=-1)
    spread = [total**2 - (counts**2).sum(axis=-1) for counts in (labels, answers)]
    return ratio(right * total - (labels * answers).sum(axis=-1), np.sqrt(spread[0] * spread[1]))


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio, 0 where it is undefined."""
    defined = denominator > 0
    return np.where(defined, numerator / np.where(defined, denominator, 1.0), 0.0)


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
    """Return SPAN_METRICS for IOB2 tags of words: a span counts if its type and both ends agree."""
    from seqeval.metrics.sequence_labeling import accuracy_score, precision_recall_fscore_support

    both = [list(map(str, row)) for row in tags], [list(map(str, row)) for row in predictions]
    precision, recall, f1, _ = precision_recall_fscore_support(
        *both, average="micro", zero_division=0
    )
    return {
        "span_f1": float(f1),
        "span_precision": float(precision),
        "span_recall": float(recall),
        "word_accuracy": float(accuracy_score(*both)),
    }


def spans_of(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Return the spans of IOB2 tags as (class, first word, last word).

    An I- that continues no span of its class opens one, as in the CoNLL evaluation.
    """
    from seqeval.metrics.sequence_labeling import get_entities

    return set(get_entities(list(tags)))
