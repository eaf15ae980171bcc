"""The paper's statements as data, and the one rule that judges them.

A statement asks for a region of the number line, its target (`KINDS`), and a verdict says how a
measurement lies beside it. In this order:

- *reproduced*: the target holds the value or, where the kind asks for all of it, the whole 95 %
  interval; a test of `more` and `less`, where there is one, must be significant.
- *undecided*: the interval reaches into the target.
- *same direction*: the measurement lies in a wider region that only has the sign. Where the kind
  has none, SaGe against BPE has the sign that the paper states, and its interval leaves the other
  out.
- *not reproduced*: anything else.

Two kinds add to this. The interval of a `value` may also hold the paper's value, if it is at most
four tolerances wide; that of a `range` must leave 0 out. Words (`example`) are reproduced if they
come out as printed. "Not measurable here" always has a reason; a missing file is an error.

The rule was written down before any value was looked at; docs/appendix/statistics.md names the
exceptions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import reduce
from pathlib import Path
from typing import Any

from reproduction.paper import measures_models, measures_texts  # noqa: F401 (they fill MEASURES)
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.measures import CLOCKS, MEASURES, Measure, Measurement
from sagevocab.errors import UserError

REPRODUCED = "reproduced"
SAME_DIRECTION = "same direction"
UNDECIDED = "undecided"
NOT_REPRODUCED = "not reproduced"
NOT_MEASURABLE = "not measurable here"
# From the most favourable on.
VERDICTS = (REPRODUCED, SAME_DIRECTION, UNDECIDED, NOT_REPRODUCED, NOT_MEASURABLE)

# Intervals wider than this many tolerances are too wide to confirm a value.
WIDEST_INTERVAL = 4.0
_ROUNDING = 1e-12  # 0.83 - 0.78 is not 0.05

TRAIN = "train"
TOKENIZERS = ("sage", "bpe", "each")
EXAMPLE = "example"
Region = tuple[float, float]


@dataclass(frozen=True)
class Statement:
    """A statement of the paper; the keys are those of `paper_values.yaml`, which explains them."""

    id: str
    where: str
    statement: str
    kind: str
    paper: Any
    measure: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    languages: Sequence[str | None] = ("en", "tr")
    any_language: bool = False
    corpus: str = TRAIN
    tokenizers: str = "sage"
    tolerance: float = 0.0
    factor: float = 1.0
    threshold: float = 0.0
    size: float | None = None
    margin: float = 0.0
    at_least: float = 1.0
    headline: str | None = None
    objection: str | None = None
    definition: bool = False
    variant: bool = False
    premise: str | None = None
    paper_text: bool = False
    paper_budget: bool = False
    real_task: bool = False

    @property
    def measured_by(self) -> Measure | None:
        """The measure; None where no artefact of the pipeline can decide the statement."""
        return MEASURES[self.measure] if self.measure else None

    @property
    def is_timing(self) -> bool:
        """Whether the number comes from clocks and differs between equal runs."""
        return self.measure is not None and self.measured_by.reads == CLOCKS

    @property
    def is_tested(self) -> bool:
        """Whether its test is one of its family's."""
        return self.measure is not None and self.measured_by.tested and not self.variant

    @property
    def has_controls(self) -> bool:
        """Whether it is about SaGe, if not SaGe alone, and decided by vocabularies and counts."""
        about_sage = self.tokenizers in ("sage", "each")
        return about_sage and self.measure is not None and self.measured_by.of_any_vocabulary

    @property
    def group(self) -> str | None:
        """What it measures, whatever language, text or window: statements of one hang together."""
        if self.measure is None:
            return None
        given = {key: value for key, value in self.arguments.items() if key != "window"}
        listed = ", ".join(f"{key}={value}" for key, value in given.items())
        return f"{self.measure}({listed})"

    @property
    def target(self) -> Region:
        """The region that it asks for."""
        return KINDS[self.kind].target(self)


@dataclass(frozen=True)
class Kind:
    """What a kind of statement asks for.

    target: the region. wider: the region that only has the sign; None where SaGe against BPE says
    so. whole: the whole interval must lie in the region, and not the value alone.
    """

    text: str
    target: Callable[[Statement], Region]
    wider: Callable[[Statement], Region] | None
    whole: bool = False


def _size(statement: Statement) -> float:
    return statement.threshold if statement.size is None else statement.size


