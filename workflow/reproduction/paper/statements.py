"""The paper's statements as data, and the one rule that judges them.

A statement names a target, an interval of the number line, and a verdict says how a measurement
lies beside it. In this order:

- *reproduced*: the target holds the value or, where the paper says it in words, the whole 95 %
  interval; then a test, where there is one, must be significant. An interval that holds the number
  that the paper prints, and is at most twice as wide as the target, does as well.
- *undecided*: the interval reaches into the target. So is a range of the paper whose interval
  holds 0.
- *same direction*: the measurement has the sign that the paper states. That is a wider interval,
  `sign`, or the comparison of SaGe with BPE, whose interval leaves the other sign out.
- *not reproduced*: anything else.

A census counts all cases: its value alone decides, and is never undecided. Words are reproduced if
they come out as printed. "Not measurable here" always has a reason; a missing file is an error.

The rule was written down before any value was looked at; docs/appendix/statistics.md names the
exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reproduction.paper import measures_models, measures_texts  # noqa: F401 (they fill MEASURES)
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.measures import CLOCKS, MEASURES, Measure, Measurement

REPRODUCED = "reproduced"
SAME_DIRECTION = "same direction"
UNDECIDED = "undecided"
NOT_REPRODUCED = "not reproduced"
NOT_MEASURABLE = "not measurable here"
# From the most favourable on.
VERDICTS = (REPRODUCED, SAME_DIRECTION, UNDECIDED, NOT_REPRODUCED, NOT_MEASURABLE)

# An interval wider than this many targets is too wide to confirm a value.
_WIDEST_INTERVAL = 2.0
_ROUNDING = 1e-12  # 0.83 - 0.78 is not 0.05

TRAIN = "train"
OTHERS = "others"  # of the languages of a statement: those of a run that the paper does not name
Region = tuple[float, float]


class Statement(BaseModel):
    """A statement of the paper; the keys are those of `paper_values.yaml`, which explains them.

    A test of that file says which values go together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    where: str
    statement: str
    paper: Any
    headline: str | None = None

    target: Region | None = None
    sign: Region | None = None

    measure: str | None = None
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    languages: Sequence[str | None] = ("en", "tr", OTHERS)
    corpus: str = TRAIN
    tokenizers: Literal["sage", "bpe", "each"] = "sage"

    objection: str | None = None
    needs: Sequence[Literal["paper_text", "paper_budget", "real_task"]] = ()
    uncounted: Literal["definition", "variant"] | None = None

    @property
    def measured_by(self) -> Measure | None:
        """The measure; None where no artefact of the pipeline can decide the statement."""
        return MEASURES[self.measure] if self.measure else None

    @property
    def paper_languages(self) -> list[str | None]:
        """The languages of which the paper makes it."""
        return [language for language in self.languages if language != OTHERS]

    @property
    def is_census(self) -> bool:
        """Whether all cases are counted, so that the value alone decides."""
        return self.measure is not None and self.measured_by.census

    @property
    def is_timing(self) -> bool:
        """Whether the number comes from clocks and differs between equal runs."""
        return self.measure is not None and self.measured_by.reads == CLOCKS

    @property
    def is_tested(self) -> bool:
        """Whether its test is one of its family's."""
        tested = self.measure is not None and self.measured_by.tested
        return tested and self.uncounted != "variant"

    @property
    def has_controls(self) -> bool:
        """Whether it is about SaGe, if not SaGe alone, and decided by vocabularies and counts."""
        about_sage = self.tokenizers in ("sage", "each")
        return about_sage and self.measure is not None and self.measured_by.of_any_vocabulary

    @property
    def needs_interval(self) -> bool:
        """Whether the whole interval must lie in the target: the paper says it in words."""
        return isinstance(self.paper, str) and not self.is_census


