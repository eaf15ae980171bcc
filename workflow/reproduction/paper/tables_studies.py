"""The tables of the studies: readings of the loss, stability and sensitivity of a vocabulary.

Rows of readings have scale (on a sample or at full size), name, label, preset and the keys that
override it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pandas as pd

from reproduction.analysis.counts import FEWEST_OCCURRENCES
from reproduction.paper.claims_inputs import TRAIN, Case, Results
from reproduction.paper.claims_page import SIGNS
from reproduction.paper.formats import NOTHING
from reproduction.paper.notes import presets_note
from reproduction.paper.statements import VERDICTS
from reproduction.paper.studies import (
    FULL,
    LOSSES,
    QUANTITIES,
    SAMPLE,
    Assessments,
    Spread,
    builds_of,
    common_share,
    common_shares,
    quantities,
    read_build,
    require_studies,
    row_title,
    spread_of,
    verdict_over_seeds,
    verdicts_of,
)
from reproduction.paper.table import Table
from sagevocab.presets import overrides, reading_settings

Row = Mapping[str, Any]

_GIVEN = VERDICTS[:4]  # of claims that could be measured
_SYMBOLS = {
    "prune_batch": "k",
    "candidates": "M",
    "rerank_every": "m",
    "retrain_every": "l",
    "initial_size": "n·V",
}
_SHOWN = [quantity for quantity in QUANTITIES if quantity.head]
_BRIEF = [
    quantity
    for name in ("token_ratio", "whole_words", "sage_only_word_initial", "bpe_only_word_initial")
    for quantity in QUANTITIES
    if quantity.name == name
]

# --- readings


def table_readings(assessments: Assessments, readings: Sequence[Row]) -> Table:
    """Write, for every reading and language, how many claims it reproduces and key quantities.

    assessments: language title -> what `assess_readings` wrote of it.
    """
    require_studies(assessments)
    data = pd.DataFrame(
        record
        for title, assessment in assessments.items()
        for row in readings
        for record in _reading_records(title, assessment, row)
    )
    presets = [(row["label"], row["preset"]) for row in readings if not overrides(row)]
    return Table(
        [
            *("Text", "Reading", "Decoder", "Loss", "Contexts"),
            ("Claims", " / ".join(SIGNS[verdict] for verdict in _GIVEN)),
            *(quantity.head for quantity in _SHOWN),
        ],
        [
            [[title, *row] for row in _language_rows(assessment, readings)]
            for title, assessment in assessments.items()
        ],
        data,
        opening=1,
        note=[
            _readings_note(data.loc[data["scale"] == SAMPLE, "seeds"].max()),
            presets_note(presets) or "Presets: none.",
        ],
    )


def _readings_note(seeds: int) -> str:
    judges = f"most of {seeds} seeds" if seeds > 1 else "its files"
    return (
        "Claims: the paper's statements about the language's training corpus that are reproduced "
        "(✓), have the same direction (≈), are undecided (?), or are not reproduced (✗), by the "
        f"verdict that {judges} give. Numbers are means over the seeds; 'seeds' is the largest "
        "difference of two seeds of one reading. Loss: total over the corpus, or its mean over "
        "the lines that hold the piece as a token or as a string, over all lines or a sample of so "
        "many of them; 'pushed back': pieces at the start of a line are spared. Lengths do not "
        "count the word-start mark. Neighbours per occurrence are means over the pieces that occur "
        f"{FEWEST_OCCURRENCES} times or more, as in the claims: rarer ones can turn the sign. The "
        "paper's numbers are of English."
    )


def _reading_records(title: str, assessment: Row, row: Row) -> Iterator[dict[str, Any]]:
    """Yield the rows of a reading in the CSV: its quantities, then its claims."""
    builds = builds_of(assessment, row)
    if not builds:
        return
    head = {
        "language": title,
        "scale": row["scale"],
        "reading": row["name"],
        "label": row["label"],
        "preset": row["preset"],
        **reading_settings(row),
        "seeds": len(builds),
    }
    for quantity in QUANTITIES:
        numbers = spread_of(builds, quantity.name).record()
        paper = assessment["paper"].get(quantity.name)
        yield {**head, "kind": "quantity", "id": quantity.name, "paper": paper, **numbers}
    for records in zip(*(build["claims"] for build in builds), strict=True):
        claim, verdicts = records[0], [record["verdict"] for record in records]
        ours = (record["ours"] for record in records)
        yield {
            **head,
            "kind": "claim beyond the paper's languages" if claim["beyond"] else "claim",
            "id": claim["id"],
            "paper": claim["paper"],
            **Spread.of(value for value in ours if isinstance(value, (int, float))).record(),
            "verdict": verdict_over_seeds(verdicts),
            "verdicts": "; ".join(verdicts),
        }


def _language_rows(assessment: Row, readings: Sequence[Row]) -> list[list[str]]:
    rows = [_quantities_row("the paper", assessment["paper"])] if assessment["paper"] else []
    for scale, baseline in ((SAMPLE, "BPE"), (FULL, "BPE, full size")):
        if scale not in assessment["baselines"]:
            continue
        listed = [row for row in readings if row["scale"] == scale]
        rows.append(_quantities_row(baseline, assessment["baselines"][scale]))
        rows += [_reading_row(assessment, row) for row in listed]
        rows += [_seeds_row(assessment, listed)] if scale == SAMPLE else []
    return rows


def _quantities_row(
    label: str, values: Row, settings: Sequence[str] = ("", "", "", "")
) -> list[str]:
    return [label, *settings, *(quantity.cell(values.get(quantity.name)) for quantity in _SHOWN)]


def _reading_row(assessment: Row, row: Row) -> list[str]:
    builds, settings = builds_of(assessment, row), reading_settings(row)
    counts = Counter(verdicts_of(builds).values())
    claims = " / ".join(str(counts[verdict]) for verdict in _GIVEN)
    loss = [LOSSES[settings["loss"]]]
    loss += [] if settings["loss_lines"] == "all" else [f"{settings['loss_lines']} of them"]
    loss += ["pushed back"] if settings["push_back_line_start"] else []
    columns = (settings["decoder"], ", ".join(loss), settings["context_matrix"], claims)
    means = {quantity.name: spread_of(builds, quantity.name).mean for quantity in _SHOWN}
    return _quantities_row(row_title(row), means, columns)


def _seeds_row(assessment: Row, readings: Sequence[Row]) -> list[str]:
    """The largest difference of two seeds, over the readings."""
    largest = {}
    for quantity in _SHOWN:
        spreads = [spread_of(builds_of(assessment, row), quantity.name) for row in readings]
        ranges = [spread.high - spread.low for spread in spreads if spread.count > 1]
        largest[quantity.name] = max(ranges) if ranges else None
    return _quantities_row("seeds", largest)


# --- stability


def table_stability(rows: Sequence[Row], *, sizes: Sequence[int]) -> Table:
    """Return the pieces that vocabularies have in common across seeds and across samples.

    rows: language, label, preset (None for BPE), seeds and samples: folders of the builds with
    each seed, and on each sample. sizes: initial and final number of pieces.
    """
    require_studies(rows)
    records = [record for row in rows for record in _stability_records(row)]
    width = len(_STABILITY_COLUMNS)
    cells = [_range_cell(spread) for *_, spread in records]
    shown = [
        [row["language"], row["label"], *cells[number * width : (number + 1) * width]]
        for number, row in enumerate(rows)
    ]
    initial, final = sizes
    presets = ((row["label"], row["preset"]) for row in rows if row["preset"])
    return Table(
        ["Text", "Vocabulary", *_STABILITY_COLUMNS],
        [list(of_text) for _, of_text in groupby(shown, key=itemgetter(0))],
        [{**record, **spread.record()} for record, spread in records],
        opening=1,
        note=[
            "Mean over the pairs of vocabularies, lowest and highest. Seeds: embeddings trained "
            "anew, on lines drawn anew, and other lines where the loss samples them. Samples: "
            "drawn from the corpus independently, so that two share the part of their lines that "
            "one is of the corpus; all is made anew from them, BPE too. Prunings at random would "
            f"have {100 * final / initial:.0f} % of the vocabulary and "
            f"{100 * (initial - final) / initial:.0f} % of the pruned pieces in common.",
            presets_note(presets),
        ],
    )


_STABILITY_COLUMNS = [
    (across, f"{what} %") for across in ("Seeds", "Samples") for what in ("vocabulary", "pruned")
]


def _stability_records(row: Row) -> Iterator[tuple[dict[str, Any], Spread]]:
    """Yield what stands in the CSV of each cell of a row, and the numbers of the cell."""
    for across in ("seeds", "samples"):
        shares = common_shares([read_build(folder) for folder in row[across]])
        for what, spread in zip(("vocabulary", "pruned"), shares, strict=True):
            record = {
                "language": row["language"],
                "vocabulary": row["label"],
                "preset": row["preset"] or "",
                "across": across,
                "builds": len(row[across]),
                "pairs": spread.count,
                "of": what,
            }
            yield record, spread


def _range_cell(spread: Spread) -> str:
    if not spread.count:
        return NOTHING
    mean = f"{100 * spread.mean:.1f}"
    if spread.count == 1:
        return mean
    return f"{mean} ({100 * spread.low:.1f}–{100 * spread.high:.1f})"


# --- sensitivity


def table_sensitivity(
    study: Mapping[str, Any], rows: Sequence[Row], *, titles: Mapping[str, str], window: int
) -> Table:
    """Return what a reading's vocabulary becomes when one setting is another.

    study: of `Results`, its tokenizers are the builds. rows: one a language and reading: language,
    label,
    preset, base (the build with the first seed), seeds (those with the others) and variants (key,
    value, usual value, build). titles: names of the languages.
    """
    require_studies(rows)
    by_row = [
        list(_sensitivity_records(Results(**study), row, titles[row["language"]], window))
        for row in rows
    ]
    common = [("In common with the base", f"{what} %") for what in ("vocabulary", "pruned")]
    data = pd.DataFrame(record for records in by_row for record in records)
    return Table(
        ["Text", "Reading", "Setting", "Value", *common, *(q.head for q in _BRIEF)],
        [list(_sensitivity_rows(records)) for records in by_row],
        data,
        opening=2,
        note=[
            _sensitivity_note(data),
            presets_note(zip(data["label"], data["preset"], strict=True)),
        ],
    )


def _sensitivity_records(
    study: Results, row: Row, title: str, window: int
) -> Iterator[dict[str, Any]]:
    """Yield the base, the other seeds, then the variants."""
    language = row["language"]
    base = read_build(study.vocabulary(language, row["base"]))
    builds = [{"key": "base", "build": row["base"]}]
    builds += [{"key": "seed", "build": name} for name in row["seeds"]]
    for variant in (*builds, *row["variants"]):
        key, name = variant["key"], variant["build"]
        record = {
            "language": title,
            "label": row["label"],
            "preset": row["preset"],
            "build": name,
            "setting": key,
            "value": variant.get("value"),
            "usual": variant.get("usual"),
        }
        if key != "base":
            build = read_build(study.vocabulary(language, name))
            pruned = common_share(base.pruned, build.pruned)
            record["vocabulary_in_common"] = common_share(base.pieces, build.pieces)
            # From another initial vocabulary other pieces are pruned.
            record["pruned_in_common"] = float("nan") if key == "initial_size" else pruned
        yield record | quantities(Case(study, language, TRAIN, name, {}), window)


def _sensitivity_rows(records: Sequence[Row]) -> Iterator[list[str]]:
    """Yield the rows as printed: the base, the mean of the other seeds, each variant."""
    for (setting, value), same in groupby(records, key=itemgetter("setting", "value")):
        group = list(same)
        means = pd.DataFrame(group).mean(numeric_only=True)
        shares = (means.get(f"{what}_in_common") for what in ("vocabulary", "pruned"))
        names = {
            "base": ("as configured", ""),
            "seed": ("another seed", f"mean of {len(group)}" if len(group) > 1 else ""),
        }
        varied = f"{setting} ({_SYMBOLS.get(setting)})", f"{value} for {group[0]['usual']}"
        yield [
            group[0]["language"],
            group[0]["label"],
            *names.get(setting, varied),
            *(NOTHING if pd.isna(share) else f"{100 * share:.1f}" for share in shares),
            *(quantity.cell(means[quantity.name]) for quantity in _BRIEF),
        ]


def _sensitivity_note(data: pd.DataFrame) -> str:
    seeds = data[data["setting"] == "seed"]
    yardsticks = [
        f"{language}, {label}: {100 * part['pruned_in_common'].mean():.1f} %"
        for (language, label), part in seeds.groupby(["language", "label"], sort=False)
    ]
    return (
        "One setting at a time, with the first seed, on the first sample; smaller batches (k) or "
        "fewer between rankings (m) bring more trainings of the embeddings where these are trained "
        "again every l m batches. A change is worth a word where it leaves fewer pruned pieces in "
        "common with the base than another seed does "
        f"({'; '.join(yardsticks) or 'only one seed was run'}). From another initial vocabulary "
        "other pieces are pruned, so only the final ones are compared."
    )
