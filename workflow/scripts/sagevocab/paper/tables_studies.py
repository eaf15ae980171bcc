"""The studies' tables: readings of the loss, stability and sensitivity of a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.errors import UserError
from sagevocab.paper.evidence import TRAIN, Case
from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.overlaps import Build, Spread, common_share, common_shares, read_build
from sagevocab.paper.studies import (
    FULL,
    QUANTITIES,
    SAMPLE,
    Quantity,
    StudyRun,
    builds_of,
    quantities,
    spread_of,
    verdicts_of,
)
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
Assessments = Mapping[str, Mapping[str, Any]]

_LOSSES = {
    "total": "total",
    "mean_piece_lines": "mean, lines with the piece",
    "mean_string_lines": "mean, lines with the string",
}
_SIGNS = dict(zip(VERDICTS, ("✓", "≈", "✗", NOTHING), strict=True))
_GIVEN = (REPRODUCED, SAME_DIRECTION, NOT_REPRODUCED)
_SYMBOLS = {
    "prune_batch": "k",
    "candidates": "M",
    "rerank_every": "m",
    "retrain_every": "l",
    "initial_size": "n·V",
}
# Of the quantities, those that fit on a page; the CSV has all.
_READINGS_SHOW = (
    "sage_only_word_initial",
    "bpe_only_word_initial",
    "bpe_only_short",
    "sage_only_long",
    "token_ratio",
    "whole_words",
    "long_words",
    "ratio_to_bpe",
)
_SENSITIVITY_SHOWS = (
    "token_ratio",
    "whole_words",
    "sage_only_word_initial",
    "bpe_only_word_initial",
)
_HEADS = {
    "sage_only_word_initial": ("SaGe-only", "word-initial %"),
    "bpe_only_word_initial": ("BPE-only", "word-initial %"),
    "bpe_only_short": ("BPE-only", "length 2–3 %"),
    "sage_only_long": ("SaGe-only", "length ≥ 5 %"),
    "token_ratio": ("Tokens", "SaGe / BPE"),
    "whole_words": ("Words", "whole %"),
    "long_words": ("Words", "≥ 5 pieces %"),
    "ratio_to_bpe": ("Neighbours per occurrence", "SaGe / BPE"),
}
_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def require_studies(rows: Sequence[Any] | Mapping[Any, Any]) -> None:
    """Check that the run has studies.

    Raises:
        UserError: it has none.
    """
    if not rows:
        raise UserError(
            "config key studies: the run has no such study; set studies.enabled to true and list "
            "studies.readings (and studies.varied, studies.values for stability and sensitivity)"
        )


# --- readings


def table_readings(
    assessments: Assessments,
    readings: Sequence[Mapping[str, Any]],
    full: Sequence[Mapping[str, Any]],
    *,
    paper: Mapping[str, Any],
    tex: Files,
    csv: Files,
    md: Files,
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
    header += [_HEADS[name] for name in _READINGS_SHOW]
    shown = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))
    align = "lllllr" + "r" * len(_READINGS_SHOW)
    note = _readings_note(assessments, readings, full)
    files = {"tex": tex, "csv": csv, "md": md}
    write_table(shown, data, align=align, note=note, blocks=blocks, **files)


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
    presets = [
        f"{row['label']} is {row['preset']}" for row in (*readings, *full) if not overrides(row)
    ]
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
        f"English. Presets: {'; '.join(presets) or 'none'}."
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
        yield {**head, "kind": "quantity", "id": quantity.name, "paper": printed, **_bare(spread)}
    verdicts = verdicts_of(builds)
    for name, claim in assessment["claims"].items():
        records = [build["claims"][name] for build in builds]
        yield {
            **head,
            "kind": "claim beyond the paper's languages" if claim["beyond"] else "claim",
            "id": name,
            "paper": claim["paper"],
            **_bare(_numbers(records)),
            "verdict": verdicts[name],
            "verdicts": "; ".join(record["verdict"] for record in records),
        }


def _numbers(records: Sequence[Mapping[str, Any]]) -> Spread:
    values = (record["ours"] for record in records)
    return Spread.of(value for value in values if isinstance(value, (int, float)))


def _bare(spread: Spread) -> Row:
    return {"mean": spread.mean, "lowest": spread.low, "highest": spread.high}


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
    values = [_cell(_BY_NAME[name], paper.get(name)) for name in _READINGS_SHOW]
    return ["the paper", "", "", "", "", *values]


def _baseline_row(label: str, own: Mapping[str, float | None]) -> list[str]:
    values = [_cell(_BY_NAME[name], own.get(name)) for name in _READINGS_SHOW]
    return [label, "", "", "", "", *values]


def _reading_row(assessment: Mapping[str, Any], scale: str, row: Mapping[str, Any]) -> list[str]:
    builds = builds_of(assessment, scale, row["name"])
    settings = reading_settings(row)
    label = row["label"] if scale == SAMPLE else f"{row['label']}, full size"
    values = [_cell(_BY_NAME[name], spread_of(builds, name).mean) for name in _READINGS_SHOW]
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
    for name in _READINGS_SHOW:
        spreads = [spread_of(builds_of(assessment, SAMPLE, row["name"]), name) for row in readings]
        ranges = [spread.high - spread.low for spread in spreads if spread.count > 1]
        cells.append(_cell(_BY_NAME[name], max(ranges) if ranges else None))
    return ["seeds", "", "", "", "", *cells]


def _cell(quantity: Quantity, value: float | None) -> str:
    if value is None or pd.isna(value):
        return NOTHING
    return f"{100 * value:.1f}" if quantity.percent else f"{value:.3f}"


def table_readings_claims(
    assessments: Assessments,
    readings: Sequence[Mapping[str, Any]],
    full: Sequence[Mapping[str, Any]],
    *,
    tex: Files,
    csv: Files,
    md: Files,
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
    files = {"tex": tex, "csv": csv, "md": md}
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


# --- stability


def table_stability(
    rows: Sequence[Mapping[str, Any]], *, sizes: Sequence[int], tex: Files, csv: Files, md: Files
) -> None:
    """Write the pieces that vocabularies have in common across seeds and across samples.

    rows: language, label, preset (None for BPE), seeds and samples: folders of the builds with
    each seed, and on each sample. sizes: initial and final number of pieces.
    """
    require_studies(rows)
    data, shown, blocks = [], [], []
    for row in rows:
        new = not data or row["language"] != data[-1]["language"]
        blocks += [len(shown)] if new and shown else []
        cells = [row["language"] if new else "", row["label"]]
        for across in ("seeds", "samples"):
            shares = common_shares([read_build(folder) for folder in row[across]])
            data += _common_records(row, across, shares)
            cells += [_range_cell(spread) for spread in shares]
        shown.append(cells)
    header = [("Text", ""), ("Vocabulary", "")]
    header += [
        (across, what) for across in ("Seeds", "Samples") for what in ("vocabulary %", "pruned %")
    ]
    frame = pd.DataFrame(shown, columns=pd.MultiIndex.from_tuples(header))
    files = {"tex": tex, "csv": csv, "md": md}
    note = _stability_note(rows, *sizes)
    write_table(frame, pd.DataFrame(data), align="llrrrr", note=note, blocks=blocks, **files)


def _common_records(
    row: Mapping[str, Any], across: str, shares: tuple[Spread, Spread]
) -> Iterator[Row]:
    for what, spread in zip(("vocabulary", "pruned"), shares, strict=True):
        yield {
            "language": row["language"],
            "vocabulary": row["label"],
            "preset": row["preset"] or "",
            "across": across,
            "builds": len(row[across]),
            "pairs": spread.count,
            "of": what,
            **_bare(spread),
        }


def _range_cell(spread: Spread) -> str:
    if not spread.count:
        return NOTHING
    mean = f"{100 * spread.mean:.1f}"
    if spread.count == 1:
        return mean
    return f"{mean} ({100 * spread.low:.1f}–{100 * spread.high:.1f})"


def _stability_note(rows: Sequence[Mapping[str, Any]], initial: int, final: int) -> str:
    presets = dict.fromkeys(f"{row['label']} is {row['preset']}" for row in rows if row["preset"])
    return (
        "Pieces that two vocabularies have in common, of all pieces and of the pruned ones: mean "
        "over the pairs, lowest and highest. Seeds: embeddings trained anew, and lines drawn anew "
        "where the loss samples them. Samples: other lines of the corpus, and all made anew from "
        "them, BPE too. Prunings at random would have "
        f"{100 * final / initial:.0f} % of the vocabulary and "
        f"{100 * (initial - final) / initial:.0f} % of the pruned pieces in common. "
        f"Presets: {'; '.join(presets)}."
    )


# --- sensitivity


def table_sensitivity(
    study: StudyRun,
    rows: Sequence[Mapping[str, Any]],
    *,
    titles: Mapping[str, str],
    window: int,
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write what a reading's vocabulary becomes when one setting is another.

    study: its tokenizers are the builds. rows: one a language and reading: language, label,
    preset, base (the build with the first seed), seeds (those with the others) and variants (key,
    value, usual value, build). titles: names of the languages.
    """
    require_studies(rows)
    data, shown, blocks = [], [], []
    for row in rows:
        blocks += [len(shown)] if shown else []
        records = list(_sensitivity_records(study, row, titles[row["language"]], window))
        data += records
        shown += _sensitivity_rows(records)
    header = [("Text", ""), ("Reading", ""), ("Setting", ""), ("Value", "")]
    header += [("In common with the base", "vocabulary %"), ("In common with the base", "pruned %")]
    header += [_HEADS[name] for name in _SENSITIVITY_SHOWS]
    frame = pd.DataFrame(shown, columns=pd.MultiIndex.from_tuples(header))
    files = {"tex": tex, "csv": csv, "md": md}
    note = _sensitivity_note(data)
    write_table(frame, pd.DataFrame(data), align="lllrrrrrrr", note=note, blocks=blocks, **files)


