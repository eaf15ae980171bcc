"""Every statement of the paper beside the measurement of a run, with a verdict.

The statements are data (`paper_values.yaml`), the rule of the verdicts is in `statements`, and the
measures in `measures_texts` and `measures_models`. A claim gives one record for each SaGe
tokenizer of the run and each language that the paper's statement covers. Statements that could be
made of any language (`any_language`) are measured for the run's other languages too, and marked
`beyond`.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from reproduction.analysis.stats import adjust
from reproduction.paper.claims_inputs import Case, Results
from reproduction.paper.claims_page import claims_markdown
from reproduction.paper.inputs import BASELINE
from reproduction.paper.intervals import over_seeds
from reproduction.paper.measures import BEYOND, Measurement, NotMeasurableError
from reproduction.paper.notes import scope_note
from reproduction.paper.statements import (
    NOT_MEASURABLE,
    REPRODUCED,
    Statement,
    meets,
    read_claims,
    verdict_of,
)
from sagevocab.state import ResumableState, fingerprint, read_json, write_json, write_text

log = logging.getLogger(__name__)

# Settings of `lm.pretrain` without which a score is not one of the paper's models.
_BUDGET = ("layers", "hidden", "heads", "intermediate", "batch", "hours")
# What a record has of its statement.
_STATED = ("id", "where", "statement", "paper")
_NOTHING_KEPT = ResumableState(None, "")


def build_claims(
    run: Results,
    *,
    values: Path | str,
    json: Path | str,
    md: Path | str,
    inputs: Sequence[Path | str] = (),
    state_dir: Path | str | None = None,
    code: str = "",
) -> None:
    """Measure every claim of `values` (`paper_values.yaml`) on a run; write both forms.

    state_dir: keeps what is measured, tokenizer by tokenizer, for the same `inputs` and `code`.

    json: a list of records: id, where, statement, paper, ours, low, high, interval
    (what is resampled: lines, pieces, examples, examples and seeds or null), test, p_value,
    p_adjusted (Holm over the family), family, beyond (the paper does not say it of this language),
    verdict, reason, meets (the value alone is what the statement asks for), controls (control ->
    the same, measured on each of its seeds), met_by (control -> how many of its seeds meet the
    statement), group (statements of one measure), definition (no pruning can break the
    statement), variant (another reading of a statement that is there already),
    failed_premise (the claim that it rests on, where that is not reproduced), corpus, text,
    language, tokenizer, preset, seed (the run's), seeds (what each seed of the
    tokenizer gives, where it has several), left_out (pieces too rare to have a ratio), constructed
    (the examples of its task are), timing (the number comes from clocks, so it differs between
    equal runs).

    Raises:
        UserError: `values` names a measure or a rule that does not exist, or an artefact that the
            run's settings promise is missing or damaged.
    """
    files = [Path(path) for path in sorted(map(str, inputs))]
    mark = fingerprint(code, asdict(run), Path(values), *files) if state_dir else ""
    records = assess_claims(run, read_claims(values), ResumableState(state_dir, mark))
    write_json(json, records)
    note = scope_note(run.budget) if run.budget else ""
    write_text(md, claims_markdown(records, note))
    log.info("claims: %s", dict(Counter(record["verdict"] for record in records)))


@dataclass
class Assessment:
    """A claim measured on a case.

    measured: None where nothing could be. reason: why the claim gets no verdict, else None.
    on_controls: control -> the claim measured on each of its seeds.
    """

    claim: Statement
    case: Case
    measured: Measurement | None
    reason: str | None
    on_controls: Mapping[str, Sequence[Measurement]] = field(default_factory=dict)

    @property
    def controls(self) -> dict[str, list[float | str]]:
        """Control -> what each of its seeds gives."""
        return {name: [one.ours for one in seeds] for name, seeds in self.on_controls.items()}

    @property
    def met_by(self) -> dict[str, int]:
        """Control -> how many of its seeds are what the claim asks for."""
        return {
            name: sum(meets(self.claim, one) for one in seeds)
            for name, seeds in self.on_controls.items()
        }

    @property
    def beyond(self) -> bool:
        """Whether the paper makes the statement of other languages only."""
        return self.case.language not in self.claim.languages

    @property
    def family(self) -> str | None:
        """The name of the family that the claim's test is in, None if it has none."""
        tested = self.measured is not None and self.measured.p_value is not None
        if self.reason or not tested or not self.claim.is_tested:
            return None
        return BEYOND if self.beyond else self.claim.measured_by.family


