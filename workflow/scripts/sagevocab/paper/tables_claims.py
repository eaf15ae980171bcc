"""The main table: the paper's chief numbers beside those of each SaGe tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.paper.claims import read_claims
from sagevocab.paper.claims_page import read_records, show_ours, show_value
from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.notes import with_notes
from sagevocab.paper.verdicts import VERDICTS

Files = str | Path
SIGNS = dict(zip(VERDICTS, ("✓", "≈", "✗", NOTHING), strict=True))


def table_claims(
    claims: Files,
    values: Files,
    *,
    labels: Mapping[str, str],
    languages: Mapping[str, str],
    notes: Sequence[str] = (),
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the claims that have a `headline`, a row each, with a column for each tokenizer.

    values: `paper_values.yaml`. claims: `claims.json`.
    labels, languages: SaGe tokenizers and languages, and what they are called. notes: sentences
    that end the note.

    Raises:
        UserError: `claims` is missing or damaged.
    """
    headlines = {c["id"]: c["headline"] for c in read_claims(values)["claims"] if "headline" in c}
    records = [r for r in read_records(claims) if r["id"] in headlines and r["tokenizer"] in labels]
    rows = list(_rows(records, headlines, labels, languages))
    shown = pd.DataFrame(rows, columns=["", "text", "paper", *labels.values()])
    data = pd.DataFrame(
        {"headline": headlines[r["id"]], **{k: r.get(k) for k in _COLUMNS}} for r in records
    )
    write_table(
        shown,
        data,
        tex=tex,
        csv=csv,
        md=md,
        align="lll" + "l" * len(labels),
        note=with_notes(
            "Ours with its 95 % interval; "
            + ", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items())
            + ". All claims, with their tests: claims.md.",
            notes,
        ),
    )


_COLUMNS = (
    "id", "language", "tokenizer", "preset", "paper", "ours", "low", "high", "p_adjusted", "verdict"
)  # fmt: skip


def _rows(
    records: Sequence[Mapping[str, Any]],
    headlines: Mapping[str, str],
    labels: Mapping[str, str],
    languages: Mapping[str, str],
) -> Iterator[list[str]]:
    by_row: dict[tuple[str, str | None], dict[str, Mapping[str, Any]]] = {}
    for record in records:
        by_row.setdefault((record["id"], record["language"]), {})[record["tokenizer"]] = record
    for (name, language), members in by_row.items():
        if all(record["ours"] is None for record in members.values()):
            continue
        first = next(iter(members.values()))
        cells = [_cell(members.get(tokenizer)) for tokenizer in labels]
        text = languages.get(language or "", language or "")
        yield [headlines[name], text, show_value(first["paper"]), *cells]


def _cell(record: Mapping[str, Any] | None) -> str:
    if record is None or record["ours"] is None:
        return NOTHING
    return f"{show_ours(record)} {SIGNS[record['verdict']]}"
