"""The rules by which a measurement reproduces a statement of the paper, or does not.

They were written down before any value was looked at (docs/statistics.md names the exceptions),
and a claim names its rule in `paper_values.yaml` (`kind`). Intervals are 95 % intervals. "Agrees"
means that the comparison behind the number (SaGe against BPE) has the sign that the paper states,
and that its interval leaves the other sign out. A qualifier of the paper ("considerably",
"substantially") is a `size` that the number has to reach.

The rules are `RULES`, the families of tests `FAMILIES`; both are printed in `claims.md`.

Where the interval holds the threshold between two verdicts, the claim is "undecided": a wide
interval is ignorance, neither agreement nor disagreement. Hence also the limit on its width under
`value`, and the demand under `equal` that all of it be close to 0. Without an interval (a single
seed) `more`, `less` and `equal` can at best give "same direction". Anything else is "not
reproduced".

A test is significant if its p-value, adjusted by Holm over its family, is below 0.05.
A family has as many tests as the paper's statements ask for; one that a run can't make counts as
p = 1. A claim that can't be set against the paper's (a score on its data, where our examples are
constructed) gets no p-value. Tests are two-sided: the direction is in the interval. `equal` needs
no test of a difference: that the interval lies within the margin is the test (two one-sided ones,
at 2.5 %).

"Not measurable here" is for statements that this run has no artefact for, and for numbers that
can't be compared: of another text or budget than the paper's, of another engine, of constructed
examples. It always comes with a reason. A missing file is an error, never a verdict.

These verdicts are against the paper. Whether SaGe differs from a pruning without contexts is
another question, and `chance` has its rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sagevocab.errors import UserError

REPRODUCED = "reproduced"
SAME_DIRECTION = "same direction"
UNDECIDED = "undecided"
NOT_REPRODUCED = "not reproduced"
NOT_MEASURABLE = "not measurable here"
# From the most favourable on.
VERDICTS = (REPRODUCED, SAME_DIRECTION, UNDECIDED, NOT_REPRODUCED, NOT_MEASURABLE)

# A difference is significant below this adjusted p-value.
SIGNIFICANT = 0.05
# Random prunings that a verdict against chance needs: two have no spread worth the name.
FEWEST_SEEDS = 3
INTRINSIC = "intrinsic"
DOWNSTREAM = "downstream"
PRETRAINING = "pretraining"
BEYOND = "beyond"

# Family -> the tests that Holm's adjustment counts together.
FAMILIES = {
    INTRINSIC: "all tested claims about the vocabularies and the encoded texts of one SaGe "
    "tokenizer, in all the languages and on all the corpora for which the paper makes them",
    DOWNSTREAM: "all tested claims about the language models of one SaGe tokenizer: one a task",
    PRETRAINING: "the claim about the pretraining of one SaGe tokenizer, in all its languages",
    BEYOND: "all tested claims of one SaGe tokenizer in languages of which the paper does not say "
    "it; they are no part of the paper's statements and cost these nothing",
}

# An interval wider than this many tolerances does not support the value it happens to hold.
WIDEST_INTERVAL = 4.0


class NotMeasurableError(Exception):
    """The run has no artefact that could decide the claim; the message is the reason."""


@dataclass(frozen=True)
class Measurement:
    """The measurement of a claim on a run.

    ours: the measured number, or the words of an `example`.
    low, high: 95 % interval of a number; None where there is no ground for one.
    holds: whether an `example` comes out as printed.
    agrees: whether SaGe against BPE has the sign that the paper states; None where the claim
        compares nothing.
    unit: what the interval resamples: `lines`, `pieces`, `examples`, `seeds`, two of them, or None
        without an interval.
    test, p_value: the name and the two-sided p-value of the test between what is compared.
    p_adjusted: the p-value by Holm over the claim's family.
    left_out: pieces of the tokenizer that occur too rarely to have a ratio.
    seeds: what each seed gives, where the tokenizer is built with several; then the rest is of all
        together.
    """

    ours: float | str
    low: float | None = None
    high: float | None = None
    holds: bool | None = None
    agrees: bool | None = None
    unit: str | None = None
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    left_out: int | None = None
    seeds: tuple[float | str, ...] = ()

    @property
    def has_interval(self) -> bool:
        """Whether the number has a 95 % interval."""
        return self.low is not None and self.high is not None

    def reaches(self, low: float, high: float) -> bool:
        """Whether the interval, where there is one, has a number from `low` to `high`."""
        return self.has_interval and self.low <= high and self.high >= low

    @property
    def passes_test(self) -> bool:
        """Whether the test, where there is one, is significant after Holm's adjustment."""
        adjusted = self.p_adjusted
        return self.test is None or (adjusted is not None and adjusted < SIGNIFICANT)


Measure = Callable[..., Measurement]


def tested(measure: Measure) -> Measure:
    """Mark a measure whose `Measurement` has a test: its claims are part of their family's size."""
    measure.is_tested = True
    return measure


def is_tested(measure: Measure) -> bool:
    """Return whether a measure is marked as `tested`."""
    return getattr(measure, "is_tested", False)


