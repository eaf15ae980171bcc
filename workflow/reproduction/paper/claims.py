"""Every statement of the paper beside the measurement of a run, with a verdict.

The statements are data (`paper_values.yaml`), the rule of the verdicts is in `statements`, and the
measures in `measures_texts` and `measures_models`. A claim gets a verdict for each SaGe
tokenizer of the run and each language that the paper's statement covers. Statements that could be
made of any language (`others`) are measured for the run's other languages too, and marked
`beyond`. `claims_frame` has the form of the result.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis.stats import adjust
from reproduction.paper.claims_frame import (
    BASELINE_ROLE,
    CONTROL,
    READING,
    claims_frame,
    records_of,
    value_or_words,
)
from reproduction.paper.claims_inputs import Case, Results
from reproduction.paper.claims_page import claims_markdown
from reproduction.paper.inputs import BASELINE
from reproduction.paper.intervals import over_seeds
from reproduction.paper.measures import BEYOND, Measurement, NotMeasurableError
from reproduction.paper.statements import (
    NOT_MEASURABLE,
    OTHERS,
    Statement,
    meets,
    read_claims,
    verdict_of,
)
from reproduction.parquet import write_parquet
from sagevocab.files import write_json, write_text

log = logging.getLogger(__name__)

_OF_MEASUREMENT = ("low", "high", "test", "p_value", "p_adjusted")
# Settings of `lm.pretrain` without which a score is not one of the paper's models.
_BUDGET = ("layers", "hidden", "heads", "intermediate", "batch", "hours")


def build_claims(
    run: Results,
    *,
    values: Path | str,
    template: Path | str,
    frame: Path | str,
    json: Path | str,
    md: Path | str,
) -> None:
    """Measure every claim of `values` (`paper_values.yaml`) on a run; write it in three forms.

    Args:
        run: what was measured, and where it is.
        values: the paper's statements.
        template: of the page.
        frame: for the frame, `claims_frame` has its columns.
        json: for the list of all verdicts, see `claims_frame.records_of`.
        md: for the page.

    Raises:
        UserError: `values` names a measure that does not exist, or an artefact that the run's
            settings promise is missing or damaged.
    """
    known = read_claims(values)
    found = assess_claims(run, known)
    records = records_of(found, known["claims"])
    write_parquet(frame, found)
    write_json(json, records)
    write_text(md, claims_markdown(records, template))
    log.info("claims: %s", dict(Counter(record["verdict"] for record in records)))


@dataclass
class Assessment:
    """A claim measured on a case.

    measured: None where nothing could be. reason: why the claim gets no verdict, else None.
    """

    claim: Statement
    case: Case
    measured: Measurement | None
    reason: str | None

    @property
    def beyond(self) -> bool:
        """Whether the paper makes the statement of other languages only."""
        return self.case.language not in self.claim.paper_languages

    @property
    def family(self) -> str | None:
        """The name of the family that the claim's test is in, None if it has none."""
        tested = self.measured is not None and self.measured.p_value is not None
        if self.reason or not tested or not self.claim.is_tested:
            return None
        return BEYOND if self.beyond else self.claim.measured_by.family


