from __future__ import annotations

import numpy as np
import pytest

from reproduction.analysis.metrics import class_scores, span_scores, value_scores


def test_two_classes_by_hand():
    labels = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    predictions = np.array([1, 1, 0, 1, 0, 0, 0, 0])
    # tp 2, fp 1, fn 1, tn 4
    scores = class_scores(labels, predictions, 2)
    assert scores["accuracy"] == 6 / 8
    assert scores["f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert scores["matthews"] == pytest.approx((2 * 4 - 1 * 1) / np.sqrt(3 * 3 * 5 * 5))


def test_f1_of_two_classes_is_that_of_class_one():
    swapped = class_scores(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]), 2)
    assert swapped["f1"] == 0.0
    assert swapped["matthews"] == 0.0
    assert swapped["accuracy"] == 0.75


def test_f1_of_more_classes_is_the_mean_over_all_of_them():
    scores = class_scores(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), 3)
    assert scores["f1"] == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)


def test_correlations_by_hand():
    scores = value_scores(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 9.0]))
    assert scores["spearman"] == pytest.approx(1.0)
    assert scores["pearson"] == pytest.approx(8 / np.sqrt(2 * 38))


@pytest.mark.parametrize("constant", [0, 1])
def test_an_undefined_correlation_counts_as_none(constant):
    pair = [np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])]
    pair[constant] = np.full(3, 2.0)
    assert value_scores(*pair) == {"pearson": 0.0, "spearman": 0.0}


def test_a_span_counts_if_type_and_both_ends_agree():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O", "B-LOC", "I-LOC"]]
    found = [["B-PER", "I-PER", "O", "B-ORG"], ["B-ORG", "O", "B-LOC", "O"]]
    scores = span_scores(gold, found)
    # 4 gold spans, 4 found, 2 right.
    assert scores == {
        "span_f1": 0.5,
        "span_precision": 0.5,
        "span_recall": 0.5,
        "word_accuracy": 6 / 8,
    }


def test_an_inside_without_a_beginning_starts_a_span():
    assert span_scores([["O", "B-PER", "I-PER"]], [["O", "I-PER", "I-PER"]])["span_f1"] == 1.0
