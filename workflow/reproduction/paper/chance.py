"""Whether SaGe goes beyond what any pruning gives: the verdict against chance.

Controls are vocabularies that are pruned from the same initial one to the same size without
contexts: at random, with several seeds, or by counts (`reproduction.controls`). A claim about SaGe
that vocabularies and counts decide is measured on them instead of SaGe.

The rule was written down before any value of a control was looked at. With R random seeds of mean m
and standard deviation s (divisor R - 1), SaGe's value y is under the null hypothesis one more draw
from the same distribution, taken as normal. So

    t = (y - m) / (s sqrt(1 + 1/R))

has Student's distribution with R - 1 degrees of freedom: y lies outside the prediction interval of
the seeds. The p-value is two-sided, the largest of SaGe's seeds where it has several, and adjusted
by Holm over all chance tests of one SaGe tokenizer, in all languages: a family of their own.

The verdict is "beyond chance" if the adjusted p is below 0.05 and SaGe (the mean of its seeds) is
further than m towards the statement's target (`statements.ahead`), "below chance" if p is below
0.05 and SaGe is less far, and else "as chance". There is none with fewer than `FEWEST_SEEDS` random
seeds, where all of them agree (s = 0), of an `example`, and of a `definition`: a statement that no
pruning can break says nothing of contexts.

The standard deviation s is that of the seeds of a pruning, not the sampling error of the text,
which is in SaGe's own interval. The least frequent pieces are one vocabulary, so they are in no
test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from reproduction.analysis.stats import CONFIDENCE
from reproduction.paper.measures import FEWEST_SEEDS, SIGNIFICANT
from reproduction.paper.statements import Statement, ahead

# The controls of these methods, by whatever name a configuration has them.
RANDOM, FREQUENCY = "random", "frequency"

BEYOND_CHANCE = "beyond chance"
AS_CHANCE = "as chance"
BELOW_CHANCE = "below chance"
CHANCES = (BEYOND_CHANCE, AS_CHANCE, BELOW_CHANCE)


def numbers(values: Iterable[float | str]) -> np.ndarray:
    """Return the numbers among what a control's seeds give: float64[seeds], none for words."""
    return np.array([value for value in values if not isinstance(value, str)], dtype=float)


def drawn(controls: Mapping[str, Sequence[float | str]]) -> np.ndarray:
    """Return the numbers of the random prunings: float64[seeds].

    controls: a record's, control -> what each of its seeds gives.
    """
    return numbers(controls.get(RANDOM, ()))


def seeds_as_far(statement: Statement, ours: float, random: np.ndarray) -> int:
    """Return how many random seeds are as far as `ours` towards the statement's target, or further.

    It needs no normal distribution: one seed far off widens the test, and no rank.
    """
    far = ahead(statement.kind, statement.paper, ours)
    return sum(ahead(statement.kind, statement.paper, seed) >= far for seed in random.tolist())


def prediction_error(random: np.ndarray) -> float:
    """Return the standard error by which a further draw differs from the mean of the seeds.

    random: float64[seeds], two or more. 0 where all agree.
    """
    if random.min() == random.max():  # whose deviation would be a rounding error
        return 0.0
    return float(random.std(ddof=1) * math.sqrt(1 + 1 / len(random)))


def prediction_quantile(seeds: int) -> float:
    """Return how many prediction errors from the mean hold 95 % of further draws."""
    from scipy import stats

    return float(stats.t.isf((1 - CONFIDENCE) / 2, seeds - 1))


def chance_p_value(ours: Sequence[float], random: np.ndarray) -> float | None:
    """Return the two-sided p-value of `ours` as one more draw; None where seeds say too little.

    ours: of each of SaGe's seeds, of which the nearest to the random ones counts.
    """
    from scipy import stats

    if len(random) < FEWEST_SEEDS or not (error := prediction_error(random)):
        return None
    nearest = np.abs(np.asarray(ours) - random.mean()).min()
    return float(2 * stats.t.sf(nearest / error, len(random) - 1))


def chance_verdict(statement: Statement, ours: float, random: np.ndarray, p_adjusted: float) -> str:
    """Return the verdict against chance; p_adjusted: by Holm over the SaGe tokenizer's tests."""
    values = (ours, float(random.mean()))
    sage, mean = (ahead(statement.kind, statement.paper, value) for value in values)
    if p_adjusted >= SIGNIFICANT or sage == mean:
        return AS_CHANCE
    return BEYOND_CHANCE if sage > mean else BELOW_CHANCE
