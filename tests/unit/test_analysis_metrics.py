from __future__ import annotations

import numpy as np
import pytest

from reproduction.analysis.metrics import class_scores, span_scores, value_scores


def test_f1_of_more_classes_is_the_mean_over_all_of_them():
    scores = class_scores(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), 3)
    assert scores["f1"] == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)


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