def assess_claims(
    run: Results, values: Mapping[str, Any], state: ResumableState = _NOTHING_KEPT
) -> list[dict[str, Any]]:
    """Return the records of all claims, in the paper's order.

    state: keeps the measurements of each tokenizer in each language, and of each control.
    """
    cases = [(claim, case) for claim in values["claims"] for case in _cases(claim, run, values)]
    measured: dict[int, Assessment] = {}
    # What is counted under one tokenizer is in memory while its claims need it.
    for language, tokenizer in dict.fromkeys((case.language, case.tokenizer) for _, case in cases):
        log.info("claims on %s%s", f"{language}, " if language else "", tokenizer)
        numbers = [
            number
            for number, (_, case) in enumerate(cases)
            if (case.language, case.tokenizer) == (language, tokenizer)
        ]
        found = _measure_all(
            [cases[number] for number in numbers], state, f"{language}.{tokenizer}"
        )
        measured.update(zip(numbers, found, strict=True))
    assessments = [measured[number] for number in range(len(cases))]
    _adjust(assessments, values["claims"])
    controls = _measure_controls(run, values, state)
    for assessment in assessments:
        key = (assessment.claim.id, assessment.case.language)
        if assessment.case.tokenizer != BASELINE:  # controls are for SaGe
            assessment.on_controls = controls.get(key, {})
    records = [_record(assessment) for assessment in assessments]
    verdicts = {(one["id"], one["language"], one["tokenizer"]): one["verdict"] for one in records}
    for record, assessment in zip(records, assessments, strict=True):
        premise = assessment.claim.premise
        verdict = verdicts.get((premise, record["language"], record["tokenizer"]), NOT_MEASURABLE)
        record["failed_premise"] = None if verdict in (REPRODUCED, NOT_MEASURABLE) else premise
    return records


def _measure_all(
    cases: Sequence[tuple[Statement, Case]], state: ResumableState, kept_as: str
) -> list[Assessment]:
    """Measure claims, or take what a job that was killed has measured of them."""
    kept = state.load_json(kept_as)
    if kept is None:
        found = [_measure(claim, case) for claim, case in cases]
        kept = [(one.measured and asdict(one.measured), one.reason) for one in found]
        state.save_json(kept_as, kept)
        return found
    return [
        Assessment(claim, case, measured and _restored(measured), reason)
        for (claim, case), (measured, reason) in zip(cases, kept, strict=True)
    ]


def _restored(measured: Mapping[str, Any]) -> Measurement:
    return Measurement(**{**measured, "seeds": tuple(measured["seeds"])})


def _measure_controls(
    run: Results, values: Mapping[str, Any], state: ResumableState
) -> dict[tuple[str, str | None], dict[str, list[Measurement]]]:
    """Measure the claims about SaGe on the controls: id and language -> control -> seeds.

    Vocabulary by vocabulary: what is counted under one is in memory while its claims need it.
    """
    claims = [claim for claim in values["claims"] if claim.has_controls]
    found: dict[tuple[str, str | None], dict[str, list[Measurement]]] = {}
    vocabularies = [(control, name) for control, seeds in run.controls.items() for name in seeds]
    for number, (control, name) in enumerate(vocabularies, start=1):
        log.info("claims on %s, %d of %d controls", name, number, len(vocabularies))
        cases = [
            (claim, Case(run, language, claim.corpus, name, values, alone=True))
            for claim in claims
            for language in _languages(claim, run)
        ]
        for one in _measure_all(cases, state, name):
            if one.measured:
                key = (one.claim.id, one.case.language)
                of_seeds = found.setdefault(key, {}).setdefault(control, [])
                of_seeds.append(one.measured)
    return found


def _cases(claim: Statement, run: Results, values: Mapping[str, Any]) -> Iterator[Case]:
    sage = run.sage_tokenizers or ["sage"]
    tokenizers = {"sage": sage, "bpe": [BASELINE], "each": [BASELINE, *sage]}[claim.tokenizers]
    for language in _languages(claim, run):
        for tokenizer in tokenizers:
            yield Case(run, language, claim.corpus, tokenizer, values)


def _languages(claim: Statement, run: Results) -> list[str | None]:
    """Return the languages of a claim, then the run's others where it may be said of any."""
    languages = list(claim.languages)
    if claim.any_language:
        languages += [language for language in run.languages if language not in languages]
    return languages


