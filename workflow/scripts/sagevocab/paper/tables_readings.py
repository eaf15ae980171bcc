"""The tables of the readings of the loss: which claims each reproduces, and key quantities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.notes import presets_note
from sagevocab.paper.studies import (
    FULL,
    QUANTITIES,
    SAMPLE,
    Spread,
    builds_of,
    spread_of,
    verdicts_of,
)
from sagevocab.paper.study_cells import HEADS, Assessments, bare, cell, require_studies
from sagevocab.paper.verdicts import (
    NOT_MEASURABLE,
    NOT_REPRODUCED,
    REPRODUCED,
    SAME_DIRECTION,
    VERDICTS,
)
from sagevocab.vocab.presets import overrides, reading_settings

Files = str | Path
Row = dict[str, Any]

_LOSSES = {
    "total": "total",
    "mean_piece_lines": "mean, lines with the piece",
    "mean_string_lines": "mean, lines with the string",
}
_SIGNS = dict(zip(VERDICTS, ("✓", "≈", "✗", NOTHING), strict=True))
_GIVEN = (REPRODUCED, SAME_DIRECTION, NOT_REPRODUCED)
# Of the quantities, those that fit on a page; the CSV has all.
_SHOWN = (
    "sage_only_word_initial",
    "bpe_only_word_initial",
    "bpe_only_short",
    "sage_only_long",
    "token_ratio",
    "whole_words",
    "long_words",
    "ratio_to_bpe",
)


def table_readings(
    assessments: Assessments,
    readings: Sequence[Mapping[str, Any]],
    full: Sequence[Mapping[str, Any]],
    *,
    paper: Mapping[str, Any],
    **files: Files,
) -> None:
    """Write, for every reading and language, how many claims it reproduces and key quantities.

    assessments: language title -> what `assess_readings` wrote of it. readings: name, label,
    preset and the keys that override it; full: the same of the run's tokenizers at full size.
    paper: quantity -> the paper's value, which is about English.
    """
    require_studies(assessments)
    data = pd.DataFrame(
        record
        for title, assessment in assessments.items()
        for scale, rows in ((SAMPLE, readings), (FULL, full))
        for row in rows
        for record in _reading_records(title, assessment, scale, row, paper)
    )
    rows, blocks = [], []
    for title, assessment in assessments.items():
        blocks += [len(rows)] if rows else []
        rows += _language_rows(title, assessment, readings, full, paper)
    header = [("Text", ""), ("Reading", ""), ("Decoder", ""), ("Loss", ""), ("Contexts", "")]
    header += [("Claims", " / ".join(_SIGNS[verdict] for verdict in _GIVEN))]
    header += [HEADS[name] for name in _SHOWN]
    shown = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))
    align = "lllllr" + "r" * len(_SHOWN)
    half = 6 + len(_SHOWN) // 2
    parts = [range(6), [0, 1, *range(6, half)], [0, 1, *range(half, len(align))]]
    note = _readings_note(assessments, readings, full)
    write_table(shown, data, align=align, note=note, blocks=blocks, parts=parts, **files)


def _readings_note(
    assessments: Assessments,
    readings: Sequence[Mapping[str, Any]],
    full: Sequence[Mapping[str, Any]],
) -> str:
    seeds = sorted(
        {
            build["seed"]
            for assessment in assessments.values()
            for build in assessment["builds"]
            if build["scale"] == SAMPLE
        }
    )
    judges = f"most of {len(seeds)} seeds" if len(seeds) > 1 else "its files"
    presets = [(row["label"], row["preset"]) for row in (*readings, *full) if not overrides(row)]
    return (
        f"Claims: the paper's statements about the language's training corpus that are reproduced "
        f"(✓), have the same direction (≈), or are not reproduced (✗), by the verdict that "
        f"{judges} give; table_readings_claims and the CSV have each by itself. Numbers "
        "are means over the seeds; 'seeds' is the largest difference of two seeds of one reading. "
        "Loss: total over the corpus, or its mean over the lines that hold the piece as a token or "
        "as a string, over all lines or a sample of so many of them; 'pushed back': pieces at the "
        "start of a line are spared. Contexts: the matrix that context vectors are taken from. "
        "Lengths do not count the word-start mark. Everything is segmented greedily. The paper's "
        "numbers are of "
        f"English. {presets_note(presets) or 'Presets: none.'}"
    )


def _reading_records(
    title: str,
    assessment: Mapping[str, Any],
    scale: str,
    row: Mapping[str, Any],
    paper: Mapping[str, Any],
) -> Iterator[Row]:
    """Yield the rows of a reading in the CSV: its quantities, then its claims."""
    builds = builds_of(assessment, scale, row["name"])
    if not builds:
        return
    head = {
        "language": title,
        "scale": scale,
        "reading": row["name"],
        "label": row["label"],
        "preset": row["preset"],
        **reading_settings(row),
        "seeds": len(builds),
    }
    for quantity in QUANTITIES:
        spread = spread_of(builds, quantity.name)
        printed = paper.get(quantity.name) if assessment["language"] == "en" else None
        yield {**head, "kind": "quantity", "id": quantity.name, "paper": printed, **bare(spread)}
    verdicts = verdicts_of(builds)
    for name, claim in assessment["claims"].items():
        records = [build["claims"][name] for build in builds]
        yield {
            **head,
            "kind": "claim beyond the paper's languages" if claim["beyond"] else "claim",
            "id": name,
            "paper": claim["paper"],
            **bare(_numbers(records)),
            "verdict": verdicts[name],
            "verdicts": "; ".join(record["verdict"] for record in records),
        }


def _numbers(records: Sequence[Mapping[str, Any]]) -> Spread:
    values = (record["ours"] for record in records)
    return Spread.of(value for value in values if isinstance(value, (int, float)))


def _language_rows(
    title: str,
    assessment: Mapping[str, Any],
    readings: Sequence[Mapping[str, Any]],
    full: Sequence[Mapping[str, Any]],
    paper: Mapping[str, Any],
) -> list[list[str]]:
    rows = [_paper_row(paper)] if assessment["language"] == "en" else []
    scales = ((SAMPLE, "BPE", readings), (FULL, "BPE, full size", full))
    for scale, baseline, listed in scales:
        if scale not in assessment["baselines"]:
            continue
        rows.append(_baseline_row(baseline, assessment["baselines"][scale]))
        rows += [_reading_row(assessment, scale, row) for row in listed]
        rows += [_seeds_row(assessment, listed)] if scale == SAMPLE else []
    return [[title if number == 0 else "", *row] for number, row in enumerate(rows)]


def _paper_row(paper: Mapping[str, Any]) -> list[str]:
    values = [cell(name, paper.get(name)) for name in _SHOWN]
    return ["the paper", "", "", "", "", *values]


def _baseline_row(label: str, own: Mapping[str, float | None]) -> list[str]:
    values = [cell(name, own.get(name)) for name in _SHOWN]
    return [label, "", "", "", "", *values]


def _reading_row(assessment: Mapping[str, Any], scale: str, row: Mapping[str, Any]) -> list[str]:
    builds = builds_of(assessment, scale, row["name"])
    settings = reading_settings(row)
    label = row["label"] if scale == SAMPLE else f"{row['label']}, full size"
    values = [cell(name, spread_of(builds, name).mean) for name in _SHOWN]
    loss = _loss_title(settings)
    return [
        label,
        settings["decoder"],
        loss,
        settings["context_matrix"],
        _claim_counts(assessment, builds),
        *values,
    ]


def _loss_title(settings: Mapping[str, Any]) -> str:
    parts = [_LOSSES[settings["loss"]]]
    parts += [] if settings["loss_lines"] == "all" else [f"{settings['loss_lines']} of them"]
    parts += ["pushed back"] if settings["push_back_line_start"] else []
    return ", ".join(parts)


def _claim_counts(assessment: Mapping[str, Any], builds: Sequence[Mapping[str, Any]]) -> str:
    """Return how many of the paper's own claims have each verdict that can be given."""
    counts = Counter(
        verdict
        for name, verdict in verdicts_of(builds).items()
        if not assessment["claims"][name]["beyond"]
    )
    return " / ".join(str(counts[verdict]) for verdict in _GIVEN)


