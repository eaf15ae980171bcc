"""Whether SaGe goes beyond what any pruning gives: the verdict against chance, by rank.

Vocabularies are pruned at random from the same initial one to the same size, many times
(`random_prunings`). Of a statement that word types decide, SaGe's value y has a rank among the
values of the draws. With D draws,

    p = 2 (1 + draws as low as y, or as high, whichever are fewer) / (1 + D)

is the two-sided p-value of the hypothesis that y is one more draw (1 at most): exact, whatever the
distribution. It is the largest of SaGe's seeds where it has several, and adjusted by Benjamini and
Hochberg over all such tests of one SaGe tokenizer, in all languages: a family of their own.

The verdict is "beyond chance" if the adjusted p is below 0.05 and SaGe (the mean of its seeds) is
further than the draws' median towards the statement's target (`statements.ahead`), "below chance"
if p is below 0.05 and SaGe is less far, and else "as chance". A `definition`, which no pruning can
break, and a `variant` have none. Other statements have the rank among the seeds of the control
`random`, without a test: so few can't be significant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from reproduction.paper.measures import SIGNIFICANT
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
    """Return the numbers of the control `random`: float64[seeds].

    controls: a record's, control -> what each of its seeds gives.
    """
    return numbers(controls.get(RANDOM, ()))


def as_far(statement: Statement, ours: float, prunings: np.ndarray) -> int:
    """Return how many random prunings are as far as `ours` towards the statement's target."""
    far = _ahead(statement, ours)
    return sum(_ahead(statement, one) >= far for one in prunings.tolist())


def _ahead(statement: Statement, value: float) -> float:
    return ahead(statement.kind, statement.paper, value, statement.direction)


def rank_p_value(ours: Sequence[float], draws: np.ndarray) -> float:
    """Return the two-sided p-value by rank of `ours`, a value a seed, of which the largest counts.

    draws: float64[draws], of the random prunings.
    """
    fewer = [min(np.sum(draws <= value), np.sum(draws >= value)) for value in ours]
    return float(min(1.0, 2 * (1 + max(fewer)) / (1 + len(draws))))


def chance_verdict(statement: Statement, ours: float, draws: np.ndarray, p_adjusted: float) -> str:
    """Return the verdict against chance; p_adjusted: over the SaGe tokenizer's tests."""
    sage, middle = _ahead(statement, ours), _ahead(statement, float(np.median(draws)))
    if p_adjusted >= SIGNIFICANT or sage == middle:
        return AS_CHANCE
    return BEYOND_CHANCE if sage > middle else BELOW_CHANCE
