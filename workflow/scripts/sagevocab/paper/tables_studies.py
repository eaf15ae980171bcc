"""The tables of the studies: readings of the loss, stability and sensitivity of a vocabulary.

Rows of readings have scale (on a sample or at full size), name, label, preset and the keys that
override it. files: the paths to write, as `write_table` takes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from sagevocab.paper.evidence import TRAIN, Case, Run
from sagevocab.paper.formats import NOTHING, Files, write_table
from sagevocab.paper.notes import presets_note
from sagevocab.paper.studies import (
    FULL,
    QUANTITIES,
    SAMPLE,
    Assessments,
    Build,
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
from sagevocab.paper.verdicts import (
    NOT_MEASURABLE,
    NOT_REPRODUCED,
    REPRODUCED,
    SAME_DIRECTION,
    VERDICTS,
)
from sagevocab.vocab.presets import overrides, reading_settings

Row = Mapping[str, Any]

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
_SHOWN = [quantity for quantity in QUANTITIES if quantity.head]
_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
_BRIEF = ("token_ratio", "whole_words", "sage_only_word_initial", "bpe_only_word_initial")

# --- readings


def table_readings(assessments: Assessments, readings: Sequence[Row], **files: Files) -> None:
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
    rows, blocks = [], []
    for title, assessment in assessments.items():
        blocks += [len(rows)] if rows else []
        own = _language_rows(assessment, readings)
        rows += [[title if number == 0 else "", *row] for number, row in enumerate(own)]
    header = [("Text", ""), ("Reading", ""), ("Decoder", ""), ("Loss", ""), ("Contexts", "")]
    header += [("Claims", " / ".join(_SIGNS[verdict] for verdict in _GIVEN))]
    header += [quantity.head for quantity in _SHOWN]
    shown = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))
    align = "lllllr" + "r" * len(_SHOWN)
    half = 6 + len(_SHOWN) // 2
    parts = [range(6), [0, 1, *range(6, half)], [0, 1, *range(half, len(align))]]
    note = _readings_note(data, readings)
    write_table(shown, data, align=align, note=note, blocks=blocks, parts=parts, **files)


def _readings_note(data: pd.DataFrame, readings: Sequence[Row]) -> str:
    seeds = data.loc[data["scale"] == SAMPLE, "seeds"].max()
    judges = f"most of {seeds} seeds" if seeds > 1 else "its files"
    presets = [(row["label"], row["preset"]) for row in readings if not overrides(row)]
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
    counts = Counter(verdicts_of(builds, beyond=False).values())
    claims = " / ".join(str(counts[verdict]) for verdict in _GIVEN)
    loss = [_LOSSES[settings["loss"]]]
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


def table_readings_claims(
    assessments: Assessments, readings: Sequence[Row], **files: Files
) -> None:
    """Write which reading reproduces which claim: a row a claim and language, a column a reading.

    The verdicts are those that `table_readings` counts; arguments as there.
    """
    require_studies(assessments)
    samples = [row for row in readings if row["scale"] == SAMPLE]
    full = [row for row in readings if row["scale"] == FULL]
    columns = {str(number): row for number, row in enumerate(samples, start=1)}
    columns |= {chr(ord("A") + number): row for number, row in enumerate(full)}
    data, shown, blocks = [], [], []
    for title, assessment in assessments.items():
        blocks += [len(shown)] if shown else []
        named = [verdicts_of(builds_of(assessment, row), beyond=False) for row in columns.values()]
        for number, claim in enumerate(named[0]):
            given = [verdicts.get(claim, NOT_MEASURABLE) for verdicts in named]
            data.append(
                {"language": title, "claim": claim, **dict(zip(columns, given, strict=True))}
            )
            shown.append(["" if number else title, claim, *map(_SIGNS.get, given)])
    names = {
        key: f"{row['name']} at full size" if row["scale"] == FULL else row["name"]
        for key, row in columns.items()
    }
    frame = pd.DataFrame(shown, columns=["Text", "Claim", *columns])
    align = "ll" + "c" * len(columns)
    bare = pd.DataFrame(data).rename(columns=names)
    write_table(frame, bare, align=align, note=_claims_note(columns), blocks=blocks, **files)


def _claims_note(columns: Mapping[str, Row]) -> str:
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in _SIGNS.items())
    names = []
    for key, row in columns.items():
        changed = [f"{name}: {value}" for name, value in overrides(row).items()]
        names.append(f"{key} {row_title(row)} ({', '.join([row['preset'], *changed])})")
    return f"{signs}; claims.md has the statements. Readings: {'; '.join(names)}."


# --- stability


def table_stability(rows: Sequence[Row], *, sizes: Sequence[int], **files: Files) -> None:
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
            for what, spread in zip(("vocabulary", "pruned"), shares, strict=True):
                cells.append(_range_cell(spread))
                data.append(
                    {
                        "language": row["language"],
                        "vocabulary": row["label"],
                        "preset": row["preset"] or "",
                        "across": across,
                        "builds": len(row[across]),
                        "pairs": spread.count,
                        "of": what,
                        **spread.record(),
                    }
                )
        shown.append(cells)
    header = [("Text", ""), ("Vocabulary", "")]
    header += [
        (across, what) for across in ("Seeds", "Samples") for what in ("vocabulary %", "pruned %")
    ]
    frame = pd.DataFrame(shown, columns=pd.MultiIndex.from_tuples(header))
    note = _stability_note(rows, *sizes)
    write_table(frame, pd.DataFrame(data), align="llrrrr", note=note, blocks=blocks, **files)


def _range_cell(spread: Spread) -> str:
    if not spread.count:
        return NOTHING
    mean = f"{100 * spread.mean:.1f}"
    if spread.count == 1:
        return mean
    return f"{mean} ({100 * spread.low:.1f}–{100 * spread.high:.1f})"


def _stability_note(rows: Sequence[Row], initial: int, final: int) -> str:
    return (
        "Pieces that two vocabularies have in common, of all pieces and of the pruned ones: mean "
        "over the pairs, lowest and highest. Seeds: embeddings trained anew, on lines drawn anew, "
        "and other lines where the loss samples them. Samples: drawn from the corpus "
        "independently, so that two share the part of their lines that one is of the corpus; all "
        "is made anew from them, BPE too. Prunings at random would have "
        f"{100 * final / initial:.0f} % of the vocabulary and "
        f"{100 * (initial - final) / initial:.0f} % of the pruned pieces in common. "
        + presets_note((row["label"], row["preset"]) for row in rows if row["preset"])
    )


# --- sensitivity


def table_sensitivity(
    study: Run, rows: Sequence[Row], *, titles: Mapping[str, str], window: int, **files: Files
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
    header += [_BY_NAME[name].head for name in _BRIEF]
    frame = pd.DataFrame(shown, columns=pd.MultiIndex.from_tuples(header))
    note = _sensitivity_note(data)
    write_table(frame, pd.DataFrame(data), align="lllrrrrrrr", note=note, blocks=blocks, **files)


def _sensitivity_records(study: Run, row: Row, title: str, window: int) -> Iterator[dict[str, Any]]:
    """Yield the base, the other seeds, then the variants."""
    language = row["language"]
    base = read_build(study.vocabulary(language, row["base"]))
    builds = [{"key": "base", "build": row["base"]}]
    builds += [{"key": "seed", "build": name} for name in row["seeds"]]
    for variant in (*builds, *row["variants"]):
        key, name = variant["key"], variant["build"]
        build = read_build(study.vocabulary(language, name))
        yield {
            "language": title,
            "label": row["label"],
            "preset": row["preset"],
            "build": name,
            "setting": key,
            "value": variant.get("value"),
            "usual": variant.get("usual"),
            **({} if key == "base" else _in_common(base, build, key != "initial_size")),
            **quantities(Case(study, language, TRAIN, name, {}), window),
        }


def _in_common(base: Build, build: Build, same_start: bool) -> dict[str, float]:
    """Shares in common with the base; what was pruned compares only from the same beginning."""
    pruned = common_share(base.pruned, build.pruned) if same_start else float("nan")
    return {
        "vocabulary_in_common": common_share(base.pieces, build.pieces),
        "pruned_in_common": pruned,
    }


def _sensitivity_rows(records: Sequence[Row]) -> Iterator[list[str]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    seeds = sum(record["setting"] == "seed" for record in records)
    names = {
        "base": ("as configured", ""),
        "seed": ("another seed", f"mean of {seeds}" if seeds > 1 else ""),
    }
    for record in records:
        key, value = record["setting"], f"{record['value']} for {record['usual']}"
        name = names.get(key) or (f"{key} ({_SYMBOLS[key]})", value)
        groups.setdefault(name, []).append(record)
    opening = [records[0]["language"], records[0]["label"]]
    for name, group in groups.items():
        means = pd.DataFrame(group).mean(numeric_only=True)
        common = [means.get(f"{what}_in_common") for what in ("vocabulary", "pruned")]
        yield [
            *opening,
            *name,
            *map(_percent, common),
            *(_BY_NAME[q].cell(means[q]) for q in _BRIEF),
        ]
        opening = ["", ""]


def _percent(share: float | None) -> str:
    return NOTHING if share is None or pd.isna(share) else f"{100 * share:.1f}"


def _sensitivity_note(records: Sequence[Row]) -> str:
    frame = pd.DataFrame(records)
    seeds = frame[frame["setting"] == "seed"]
    yardsticks = [
        f"{language}, {label}: {100 * part['pruned_in_common'].mean():.1f} %"
        for (language, label), part in seeds.groupby(["language", "label"], sort=False)
    ]
    return (
        "One setting at a time, with the first seed, on the first sample; smaller batches (k) or "
        "fewer between rankings (m) bring more trainings of the embeddings where these are trained "
        "again every l m batches. A change is worth a "
        "word where it leaves fewer pruned pieces in common with the base than another seed does "
        f"({'; '.join(yardsticks) or 'only one seed was run'}). From another initial vocabulary "
        "other pieces are pruned, so only the final ones are compared. "
        + presets_note(zip(frame["label"], frame["preset"], strict=True))
    )
