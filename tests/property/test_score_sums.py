"""Scores from sums over examples are those of the libraries that define them, sample by sample."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr
from seqeval.metrics import f1_score as span_f1
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from reproduction.analysis.scores import score_sums

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-WORK-OF-ART", "I-WORK-OF-ART"]
SENTENCE = st.lists(st.sampled_from(TAGS), max_size=8)
relaxed = settings(max_examples=30)


def samples_of(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """All examples, then bootstrap samples of them."""
    return [np.arange(count), *(rng.integers(count, size=count) for _ in range(3))]


def scores_of(sums, sample: np.ndarray) -> np.ndarray:
    return sums.score(sums.rows[sample].sum(axis=0))


@settings(max_examples=15)
@given(st.integers(2, 4), st.integers(1, 30), st.integers(0, 10_000))
def test_scores_of_classes_are_those_of_sklearn(classes, count, seed):
    rng = np.random.default_rng(seed)
    gold, predicted = rng.integers(classes, size=count), rng.integers(classes, size=(3, count))
    predicted[1] = gold
    predicted[2] = 1  # a constant answer, as of a model that learnt nothing
    f1 = {"average": "binary"} if classes == 2 else {"average": "macro", "labels": range(classes)}
    libraries = {
        "accuracy": accuracy_score,
        "f1": lambda a, b: f1_score(a, b, zero_division=0.0, **f1),
        "matthews": matthews_corrcoef,
    }
    for metric, library in libraries.items():
        sums = score_sums(gold, predicted, metric, classes)
        for sample in samples_of(rng, count):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = [library(gold[sample], answers[sample]) for answers in predicted]
            assert scores_of(sums, sample) == pytest.approx(expected, abs=1e-9)


@relaxed
@given(st.integers(2, 30), st.integers(0, 10_000), st.sampled_from([1.0, 1e-3, 1e4]))
def test_correlations_are_those_of_scipy(count, seed, scale):
    rng = np.random.default_rng(seed)
    gold = rng.integers(6, size=count).astype(float)
    predicted = np.stack([gold + rng.standard_normal(count), np.full(count, 2.5)]) * scale + 100
    sums = score_sums(gold, predicted, "pearson", None)
    for sample in samples_of(rng, count):
        noisy, constant = scores_of(sums, sample)
        assert constant == 0.0
        varied = np.ptp(gold[sample]) and np.ptp(predicted[0][sample])
        expected = pearsonr(gold[sample], predicted[0][sample]).statistic if varied else 0.0
        assert noisy == pytest.approx(expected, abs=1e-6)


@relaxed
@given(st.lists(st.tuples(SENTENCE, st.integers(0, 10_000)), min_size=1, max_size=6))
def test_span_f1_is_that_of_seqeval(sentences):
    gold = [tags for tags, _ in sentences]
    noisy = []
    for tags, seed in sentences:
        rng = np.random.default_rng(seed)
        noisy.append([tag if rng.random() < 0.7 else str(rng.choice(TAGS)) for tag in tags])
    sums = score_sums(gold, [gold, noisy], "span_f1", None)
    for sample in samples_of(np.random.default_rng(len(sentences)), len(gold)):
        given, found = [gold[n] for n in sample], [noisy[n] for n in sample]
        # Without any span seqeval fails, and we say 0.
        if any(tag != "O" for row in given + found for tag in row):
            expected = [span_f1(given, answers, zero_division=0) for answers in (given, found)]
        else:
            expected = [0.0, 0.0]
        assert scores_of(sums, sample) == pytest.approx(expected, abs=1e-12)
