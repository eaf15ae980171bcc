"""Scores of predictions as functions of sums over examples.

So ten thousand samples of the examples can be scored at once: a sample has sums, and the score is
a function of these. The definitions are those of `lm.metrics`, where the libraries that define the
metrics are called; where a score is undefined, it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sagevocab.errors import UserError

# Sums float64[..., statistics] -> scores float64[...].
Score = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ScoreSums:
    """What each example adds to the score of each of several models.

    rows: float64[examples, models, statistics]. score: of the sums over examples.
    """

    rows: np.ndarray
    score: Score

    def scores(self) -> np.ndarray:
        """Return the scores on all examples: float64[models]."""
        return self.score(self.rows.sum(axis=0))


def score_sums(
    gold: Sequence, predictions: Sequence, metric: str, classes: int | None
) -> ScoreSums:
    """Return what the answers of several models to the same examples add to a metric.

    gold: a class number, a value or a list of tags for each example; predictions: the same for
    each model. classes: number of classes, None for values and tags.

    Raises:
        UserError: there is no such metric.
    """
    if metric == "span_f1":
        return _span_sums(gold, predictions)
    if metric == "pearson":
        return _value_sums(np.asarray(gold, dtype=float), np.asarray(predictions, dtype=float))
    if metric not in ("accuracy", "f1", "matthews") or classes is None:
        raise UserError(f"metric {metric!r} of {classes} classes can't be resampled")
    labels, answers = np.asarray(gold), np.asarray(predictions)
    if metric == "accuracy":
        right = (answers == labels).T.astype(float)
        return ScoreSums(np.stack([right, np.ones_like(right)], axis=-1), _share)
    score = {"f1": _f1_of_classes, "matthews": _matthews}[metric]
    table = np.eye(classes * classes)[(labels * classes + answers).T]
    return ScoreSums(table, lambda sums: score(sums.reshape(*sums.shape[:-1], classes, classes)))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio, 0 where it is undefined."""
    defined = denominator > 0
    return np.where(defined, numerator / np.where(defined, denominator, 1.0), 0.0)


def _share(sums: np.ndarray) -> np.ndarray:
    return _ratio(sums[..., 0], sums[..., 1])


# --- classes; confusion: float64[..., labels, answers]


def _f1_of_classes(confusion: np.ndarray) -> np.ndarray:
    """F1 of class 1 of two classes, the mean over classes of more."""
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    both = confusion.sum(axis=-1) + confusion.sum(axis=-2)
    by_class = _ratio(2 * right, both)
    return by_class[..., 1] if by_class.shape[-1] == 2 else by_class.mean(axis=-1)


def _matthews(confusion: np.ndarray) -> np.ndarray:
    """Return Matthews' correlation, for any number of classes (Gorodkin 2004)."""
    labels, answers = confusion.sum(axis=-1), confusion.sum(axis=-2)
    total = labels.sum(axis=-1)
    right = np.trace(confusion, axis1=-2, axis2=-1)
    spread = [total**2 - (counts**2).sum(axis=-1) for counts in (labels, answers)]
    return _ratio(right * total - (labels * answers).sum(axis=-1), np.sqrt(spread[0] * spread[1]))


# --- values


def _value_sums(gold: np.ndarray, predictions: np.ndarray) -> ScoreSums:
    """gold: float64[examples], predictions: float64[models, examples]."""
    # A correlation does not change with the place of its variables, but its rounding does.
    given = np.broadcast_to(gold - gold.mean(), predictions.shape)
    found = predictions - predictions.mean(axis=1, keepdims=True)
    parts = (np.ones_like(found), given, found, given**2, found**2, given * found)
    return ScoreSums(np.stack(parts, axis=-1).swapaxes(0, 1), _pearson)


def _pearson(sums: np.ndarray) -> np.ndarray:
    total, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread_x, spread_y = total * xx - x * x, total * yy - y * y
    # Of equal values, rounding leaves a spread that is nearly 0.
    varied = (spread_x > 1e-12 * total * xx) & (spread_y > 1e-12 * total * yy)
    return np.where(varied, _ratio(total * xy - x * y, np.sqrt(np.abs(spread_x * spread_y))), 0.0)


# --- spans


def _span_sums(gold: Sequence, predictions: Sequence) -> ScoreSums:
    spans = [spans_of(tags) for tags in gold]
    rows = np.empty((len(spans), len(predictions), 3))
    for model, sentences in enumerate(predictions):
        for row, (right, tags) in enumerate(zip(spans, sentences, strict=True)):
            found = spans_of(tags)
            rows[row, model] = len(right & found), len(right), len(found)
    return ScoreSums(rows, _f1_of_spans)


def _f1_of_spans(sums: np.ndarray) -> np.ndarray:
    return _ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def spans_of(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Return the spans of IOB2 tags as (class, first word, word behind the last).

    An I- that goes on with no span of its class opens one, as in the CoNLL evaluation.
    """
    spans, opened, name = set(), 0, None
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, found = tag.partition("-")
        if name is not None and (prefix != "I" or found != name):
            spans.add((name, opened, place))
            name = None
        if tag != "O" and name is None:
            opened, name = place, found
    return spans
