"""What a measure is: a function of a case that gives a measurement, and what it declares.

A statement of the paper names its measure in `paper_values.yaml`. The measures are in
`measures_texts` and `measures_models`; `MEASURES` has them by name once these are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# A difference is significant below this adjusted p-value.
SIGNIFICANT = 0.05
# Random prunings that the figure of the controls needs: two have no spread worth the name.
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

# What a measure reads: any vocabulary has TYPES (word types alone decide) and COUNTS; a listed
# language has WORDS too.
TYPES, COUNTS, WORDS = "word types", "counts", "segmented words"
RANKINGS = "rankings of the losses"
HEURISTICS, MODELS, CLOCKS = "heuristics", "models", "clocks"


class NotMeasurableError(Exception):
    """The run has no artefact that could decide the claim; the message is the reason."""


@dataclass(frozen=True)
class Measurement:
    """The measurement of a claim on a run.

    value: the measured number, or the words of an `example`.
    low, high: 95 % interval of a number; None where there is no ground for one.
    holds: whether an `example` comes out as printed.
    agrees: whether SaGe against BPE has the sign that the paper states; None where the claim
        compares nothing.
    unit: what the interval resamples: `lines`, `pieces`, `examples`, `seeds`, two of them, or None
        without an interval.
    test, p_value: the name and the two-sided p-value of the test between what is compared.
    p_adjusted: the p-value by Holm over the claim's family.
    is_bound: the number is only a lower bound: what is looked for never comes.
    seeds: what each seed gives, where the tokenizer is built with several; then the rest is of all
        together.
    """

    value: float | str
    low: float | None = None
    high: float | None = None
    holds: bool | None = None
    agrees: bool | None = None
    unit: str | None = None
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    is_bound: bool = False
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


@dataclass(frozen=True)
class Measure:
    """A function of a case and a claim's arguments, and what it declares.

    reads: what it needs of a run. tested: its measurement has a test, so its claims are part of the
    size of their `family`. census: it counts all cases, so the value alone decides, whatever
    interval seeds give it.
    """

    function: Callable[..., Measurement]
    reads: str
    tested: bool
    family: str
    census: bool

    @property
    def of_any_vocabulary(self) -> bool:
        """Whether control vocabularies and further seeds have what it reads."""
        return self.reads in (TYPES, COUNTS, WORDS)


MEASURES: dict[str, Measure] = {}


def measure(
    *, reads: str = COUNTS, tested: bool = False, family: str = INTRINSIC, census: bool = False
) -> Callable[[Callable[..., Measurement]], Callable[..., Measurement]]:
    """Declare a function as a measure that claims can name; arguments: as for `Measure`."""

    def declare(function: Callable[..., Measurement]) -> Callable[..., Measurement]:
        MEASURES[function.__name__] = Measure(function, reads, tested, family, census)
        return function

    return declare