def assess_claims(run: Results, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame of all claims, in the paper's order; rows of controls stand last."""
    cases = [
        (claim, case)
        for given in (_cases, _control_cases)
        for claim in values["claims"]
        for case in given(claim, run, values)
    ]
    # What is counted under one tokenizer is in memory while its claims need it.
    places = [(case.control, case.language, case.tokenizer) for _, case in cases]
    order = {place: number for number, place in enumerate(dict.fromkeys(places))}
    by_place = sorted(range(len(cases)), key=lambda number: order[places[number]])
    measured = {number: _measure(*cases[number]) for number in by_place}
    assessments = [measured[number] for number in range(len(cases))]
    _adjust(assessments, values["claims"])
    return claims_frame(row for assessment in assessments for row in _rows(assessment))


def _rows(assessment: Assessment) -> Iterator[dict[str, Any]]:
    """Yield the row with a verdict and one for each of several seeds, or the row of a control."""
    claim, case, measured = assessment.claim, assessment.case, assessment.measured
    if case.control:
        if measured:
            number = {**value_or_words(measured.value), "meets": meets(claim, measured)}
            named = {"control": case.control, "seed": case.number}
            yield {**_place(claim, case, CONTROL), **number, **named}
        return
    place = _place(claim, case, BASELINE_ROLE if case.tokenizer == BASELINE else READING)
    is_decided = measured is not None and not assessment.reason
    yield {
        **place,
        **(value_or_words(measured.value) if measured else {}),
        **{name: getattr(measured, name, None) for name in _OF_MEASUREMENT},
        "interval": measured.unit if measured else None,
        "text": case.text,
        "preset": case.run.tokenizers.get(case.tokenizer),
        "family": assessment.family,
        "meets": meets(claim, measured) if is_decided else None,
        "verdict": verdict_of(claim, measured) if is_decided else NOT_MEASURABLE,
        "reason": assessment.reason,
        "beyond": assessment.beyond,
        "constructed": case.constructed,
        "run_seed": case.run.seed,
    }
    for seed, value in enumerate(measured.seeds if measured else (), start=1):
        yield {**place, **value_or_words(value), "seed": seed}


def _place(claim: Statement, case: Case, role: str) -> dict[str, Any]:
    return {
        "statement": claim.id,
        "language": case.language,
        "corpus": case.corpus,
        "tokenizer": case.tokenizer,
        "role": role,
    }


def _cases(claim: Statement, run: Results, values: Mapping[str, Any]) -> Iterator[Case]:
    sage = run.sage_tokenizers or ["sage"]
    tokenizers = {"sage": sage, "bpe": [BASELINE], "each": [BASELINE, *sage]}[claim.tokenizers]
    for language in _languages(claim, run):
        for tokenizer in tokenizers:
            yield Case(run, language, claim.corpus, tokenizer, values)


def _control_cases(claim: Statement, run: Results, values: Mapping[str, Any]) -> Iterator[Case]:
    """Yield the controls of a claim about SaGe: a number each, without interval and test."""
    if not claim.has_controls:
        return
    for control, vocabularies in run.controls.items():
        for number, name in enumerate(vocabularies, start=1):
            for language in _languages(claim, run):
                yield Case(run, language, claim.corpus, name, values, control, number)


def _languages(claim: Statement, run: Results) -> list[str | None]:
    """Return the languages of a claim, then the run's others where it may be said of any."""
    languages = claim.paper_languages
    if OTHERS in claim.languages:
        languages += [language for language in run.languages if language not in languages]
    return languages


def _measure(claim: Statement, case: Case) -> Assessment:
    log.debug("%s: %s %s", claim.id, case.language or "", case.tokenizer)
    if claim.measure is None:
        return Assessment(claim, case, None, claim.objection)
    # Where vocabularies and counts decide, the same is measured with further seeds.
    seeded = claim.measured_by.of_any_vocabulary
    further = case.run.further_seeds.get(case.tokenizer, ()) if seeded else ()
    of_seeds = [case, *(replace(case, tokenizer=name) for name in further)]
    try:
        measured = over_seeds([_measure_one(claim, one) for one in of_seeds])
        return Assessment(claim, case, measured, _objection(claim, case))
    except NotMeasurableError as error:
        return Assessment(claim, case, None, str(error))


def _measure_one(claim: Statement, case: Case) -> Measurement:
    measured = claim.measured_by.function(case, **claim.arguments)
    if pd.isna(measured.value):
        raise NotMeasurableError("nothing to count: no piece, word or example is of this kind")
    return measured


def _adjust(assessments: Sequence[Assessment], claims: Sequence[Statement]) -> None:
    """Adjust the p-values by Holm, in each family of each tokenizer by itself."""
    sizes: Counter[str] = Counter()
    for claim in claims:
        if claim.is_tested:
            sizes[claim.measured_by.family] += len(claim.paper_languages)
    tested = [member for member in assessments if member.family]
    families = [(member.case.tokenizer, member.family) for member in tested]
    whole = {family: sizes[family[1]] for family in families}
    adjusted = adjust([member.measured.p_value for member in tested], families, whole)
    for member, p_value in zip(tested, adjusted.tolist(), strict=True):
        member.measured = replace(member.measured, p_adjusted=p_value)


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
    budget = (case.run.budget or {}).get("pretrain", {})
    for row in case.values["hyperparameters"]["table_hyperparameters_pretraining"]:
        section, _, key = row.get("config", "").rpartition(".")
        compared = section == "lm.pretrain" and key in _BUDGET and key in budget
        if compared and budget[key] != row["value"]:
            return f"{row['config']} is {budget[key]}, there {row['value']}"
    return None