def _seeds_row(assessment: Mapping[str, Any], readings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The largest difference of two seeds, over the readings."""
    cells = []
    for name in _SHOWN:
        spreads = [spread_of(builds_of(assessment, SAMPLE, row["name"]), name) for row in readings]
        ranges = [spread.high - spread.low for spread in spreads if spread.count > 1]
        cells.append(cell(name, max(ranges) if ranges else None))
    return ["seeds", "", "", "", "", *cells]


def table_readings_claims(
    assessments: Assessments,
    readings: Sequence[Mapping[str, Any]],
    full: Sequence[Mapping[str, Any]],
    **files: Files,
) -> None:
    """Write which reading reproduces which claim: a row a claim and language, a column a reading.

    The verdicts are those that `table_readings` counts; arguments as there.
    """
    require_studies(assessments)
    columns = [(SAMPLE, row, str(number)) for number, row in enumerate(readings, start=1)]
    columns += [(FULL, row, chr(ord("A") + number)) for number, row in enumerate(full)]
    data, shown, blocks = [], [], []
    for title, assessment in assessments.items():
        blocks += [len(shown)] if shown else []
        records = [
            {"language": title, "claim": name, **_verdict_row(assessment, name, columns)}
            for name, claim in assessment["claims"].items()
            if not claim["beyond"]
        ]
        data += records
        shown += [_sign_row(record, new=not number) for number, record in enumerate(records)]
    heads = ["Text", "Claim", *(key for _, _, key in columns)]
    names = {
        key: f"{row['name']} at full size" if scale == FULL else row["name"]
        for scale, row, key in columns
    }
    note = _claims_note(columns)
    frame = pd.DataFrame(shown, columns=heads)
    align = "ll" + "c" * len(columns)
    bare = pd.DataFrame(data).rename(columns=names)
    write_table(frame, bare, align=align, note=note, blocks=blocks, **files)


def _verdict_row(
    assessment: Mapping[str, Any],
    claim: str,
    columns: Sequence[tuple[str, Mapping[str, Any], str]],
) -> dict[str, str]:
    return {
        key: verdicts_of(builds_of(assessment, scale, row["name"])).get(claim, NOT_MEASURABLE)
        for scale, row, key in columns
    }


def _sign_row(record: Mapping[str, str], *, new: bool) -> list[str]:
    """Return a row as printed: a sign for each verdict."""
    language, claim, *verdicts = record.values()
    return [language if new else "", claim, *(_SIGNS[verdict] for verdict in verdicts)]


def _claims_note(columns: Sequence[tuple[str, Mapping[str, Any], str]]) -> str:
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in _SIGNS.items())
    names = [
        f"{key} {row['label']}{', full size' if scale == FULL else ''} ({reading_title(row)})"
        for scale, row, key in columns
    ]
    return f"{signs}; claims.md has the statements. Readings: {'; '.join(names)}."


def reading_title(row: Mapping[str, Any]) -> str:
    """Return a reading's preset and the keys that override it."""
    changed = [f"{key}: {value}" for key, value in overrides(row).items()]
    return f"{row['preset']}, {', '.join(changed)}" if changed else row["preset"]