def _measure(claim: Statement, case: Case) -> Assessment:
    log.debug("%s: %s %s", claim.id, case.language or "", case.tokenizer)
    if claim.measure is None:
        return Assessment(claim, case, None, claim.objection)
    try:
        measured = over_seeds([_measure_one(claim, one) for one in _of_each_seed(claim, case)])
        return Assessment(claim, case, measured, _objection(claim, case))
    except NotMeasurableError as error:
        return Assessment(claim, case, None, str(error))


def _of_each_seed(claim: Statement, case: Case) -> list[Case]:
    """Return the case and, where vocabularies and counts decide, the same with further seeds."""
    seeded = claim.measured_by.of_any_vocabulary
    further = case.run.further_seeds.get(case.tokenizer, ()) if seeded else ()
    return [case, *(replace(case, tokenizer=name) for name in further)]


def _measure_one(claim: Statement, case: Case) -> Measurement:
    measured = claim.measured_by.function(case, **claim.arguments)
    if measured.test and not claim.measured_by.tested:
        raise ValueError(f"measure {claim.measure} gives a test: declare it tested=True")
    if _is_nan(measured.ours):
        raise NotMeasurableError("nothing to count: no piece, word or example is of this kind")
    return measured


def _adjust(assessments: Sequence[Assessment], claims: Sequence[Statement]) -> None:
    """Adjust the p-values by Holm, in each family of each tokenizer by itself."""
    sizes: Counter[str] = Counter()
    for claim in claims:
        if claim.is_tested:
            sizes[claim.measured_by.family] += len(claim.languages)
    tested = [member for member in assessments if member.family]
    families = [(member.case.tokenizer, member.family) for member in tested]
    whole = {family: sizes[family[1]] for family in families}
    adjusted = adjust([member.measured.p_value for member in tested], families, whole)
    for member, p_value in zip(tested, adjusted.tolist(), strict=True):
        member.measured = replace(member.measured, p_adjusted=p_value)


def _record(assessment: Assessment) -> dict[str, Any]:
    claim, case, measured = assessment.claim, assessment.case, assessment.measured
    decided = measured is not None and not assessment.reason
    return {
        **{key: getattr(claim, key) for key in _STATED},
        **_numbers(measured),
        "family": assessment.family,
        "beyond": assessment.beyond,
        "verdict": verdict_of(claim, measured) if decided else NOT_MEASURABLE,
        "reason": assessment.reason,
        "meets": meets(claim, measured) if decided else None,
        "controls": assessment.controls,
        "met_by": assessment.met_by,
        "group": claim.group,
        "definition": claim.uncounted == "definition",
        "variant": claim.uncounted == "variant",
        "corpus": case.corpus,
        "text": case.text,
        "language": case.language,
        "tokenizer": case.tokenizer,
        "preset": case.run.tokenizers.get(case.tokenizer),
        "seed": case.run.seed,
        "constructed": case.constructed,
        "timing": claim.is_timing,
    }


def _objection(claim: Statement, case: Case) -> str | None:
    """Return why a measured number can't be compared with the paper's; None if it can."""
    if claim.objection:
        return claim.objection
    if "paper_text" in claim.needs and (case.language, case.corpus) not in case.run.paper_texts:
        return "a number of the paper's own text, and this is another"
    if "paper_budget" in claim.needs and (differs := _other_budget(case)):
        return f"a number of models with the paper's budget, and here {differs}"
    if "real_task" in claim.needs and case.constructed:
        return "a score on the paper's data, and here the examples are constructed"
    return None


def _other_budget(case: Case) -> str | None:
    """Return the first setting of the models' size and budget that is not the paper's."""
    ours = (case.run.budget or {}).get("pretrain", {})
    for row in case.values["hyperparameters"]["table_hyperparameters_pretraining"]:
        section, _, key = row.get("config", "").rpartition(".")
        compared = section == "lm.pretrain" and key in _BUDGET and key in ours
        if compared and ours[key] != row["value"]:
            return f"{row['config']} is {ours[key]}, there {row['value']}"
    return None


def _numbers(measured: Measurement | None) -> dict[str, Any]:
    known = asdict(measured or Measurement(ours=None))
    known["interval"] = known["unit"]
    known["seeds"] = list(known["seeds"])
    names = ("ours", "low", "high", "interval", "test", "p_value", "p_adjusted", "seeds")
    names += ("left_out",)
    return {name: None if _is_nan(known[name]) else known[name] for name in names}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def read_records(claims: Path | str, tokenizers: Collection[str]) -> list[dict[str, Any]]:
    """Return the records of `claims.json` on some tokenizers.

    Raises:
        UserError: the file is missing or damaged.
    """
    return [record for record in read_json(claims) if record["tokenizer"] in tokenizers]