# `claims.md` prints the texts.
KINDS: dict[str, Kind] = {
    "value": Kind(
        "within the tolerance of the paper's value",
        lambda s: (s.paper - s.tolerance, s.paper + s.tolerance),
        None,
    ),
    "factor": Kind(
        "between the paper's value / factor and the value * factor",
        lambda s: (s.paper / s.factor, s.paper * s.factor),
        None,
    ),
    "range": Kind(
        "the paper's range, widened by the tolerance",
        lambda s: (s.paper[0] - s.tolerance, s.paper[1] + s.tolerance),
        None,
    ),
    "more": Kind(
        "above the threshold, or the size that the statement asks for",
        lambda s: (_size(s), math.inf),
        lambda s: (s.threshold, math.inf),
        whole=True,
    ),
    "less": Kind(
        "below the threshold, or the size that the statement asks for",
        lambda s: (-math.inf, _size(s)),
        lambda s: (-math.inf, s.threshold),
        whole=True,
    ),
    "equal": Kind(
        "within the margin around 0",
        lambda s: (-s.margin, s.margin),
        lambda s: (-s.margin, s.margin),
        whole=True,
    ),
    "always": Kind(
        "a share of cases that is at least the one asked for (1)",
        lambda s: (s.at_least, math.inf),
        lambda s: (0.5, math.inf),
    ),
}


def verdict_of(statement: Statement, measured: Measurement) -> str:
    """Return the verdict on a statement that could be measured."""
    if statement.kind == EXAMPLE:
        return REPRODUCED if measured.holds else _leaning(measured.agrees)
    kind, (low, high) = KINDS[statement.kind], statement.target
    leans = measured.agrees
    if kind.wider is not None:
        leans = _lies_in(measured, kind.wider(statement), kind.whole)
    if statement.kind == "range" and measured.reaches(0, 0):
        return UNDECIDED
    inside = meets(statement, measured)
    if kind.whole:
        inside = measured.has_interval and _lies_in(measured, (low, high), whole=True)
    if inside or _holds_value(statement, measured):
        return REPRODUCED if measured.passes_test or not kind.whole else _leaning(leans)
    reaches = measured.reaches(low, high) and statement.kind != "always"
    return UNDECIDED if reaches else _leaning(leans)


def meets(statement: Statement, measured: Measurement) -> bool:
    """Return whether the value alone, or the words, are what a statement asks for.

    So a control is judged, which has no interval, and SaGe where it is counted beside controls.
    """
    if statement.kind == EXAMPLE:
        return bool(measured.holds)
    low, high = statement.target
    if KINDS[statement.kind].whole:
        return _lies_in(measured, (low, high), whole=False)
    return low - _ROUNDING <= measured.ours <= high + _ROUNDING


def _leaning(leans: bool | None) -> str:
    return SAME_DIRECTION if leans else NOT_REPRODUCED


def _lies_in(measured: Measurement, region: Region, whole: bool) -> bool:
    """Whether the value, or the whole interval where there is one, lies in a region."""
    by_interval = whole and measured.has_interval
    low, high = (measured.low, measured.high) if by_interval else (measured.ours, measured.ours)
    return region[0] < low and high < region[1]


def _holds_value(statement: Statement, measured: Measurement) -> bool:
    """Whether a narrow interval holds the paper's value."""
    if statement.kind != "value" or not measured.reaches(statement.paper, statement.paper):
        return False
    return measured.high - measured.low <= WIDEST_INTERVAL * statement.tolerance


# --- paper_values.yaml


def read_claims(path: Path | str) -> dict[str, Any]:
    """Read `paper_values.yaml`; its `claims` are statements, written out one by one.

    Raises:
        UserError: the file is not one of claims, or a claim lacks a key, or has an unknown key,
            kind or measure, or the id of another.
    """
    values = read_paper_values(path)
    try:
        written = [single for claim in values["claims"] for single in _repeated(claim)]
    except (TypeError, KeyError) as error:
        raise UserError(f"{path}: holds no claims ({error}); restore it from git") from error
    values["claims"] = [_statement(single, values, path) for single in written]
    twice = [name for name, n in Counter(s.id for s in values["claims"]).items() if n > 1]
    if twice:
        raise UserError(f"{path}: claim {twice[0]} is defined twice; rename one")
    return values


def read_headlines(values: Path | str) -> dict[str, str]:
    """Return the claims of `paper_values.yaml` that the main tables show: id -> headline."""
    return {s.id: s.headline for s in read_claims(values)["claims"] if s.headline}


def _statement(claim: Mapping[str, Any], values: Mapping[str, Any], path: Path | str) -> Statement:
    where = f"{path}: claim {claim.get('id')}"
    needed = {one.name for one in fields(Statement) if _is_needed(one)}
    if missing := sorted(needed - set(claim)):
        raise UserError(f"{where}: key {missing[0]} is missing; add it")
    if unknown := sorted(set(claim) - {one.name for one in fields(Statement)}):
        raise UserError(f"{where}: there is no key {unknown[0]}; remove it")
    # Without its languages a statement is one of the paper's method, and of any language.
    of_any = {"any_language": "languages" not in claim}
    statement = Statement(**{**of_any, **claim, "paper": _printed(claim["paper"], values)})
    known = {
        "kind": [*KINDS, EXAMPLE],
        "tokenizers": TOKENIZERS,
        "measure": sorted(MEASURES) + [None] * (statement.objection is not None),
    }
    for key, names in known.items():
        if (value := getattr(statement, key)) not in names:
            listed = ", ".join(filter(None, names))
            raise UserError(f"{where}: {key} {value!r} is none of {listed}")
    return statement


def _is_needed(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


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
