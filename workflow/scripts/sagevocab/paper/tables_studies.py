"""The studies' tables of how stable and how sensitive a vocabulary is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.paper.evidence import TRAIN, Case
from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.studies import (
    Build,
    Spread,
    StudyRun,
    common_share,
    common_shares,
    quantities,
    read_build,
)
from sagevocab.paper.study_cells import HEADS, bare, cell, require_studies

Files = str | Path
Row = dict[str, Any]

_SYMBOLS = {
    "prune_batch": "k",
    "candidates": "M",
    "rerank_every": "m",
    "retrain_every": "l",
    "initial_size": "n·V",
}
_SHOWN = (
    "token_ratio",
    "whole_words",
    "sage_only_word_initial",
    "bpe_only_word_initial",
)


# --- stability


def table_stability(
    rows: Sequence[Mapping[str, Any]], *, sizes: Sequence[int], **files: Files
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
            **bare(spread),
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
        "over the pairs, lowest and highest. Seeds: embeddings trained anew, on lines drawn anew, "
        "and other lines where the loss samples them. Samples: drawn from the corpus "
        "independently, so that two share the part of their lines that one is of the corpus; all "
        "is made anew from them, BPE too. Prunings at random would have "
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
    **files: Files,
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
    header += [HEADS[name] for name in _SHOWN]
    frame = pd.DataFrame(shown, columns=pd.MultiIndex.from_tuples(header))
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
            *(cell(name, means[name]) for name in _SHOWN),
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
        "One setting at a time, with the first seed, on the first sample; smaller batches (k) or "
        "fewer between rankings (m) bring more trainings of the embeddings where these are trained "
        "again every l m batches. A change is worth a "
        "word where it leaves fewer pruned pieces in common with the base than another seed does "
        f"({'; '.join(yardsticks) or 'only one seed was run'}). From another initial vocabulary "
        "other pieces are pruned, so only the final ones are compared. "
        f"Presets: {'; '.join(f'{row.label} is {row.preset}' for row in presets)}."
    )