def verdict_of(claim: Mapping[str, Any], measured: Measurement) -> str:
    """Return the verdict on `claim` (an entry of `paper_values.yaml`) by the rule of its kind.

    Raises:
        UserError: there is no such kind.
    """
    kind = claim["kind"]
    if kind not in RULES:
        kinds = ", ".join(RULES)
        raise UserError(f"paper_values.yaml: claim {claim['id']}: kind {kind!r} is none of {kinds}")
    return RULES[kind].decide(claim, measured)


def _leaning(agrees: bool | None) -> str:
    return SAME_DIRECTION if agrees else NOT_REPRODUCED


def _value(claim: Mapping[str, Any], measured: Measurement) -> str:
    paper, tolerance = claim["paper"], claim["tolerance"]
    narrow = measured.has_interval and measured.high - measured.low <= WIDEST_INTERVAL * tolerance
    if abs(measured.ours - paper) <= tolerance + 1e-12:
        return REPRODUCED
    if narrow and measured.reaches(paper, paper):
        return REPRODUCED
    if measured.reaches(paper - tolerance, paper + tolerance):
        return UNDECIDED
    return _leaning(measured.agrees)


def _factor(claim: Mapping[str, Any], measured: Measurement) -> str:
    low, high = claim["paper"] / claim["factor"], claim["paper"] * claim["factor"]
    if low <= measured.ours <= high:
        return REPRODUCED
    return UNDECIDED if measured.reaches(low, high) else _leaning(measured.agrees)


def _range(claim: Mapping[str, Any], measured: Measurement) -> str:
    (low, high), tolerance = claim["paper"], claim.get("tolerance", 0.0)
    inside = low - tolerance <= measured.ours <= high + tolerance
    if measured.reaches(0, 0):
        return UNDECIDED
    if inside:
        return REPRODUCED
    near = measured.reaches(low - tolerance, high + tolerance)
    return UNDECIDED if near else _leaning(measured.agrees)


def _more(claim: Mapping[str, Any], measured: Measurement) -> str:
    threshold = claim.get("threshold", 0.0)
    size = claim.get("size", threshold)
    if measured.reaches(size, size):
        return UNDECIDED
    nearest = measured.low if measured.has_interval else measured.ours
    if measured.has_interval and nearest > size and measured.passes_test:
        return REPRODUCED
    return _leaning(nearest > threshold)


def _less(claim: Mapping[str, Any], measured: Measurement) -> str:
    threshold = claim.get("threshold", 0.0)
    size = claim.get("size", threshold)
    if measured.reaches(size, size):
        return UNDECIDED
    nearest = measured.high if measured.has_interval else measured.ours
    if measured.has_interval and nearest < size and measured.passes_test:
        return REPRODUCED
    return _leaning(nearest < threshold)


def _equal(claim: Mapping[str, Any], measured: Measurement) -> str:
    margin = claim["margin"]
    if measured.has_interval and -margin <= measured.low <= measured.high <= margin:
        return REPRODUCED
    if measured.reaches(-margin, margin):
        return UNDECIDED
    return _leaning(abs(measured.ours) <= margin)


def _always(claim: Mapping[str, Any], measured: Measurement) -> str:
    if measured.ours >= claim.get("at_least", 1.0):
        return REPRODUCED
    return _leaning(measured.ours > 0.5)


def _example(claim: Mapping[str, Any], measured: Measurement) -> str:
    return REPRODUCED if measured.holds else _leaning(measured.agrees)


NEVER = "–"  # of what a rule never gives


@dataclass(frozen=True)
class Rule:
    """When a statement is reproduced, when undecided, and when ours has the same direction.

    They are asked in this order.
    """

    reproduced: str
    undecided: str
    same_direction: str
    decide: Callable[[Mapping[str, Any], Measurement], str]


# Kind of a claim -> its rule. `claims.md` prints the texts.
RULES: dict[str, Rule] = {
    "value": Rule(
        "ours is within the tolerance of the paper's value, or the interval holds the paper's "
        "value and is at most 4 tolerances wide",
        "the interval reaches within the tolerance",
        "ours agrees",
        _value,
    ),
    "factor": Rule(
        "ours is between the paper's value / factor and the value * factor",
        "the interval reaches between them",
        "ours agrees",
        _factor,
    ),
    "range": Rule(
        "the paper's range, widened by the tolerance, holds ours, and the interval, where there is "
        "one, leaves 0 out",
        "the interval holds 0, or reaches into the widened range",
        "ours agrees",
        _range,
    ),
    "more": Rule(
        "the whole interval lies above the threshold, or the size that the statement asks for, and "
        "the test, where there is one, is significant",
        "the interval holds the threshold, or the size",
        "the whole interval, or ours without one, lies above the threshold",
        _more,
    ),
    "less": Rule(
        "the whole interval lies below the threshold, or the size that the statement asks for, and "
        "the test, where there is one, is significant",
        "the interval holds the threshold, or the size",
        "the whole interval, or ours without one, lies below the threshold",
        _less,
    ),
    "equal": Rule(
        "the whole interval lies within the margin around 0",
        "the interval lies within the margin in part",
        "ours lies within it, and has no interval",
        _equal,
    ),
    "always": Rule(
        "ours, a share of cases, is at least the share asked for (1)",
        NEVER,
        "ours is above 1/2",
        _always,
    ),
    "example": Rule("the example comes out as printed", NEVER, "its essential part does", _example),
}
