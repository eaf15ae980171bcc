"""The rules by which a measurement reproduces a statement of the paper, or does not.

They were written down before any value was looked at, and a claim names its rule in
`paper_values.yaml` (`kind`). Intervals are 95 % intervals. "Agrees" means that the comparison
behind the number (SaGe against BPE) has the sign that the paper states.

=========  =======================================================  =======================
kind       reproduced                                               same direction
=========  =======================================================  =======================
value      |ours - paper| <= tolerance, or the interval holds the   ours agrees
           paper's value and is at most 4 tolerances wide
factor     paper / factor <= ours <= paper * factor                 ours agrees
range      the paper's range, widened by the tolerance, holds ours  ours agrees
more       the whole interval lies above the threshold              ours lies above it
less       the whole interval lies below the threshold              ours lies below it
equal      the whole interval lies within the margin around 0       ours lies within it
always     ours, a share of cases, is at least `at_least` (1)       ours is above one half
example    the example comes out as printed                         its essential part does
=========  =======================================================  =======================

Anything else is "not reproduced". A wide interval is ignorance, not agreement: hence the limit on
its width under `value`, and the demand under `equal` that all of it be close to 0. Without an
interval (a single seed) `more`, `less` and `equal` can at best give "same direction".

"Not measurable here" is for statements that this run has no artefact for, and for numbers that are
properties of the paper's data (`real_text` in `paper_values.yaml`) when ours was made by a
generator; it always comes with a reason. A missing file is an error, never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sagevocab.errors import UserError

REPRODUCED = "reproduced"
SAME_DIRECTION = "same direction"
NOT_REPRODUCED = "not reproduced"
NOT_MEASURABLE = "not measurable here"
VERDICTS = (REPRODUCED, SAME_DIRECTION, NOT_REPRODUCED, NOT_MEASURABLE)

# An interval wider than this many tolerances does not speak for the value it happens to hold.
WIDEST_INTERVAL = 4.0


class NotMeasurableError(Exception):
    """This run has nothing that could decide the claim; the message is the reason."""


@dataclass(frozen=True)
class Measurement:
    """What a run gives for a claim.

    ours: the measured number, or the words of an `example`.
    low, high: 95 % interval of a number; None where there is no ground for one.
    holds: whether an `example` comes out as printed.
    agrees: whether the comparison behind the claim has the sign that the paper states; None
        where the claim compares nothing.
    """

    ours: float | str
    low: float | None = None
    high: float | None = None
    holds: bool | None = None
    agrees: bool | None = None


def verdict_of(claim: Mapping[str, Any], measured: Measurement) -> str:
    """Return the verdict on `claim` (an entry of `paper_values.yaml`) by the rule of its kind.

    Raises:
        UserError: there is no such kind.
        NotMeasurableError: the number is not one, because nothing was there to count.
    """
    kind = claim["kind"]
    if kind not in _RULES:
        kinds = ", ".join(_RULES)
        raise UserError(f"paper_values.yaml: claim {claim['id']}: kind {kind!r} is none of {kinds}")
    if isinstance(measured.ours, float) and math.isnan(measured.ours):
        raise NotMeasurableError("nothing to count: no piece, word or example is of this kind")
    reproduced, leaning = _RULES[kind](claim, measured)
    if reproduced:
        return REPRODUCED
    return SAME_DIRECTION if leaning else NOT_REPRODUCED


Outcome = tuple[bool, bool | None]


def _value(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    paper, tolerance = claim["paper"], claim["tolerance"]
    close = abs(measured.ours - paper) <= tolerance + 1e-12
    return close or _narrow_and_holds(measured, paper, tolerance), measured.agrees


def _narrow_and_holds(measured: Measurement, paper: float, tolerance: float) -> bool:
    if not _has_interval(measured):
        return False
    narrow = measured.high - measured.low <= WIDEST_INTERVAL * tolerance
    return narrow and measured.low <= paper <= measured.high


def _factor(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    paper, factor = claim["paper"], claim["factor"]
    return paper / factor <= measured.ours <= paper * factor, measured.agrees


def _range(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    (low, high), tolerance = claim["paper"], claim.get("tolerance", 0.0)
    return low - tolerance <= measured.ours <= high + tolerance, measured.agrees


def _more(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    threshold = claim.get("threshold", 0.0)
    surely = _has_interval(measured) and measured.low > threshold
    return surely, measured.ours > threshold


def _less(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    threshold = claim.get("threshold", 0.0)
    surely = _has_interval(measured) and measured.high < threshold
    return surely, measured.ours < threshold


def _equal(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    margin = claim["margin"]
    surely = _has_interval(measured) and -margin <= measured.low <= measured.high <= margin
    return surely, abs(measured.ours) <= margin


def _always(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    return measured.ours >= claim.get("at_least", 1.0), measured.ours > 0.5


def _example(claim: Mapping[str, Any], measured: Measurement) -> Outcome:
    return bool(measured.holds), measured.agrees


def _has_interval(measured: Measurement) -> bool:
    return measured.low is not None and measured.high is not None


_RULES: dict[str, Callable[[Mapping[str, Any], Measurement], Outcome]] = {
    "value": _value,
    "factor": _factor,
    "range": _range,
    "more": _more,
    "less": _less,
    "equal": _equal,
    "always": _always,
    "example": _example,
}
