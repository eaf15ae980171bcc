"""The findings: an article in which every number is taken from the run by name.

The template (workflow/report/findings.md.jinja) is Markdown with one sentence a line. It looks up
claims, cells of tables and settings; a line that names something which the run does not have is
left out, and so is a table or a section of which nothing stays. Where a sentence depends on how a
claim came out, the claim's verdict stands in it or chooses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import jinja2

from reproduction.paper.claims_frame import read_records
from reproduction.paper.claims_page import (
    SIGNS,
    show_control,
    show_measured,
    show_value,
)
from reproduction.paper.formats import number, page_environment
from reproduction.paper.overlap import TAKEN_AWAY
from reproduction.paper.statements import read_claims
from reproduction.paper.table import read_csv
from reproduction.paper.tables import flat_settings
from reproduction.paper.tally import controls_that_agree, origin_of, tally
from sagevocab.files import write_text

Row = Mapping[str, Any]

SUMMARY = "Summary"  # the section that the report page opens with
_GAP = "\0"  # stands where something is missing, until its line is left out
_MARKS = re.compile(r"[|*`]")


class _Missing(jinja2.ChainableUndefined):
    """What a lookup gives where the run has nothing; false, and printed as a gap."""

    def __str__(self) -> str:
        return _GAP


def build_findings(
    md: Path | str,
    *,
    template: Path | str,
    claims: Path | str,
    tables: Mapping[str, Path | str],
    values: Path | str,
    run: Mapping[str, Any],
    texts: Sequence[Row],
    figures: Sequence[str] = (),
) -> None:
    """Write the findings as Markdown.

    claims: `claims.parquet`. tables: target -> its CSV. values: `paper_values.yaml`. run: name,
    labels and presets (by tokenizer), names (of languages), languages, constructed (tasks) and
    settings. texts: name, language, corpus, title, paper (the paper's own text) and in_paper
    (whether it is that one) of each text. figures: targets of the figures to show.

    Raises:
        UserError: an input is missing or damaged.
    """
    evidence = Evidence(
        read_records(claims, values),
        {name: read_csv(path) for name, path in tables.items()},
        read_claims(values),
        run,
    )
    write_text(md, render(template, evidence, texts=texts, figures=figures))


def section(markdown: str, title: str) -> str:
    """Return what stands under a heading of the second level; empty without such a heading."""
    parts = re.split(r"^## (.+)\n", markdown, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "").strip()


# --- what the template looks up


@dataclass(frozen=True)
class Evidence:
    """What a run found, by name.

    records: of claims, with seeds and controls. tables: target -> rows of its CSV. values:
    `paper_values.yaml`, its claims written out. run: as for `build_findings`.
    """

    records: Sequence[Row]
    tables: Mapping[str, Sequence[Row]]
    values: Mapping[str, Any]
    run: Mapping[str, Any]

    @cached_property
    def sage(self) -> dict[str, str]:
        """The readings of SaGe that claims are measured on: name -> label."""
        measured = {record["tokenizer"] for record in self.records}
        labels, presets = self.run["labels"], self.run["presets"]
        sage = [name for name in labels if presets[name] and name in measured]
        return {name: _plain(labels[name]) for name in sage}

    @cached_property
    def languages(self) -> dict[str, str]:
        """The languages of the run: code -> name."""
        return {code: self.run["names"][code] for code in self.run["languages"]}

    @cached_property
    def seeds(self) -> dict[str, int]:
        """How many seeds each reading of SaGe is built with."""
        counts = {
            name: [len(record.get("seeds") or ()) for record in where(self.records, tokenizer=name)]
            for name in self.sage
        }
        return {name: max(1, *of_records) for name, of_records in counts.items()}

    @cached_property
    def headlines(self) -> dict[str, str]:
        """The main statements: id -> what the tables call it."""
        return {c.id: c.headline for c in self.values["claims"] if c.headline}

    @cached_property
    def _settings(self) -> dict[str, Any]:
        return dict(flat_settings(self.run["settings"]))

    @cached_property
    def _stated(self) -> dict[str, Any]:
        rows = [*self.values["setup"]]
        rows += [row for table in self.values["hyperparameters"].values() for row in table]
        return {row["config"]: row["value"] for row in rows if "config" in row}

    def claim(self, name: str, language: str | None, tokenizer: str) -> Row | _Missing:
        """Return the record of a claim, if the run could measure it."""
        found = where(self.records, id=name, language=language, tokenizer=tokenizer)
        return found[0] if found and found[0]["value"] is not None else _Missing()

    def statement(self, name: str, language: str | None) -> Row | _Missing:
        """Return the record of the first reading: all agree on the paper and the controls."""
        found = filter(None, (self.claim(name, language, reading) for reading in self.sage))
        return next(found, _Missing())

    def claims(self, **wanted: Any) -> list[Row]:
        """Return the records on SaGe tokenizers that count on real data, by what they must hold."""
        of_sage = [record for record in self.records if record["tokenizer"] in self.sage]
        counted = [record for record in of_sage if origin_of(record) == "real"]
        return where(counted, **wanted)

    def rows(self, table: str, **wanted: Any) -> list[Row]:
        """Return the rows of a table with some values in some columns."""
        return where(self.tables.get(table, ()), **wanted)

    def cell(self, table: str, column: str, **wanted: Any) -> Any:
        """Return a number of a table: of its one row with some values in some columns.

        Raises:
            ValueError: there are several such rows.
        """
        found = self.rows(table, **wanted)
        if len(found) > 1:
            raise ValueError(f"{table}: {len(found)} rows with {wanted}")
        value = found[0][column] if found else None
        return _Missing() if value is None else value

    def setting(self, key: str) -> Any:
        """Return a setting of the run, by the path of its key."""
        return self._settings.get(key, _Missing())

    def stated(self, key: str) -> Any:
        """Return what the paper states of a setting."""
        return self._stated.get(key, _Missing())

    @cached_property
    def tallied(self) -> tuple[int, dict[str, float]]:
        """How many statements SaGe and the controls meet; each named as the run calls it."""
        statements, met = tally([r for r in self.records if r["tokenizer"] in self.sage])
        labels = self.run["labels"]
        return statements, {_plain(labels.get(name, name)): of for name, of in met.items()}

    def shares(self, name: str, language: str) -> dict[str, float]:
        """Return what vectors and contexts across words account for in what a reading prunes.

        It is `overlap.TAKEN_AWAY` -> the share; none where the run lacks the control.
        """
        labels = self.run["labels"]
        rows = self.rows("table_overlap", reading=labels[name], language=language)
        places = {row["control"]: row["place"] for row in rows}
        found = {kind: places.get(labels.get(f"{name}_{kind}")) for kind in TAKEN_AWAY}
        return {TAKEN_AWAY[kind]: 1 - place for kind, place in found.items() if place is not None}

    def is_minor(self, kind: str) -> bool:
        """Return whether what `shares` names accounts for less than half of every choice."""
        shares = (self.shares(name, lang) for name in self.sage for lang in self.languages.values())
        return all(share.get(kind, 0) < 1 / 2 for share in shares)


def where(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Return the rows that hold some values.

    Raises:
        KeyError: the rows have no such column.
    """
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


# --- the template


def render(
    template: Path | str, evidence: Evidence, *, texts: Sequence[Row], figures: Sequence[str]
) -> str:
    """Return the template filled with what a run found; texts, figures: as for `build_findings`."""
    environment = findings_environment(template)
    lookups = ("claim", "statement", "claims", "cell", "setting", "stated", "tallied")
    lookups += ("shares", "is_minor")
    environment.globals |= {name: getattr(evidence, name) for name in lookups}
    text = environment.get_template(Path(template).name).render(
        run=evidence.run,
        sage=evidence.sage,
        languages=evidence.languages,
        seeds=evidence.seeds,
        headlines=evidence.headlines,
        paper=evidence.values["paper"],
        texts=texts,
        figures=figures,
        nothing=_Missing(),
    )
    return without_gaps(text)


def findings_environment(template: Path | str) -> jinja2.Environment:
    """Return the environment that reads the template, with the filters that print."""
    printers = {name: _printed(show) for name, show in _FILTERS.items()}
    environment = page_environment(template, printers | {"where": where})
    environment.tests["of_a_control"] = controls_that_agree
    return environment


def _printed(show: Callable[..., str]) -> Callable[..., str | _Missing]:
    """Return a filter that leaves a gap for nothing."""

    def printed(value: Any, *arguments: Any) -> str | _Missing:
        nothing = value is None or isinstance(value, jinja2.Undefined)
        return _Missing() if nothing else show(value, *arguments) or _Missing()

    return printed


def _plain(text: str) -> str:
    """Return a user's text without what would end a cell or open emphasis."""
    return _MARKS.sub(" ", text)


_FILTERS: dict[str, Callable[..., str]] = {
    "measured": show_measured,
    "value": show_value,
    "control": show_control,
    "fixed": number,
    "share": lambda share: f"{100 * share:.0f} %",
    "outcome": itemgetter("verdict"),
    "sign": lambda record: SIGNS[record["verdict"]],
    "plain": _plain,
}


def without_gaps(text: str) -> str:
    """Return Markdown without lines that have a gap, and without what they leave empty.

    That is a table without rows, and a heading without anything below it.
    """
    kept = [line for line in text.splitlines() if _GAP not in line]
    parts = filter(None, (part.strip() for part in "\n".join(kept).split("\n\n")))
    return "\n\n".join(_with_content(list(parts))) + "\n"


def _with_content(parts: Sequence[str]) -> list[str]:
    kept = ["# the end"]
    for part in reversed(parts):
        is_bare_head = part.startswith("|") and len(part.splitlines()) <= 2
        is_bare_heading = part.startswith("#") and _level(kept[-1]) <= _level(part)
        if not is_bare_head and not is_bare_heading:
            kept.append(part)
    return kept[:0:-1]


def _level(part: str) -> int:
    """Return the level of a heading; more than any for other parts."""
    marks = part.partition(" ")[0]
    return len(marks) if marks and set(marks) == {"#"} else 7