def _sensitivity_records(
    study: StudyRun, row: Mapping[str, Any], title: str, window: int
) -> Iterator[Row]:
    """Yield the base, the other seeds, then the variants."""
    language = row["language"]
    base = read_build(study.vocabulary(language, row["base"]))
    builds = [("base", None, None, row["base"])]
    builds += [("seed", None, None, name) for name in row["seeds"]]
    builds += [(v["key"], v["value"], v["usual"], v["build"]) for v in row["variants"]]
    for key, value, usual, name in builds:
        build = read_build(study.vocabulary(language, name))
        yield {
            "language": title,
            "label": row["label"],
            "preset": row["preset"],
            "build": name,
            "setting": key,
            "value": value,
            "usual": usual,
            **({} if key == "base" else _in_common(base, build, key != "initial_size")),
            **quantities(Case(study, language, TRAIN, name, {}), window),
        }


def _in_common(base: Build, build: Build, same_start: bool) -> Row:
    """Shares in common with the base; what was pruned compares only from the same beginning."""
    pruned = common_share(base.pruned, build.pruned) if same_start else float("nan")
    return {
        "vocabulary_in_common": common_share(base.pieces, build.pieces),
        "pruned_in_common": pruned,
    }


def _sensitivity_rows(records: Sequence[Row]) -> Iterator[list[str]]:
    base = [record for record in records if record["setting"] == "base"]
    seeds = [record for record in records if record["setting"] == "seed"]
    variants = [record for record in records if record["setting"] not in ("base", "seed")]
    opening = [base[0]["language"], base[0]["label"]]
    groups = [("as configured", "", base)]
    groups += (
        [("another seed", f"mean of {len(seeds)}" if len(seeds) > 1 else "", seeds)]
        if seeds
        else []
    )
    groups += [
        (
            f"{record['setting']} ({_SYMBOLS[record['setting']]})",
            f"{record['value']} for {record['usual']}",
            [record],
        )
        for record in variants
    ]
    for setting, value, group in groups:
        means = pd.DataFrame(group).mean(numeric_only=True)
        common = [means.get(f"{what}_in_common") for what in ("vocabulary", "pruned")]
        yield [
            *opening,
            setting,
            value,
            *(
                NOTHING if share is None or pd.isna(share) else f"{100 * share:.1f}"
                for share in common
            ),
            *(_cell(_BY_NAME[name], means[name]) for name in _SENSITIVITY_SHOWS),
        ]
        opening = ["", ""]


def _sensitivity_note(records: Sequence[Row]) -> str:
    frame = pd.DataFrame(records)
    seeds = frame[frame["setting"] == "seed"]
    yardsticks = [
        f"{language}, {label}: {100 * part['pruned_in_common'].mean():.1f} %"
        for (language, label), part in seeds.groupby(["language", "label"], sort=False)
    ]
    presets = frame[["label", "preset"]].drop_duplicates().itertuples(index=False)
    return (
        "One setting at a time, with the first seed, on the first sample. A change is worth a "
        "word where it leaves fewer pruned pieces in common with the base than another seed does "
        f"({'; '.join(yardsticks) or 'only one seed was run'}). From another initial vocabulary "
        "other pieces are pruned, so only the final ones are compared. "
        f"Presets: {'; '.join(f'{row.label} is {row.preset}' for row in presets)}."
    )