def verdict_of(statement: Statement, measured: Measurement) -> str:
    """Return the verdict on a statement that could be measured."""
    if statement.target is None:
        return REPRODUCED if measured.holds else _leaning(measured.agrees)
    leaning = _leaning(_has_sign(statement, measured))
    is_range = isinstance(statement.paper, list | tuple)
    if is_range and measured.reaches(0, 0):
        return UNDECIDED
    if _reproduces(statement, measured):
        significant = measured.passes_test or not statement.needs_interval
        return REPRODUCED if significant else leaning
    is_open = measured.reaches(*statement.target) and not statement.is_census
    return UNDECIDED if is_open else leaning


def meets(statement: Statement, measured: Measurement) -> bool:
    """Return whether the value alone lies in the target, or the words are as printed.

    So a control is judged, which has no interval, and SaGe where it is counted beside controls.
    """
    if statement.target is None:
        return bool(measured.holds)
    low, high = statement.target
    if statement.needs_interval:
        return low < measured.value < high
    return low - _ROUNDING <= measured.value <= high + _ROUNDING


def _reproduces(statement: Statement, measured: Measurement) -> bool:
    if statement.needs_interval:
        return measured.has_interval and _lies_in(measured, statement.target, whole=True)
    return meets(statement, measured) or _holds_printed_value(statement, measured)


def _has_sign(statement: Statement, measured: Measurement) -> bool | None:
    """Whether the measurement has the sign that the paper states."""
    region = statement.sign or (statement.target if statement.needs_interval else None)
    if region is None:
        return measured.agrees
    return _lies_in(measured, region, whole=statement.needs_interval)


def _leaning(leans: bool | None) -> str:
    return SAME_DIRECTION if leans else NOT_REPRODUCED


def _lies_in(measured: Measurement, region: Region, whole: bool) -> bool:
    """Whether the value, or the whole interval where there is one, lies in a region."""
    by_interval = whole and measured.has_interval
    low, high = (measured.low, measured.high) if by_interval else (measured.value, measured.value)
    return region[0] < low and high < region[1]


def _holds_printed_value(statement: Statement, measured: Measurement) -> bool:
    """Whether a narrow interval holds the number that the paper prints."""
    is_number = isinstance(statement.paper, int | float) and not statement.is_census
    if not is_number or not measured.reaches(statement.paper, statement.paper):
        return False
    low, high = statement.target
    return measured.high - measured.low <= _WIDEST_INTERVAL * (high - low)


# --- paper_values.yaml


def read_claims(path: Path | str) -> dict[str, Any]:
    """Read `paper_values.yaml`; its `claims` are statements, written out one by one."""
    values = read_paper_values(path)
    written = [single for claim in values["claims"] for single in _repeated(claim)]
    values["claims"] = [_statement(single, values) for single in written]
    return values


def read_headlines(values: Path | str) -> dict[str, str]:
    """Return the claims of `paper_values.yaml` that the main tables show: id -> headline."""
    return {s.id: s.headline for s in read_claims(values)["claims"] if s.headline}


def _statement(claim: Mapping[str, Any], values: Mapping[str, Any]) -> Statement:
    return Statement(**{**claim, "paper": _printed(claim["paper"], values)})


def _repeated(claim: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in claim.get("repeat", [{}]):
        single = {key: value for key, value in claim.items() if key != "repeat"}
        single = _filled(single, entry) if entry else single
        overridden = {key: entry[key] for key in ("corpus", "languages") if key in entry}
        yield {**single, **overridden}


def _filled(value: Any, entry: Mapping[str, Any]) -> Any:
    """Fill {braces} in the strings of a claim; a string that is one brace becomes the value."""
    if isinstance(value, Mapping):
        return {key: _filled(item, entry) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, entry) for item in value]
    if not isinstance(value, str):
        return value
    name = value[1:-1]
    if value == f"{{{name}}}" and name in entry:
        return entry[name]
    return value.format_map(entry)


def _printed(paper: Any, values: Mapping[str, Any]) -> Any:
    if not isinstance(paper, Mapping):
        return paper
    keys = [int(key) if key.isdigit() else key for key in paper["from"].split(".")]
    return reduce(lambda place, key: place[key], keys, values)
