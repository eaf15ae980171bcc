"""Tables of pieces, settings and costs, one function a table, named as the rule that makes it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis.vocabulary import frequency_differences
from reproduction.paper.formats import NOTHING, Files, number
from reproduction.paper.inputs import (
    BASELINE,
    BPE_RULE,
    SAGE_RULES,
    of_language,
    require_comparison,
)
from reproduction.paper.table import Table
from sagevocab.errors import UserError

# --- frequencies


def table_frequencies(
    panels: Mapping[str, Mapping[str, pd.Series]],
    paper: Mapping[str, Any],
    *,
    languages: Mapping[str, str],
    top: int,
    notes: Sequence[str] = (),
) -> Table:
    """Return the pieces whose frequency differs most between BPE and each SaGe tokenizer.

    panels: {language title: {tokenizer label: count by piece}}, BPE first. paper: the paper's
    values. languages: code -> title. notes: sentences that end the note.
    Source: paper, Section 4, "Token Frequency".
    """
    require_comparison(panels)
    paper_pieces = of_language(paper["frequency_pieces"], languages)
    data = pd.concat(
        _frequency_block(title, panel, label, paper_pieces.get(title, {}), top)
        for title, panel in panels.items()
        for label in list(panel)[1:]
    )
    baseline = next(iter(next(iter(panels.values()))))
    sides = [f"More frequent than with {baseline}", f"Less frequent than with {baseline}"]
    parts = [(side, part) for side in sides for part in ("piece", "tokens", "difference")]
    by_tokenizer = data.groupby(["language", "tokenizer"], sort=False)
    note = (
        f"Tokens of the training corpus; difference: the tokenizer named minus {baseline}. "
        "An asterisk marks the twelve pieces that the paper prints; the rows 'paper' give all of "
        "them, those it calls more frequent on the left."
    )
    return Table(
        ["Language", "Tokenizer", "Rank", *parts],
        [list(_frequency_rows(*names, rows)) for names, rows in by_tokenizer],
        data,
        opening=2,
        note=[note, *notes],
    )


def _frequency_block(
    title: str,
    panel: Mapping[str, pd.Series],
    label: str,
    printed: Mapping[str, Sequence[str]],
    top: int,
) -> pd.DataFrame:
    """Rows of one language and tokenizer: the largest differences each way, then the paper's."""
    baseline = next(iter(panel.values()))
    ranked = frequency_differences(panel[label], baseline)
    printed = {name: list(printed.get(name, [])) for name in ("sage", "bpe")}
    known = {piece for pieces in printed.values() for piece in pieces}
    chosen = {
        ("more", "rank"): ranked.head(top),
        ("less", "rank"): ranked[::-1].head(top),
        ("more", "paper"): ranked.reindex(printed["sage"], fill_value=0),
        ("less", "paper"): ranked.reindex(printed["bpe"], fill_value=0),
    }
    parts = [
        frame.reset_index().assign(
            direction=direction, listed=listed, rank=range(1, len(frame) + 1)
        )
        for (direction, listed), frame in chosen.items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.rename(columns={"first": "tokens", "second": "baseline_tokens"})
    rows["in_paper"] = rows["piece"].isin(known)
    rows.insert(0, "language", title)
    rows.insert(1, "tokenizer", label)
    order = ["language", "tokenizer", "listed", "direction", "rank", "piece"]
    return rows[[*order, "tokens", "baseline_tokens", "difference", "in_paper"]]


def _frequency_rows(language: str, tokenizer: str, rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the rows of a block as printed: a piece more frequent beside one less frequent."""
    for (listed, rank), pair in rows.groupby(["listed", "rank"], sort=False):
        more, less = (_frequency_cells(pair, side) for side in ("more", "less"))
        name = str(rank) if listed == "rank" else "paper"
        yield [language, tokenizer, name, *more, *less]


def _frequency_cells(pair: pd.DataFrame, side: str) -> list[str]:
    found = pair[pair["direction"] == side]
    if found.empty:
        return [NOTHING] * 3
    row = found.iloc[0]
    mark = "*" if row["in_paper"] and row["listed"] == "rank" else ""
    return [row["piece"] + mark, f"{row['tokens']:,}", number(row["difference"], "+,")]


# --- settings

SETTINGS_NOTE = (
    "This run's values come from its configuration, under the key given; the paper's from its "
    f"Appendix A. {NOTHING}: the paper or the configuration has no such setting."
)
# What the code does where the paper's appendix has a setting and the configuration has none.
_FIXED_SETTINGS = {
    "vocabulary": {},
    "pretraining": {
        "layer_norm_type": "pytorch",
        "model_type": "roberta-prelayernorm, MLM",
        "encoder_ln_mode": "pre-ln",
        "optimizer_type": "adamw",
        "deepspeed": "no",
    },
    "finetuning": {"evaluation_strategy": "after the last update"},
}


def table_hyperparameters(
    settings: Mapping[str, Any],
    *,
    stage: str,
    paper: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Table:
    """Return the settings of a stage beside the paper's (Appendix A).

    settings: the part of the configuration that counts, nested as there. stage: `vocabulary`,
    `pretraining` or `finetuning`. paper: the paper's values; of the stage rows of key, value,
    optional `printed` (how the paper prints it) and `config` (the same setting here).
    """
    printed = paper["hyperparameters"][f"table_hyperparameters_{stage}"]
    flat = dict(flat_settings(settings))
    fixed = dict(_FIXED_SETTINGS[stage])
    if stage == "pretraining":
        fixed["lr_schedule"] = "steps" if flat.get("lm.pretrain.hours") is None else "time"
    data = pd.DataFrame(list(_setting_rows(flat, printed, fixed)))
    shown = data.fillna(NOTHING).values.tolist()
    stated = int(data["paper"].notna().sum())
    return Table(
        ["Setting", "Configuration key", "This run", "Paper"],
        [shown[:stated], shown[stated:]],
        data,
        note=[SETTINGS_NOTE, *notes],
    )


def _setting_rows(
    flat: Mapping[str, Any], paper: Sequence[Mapping[str, Any]], fixed: Mapping[str, str]
) -> Iterator[dict[str, str | None]]:
    """Yield the paper's settings in its order, then those that only this pipeline has."""
    named = {row["config"] for row in paper if "config" in row}
    for row in paper:
        key = row.get("config")
        value = flat.get(key) if key else fixed.get(row["key"])
        printed = format_setting(row.get("printed", row["value"]))
        yield {"setting": row["key"], "key": key, "run": format_setting(value), "paper": printed}
    for key, value in flat.items():
        if key not in named and value is not None:
            run = format_setting(value)
            yield {"setting": _setting_name(key), "key": key, "run": run, "paper": None}


def _setting_name(key: str) -> str:
    """Return a setting's name: the last part of its key, and the tokenizer of a stanza's."""
    *_, owner, setting = ["", *key.split(".")]
    return f"{setting} of {owner}" if key.startswith("tokenizer_settings.") else setting


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) of nested settings, in their order."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def format_setting(value: Any) -> str | None:
    """Return a setting as text: true and false, members of a list, short numbers; None if unset."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_setting, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


# --- costs

COSTS_NOTE = (
    "Wall-clock time of all jobs of a stage added up, and the largest resident memory of one job. "
    "These numbers come from clocks: they differ between equal runs, and other work on the "
    "machine counts. Jobs whose results stood already are not in it."
)


def table_costs(
    benchmarks: Files,
    *,
    stages: Sequence[str],
    languages: Mapping[str, str],
    tokenizers: Mapping[str, str],
    starts: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Table:
    """Return time and memory of every stage, SaGe against BPE.

    benchmarks: folder of Snakemake's benchmark files, `{rule}/{wildcards}.tsv`. stages: rules in
    the order of the table. languages: code -> title. tokenizers: name -> label, BPE first.
    starts: SaGe tokenizer -> name of the embeddings that it starts from. notes: sentences that end
    the note.
    Source: paper, "Limitations": SaGe takes about ten times as long as BPE.
    """
    jobs = read_benchmarks(benchmarks, stages, languages, tokenizers)
    of = {name: _jobs_of(jobs, name, starts.get(name)) for name in tokenizers}
    rows = [_stage_row(jobs, stage, of) for stage in stages if stage in set(jobs["rule"])]
    vocabularies = [_vocabulary_row(jobs, code, languages[code], of) for code in languages]
    sides = [*tokenizers.values(), "all"]
    return Table(
        ["Stage", "Jobs", *((side, unit) for side in sides for unit in ("time", "memory"))],
        [rows, vocabularies],
        jobs,
        note=[COSTS_NOTE, *notes],
    )


def read_benchmarks(
    folder: Files,
    stages: Sequence[str],
    languages: Mapping[str, str],
    tokenizers: Mapping[str, str],
) -> pd.DataFrame:
    """Return rule, job, language, tokenizer, seconds, memory (MB): one row a job of the stages.

    Language and tokenizer are found among the job's wildcards; empty where it has none.
    """
    jobs = []
    for path in sorted(Path(folder).rglob("*.tsv")):
        rule, *wildcards = path.relative_to(folder).with_suffix("").parts
        if rule not in stages:
            continue
        names = [name for part in wildcards for name in part.split(".")]
        jobs.append(
            {
                "rule": rule,
                "job": "/".join(wildcards),
                "language": next((name for name in names if name in languages), None),
                "tokenizer": _tokenizer_of(names, tokenizers),
                **_read_benchmark(path),
            }
        )
    columns = ["rule", "job", "language", "tokenizer", "seconds", "memory"]
    return pd.DataFrame(jobs, columns=columns)


def _tokenizer_of(names: Sequence[str], tokenizers: Collection[str]) -> str | None:
    """Return the tokenizer among a job's wildcards; with a further seed it is another one."""
    for name, after in zip(names, [*names[1:], ""], strict=True):
        if name in tokenizers:
            return f"{name}.{after}" if re.fullmatch("seed[0-9]+", after) else name
    return None


def _read_benchmark(path: Path) -> dict[str, float]:
    """Mean over repetitions; a job too short to be sampled has no memory."""
    try:
        frame = pd.read_csv(path, sep="\t", na_values=["-", "NA"])
        return {"seconds": float(frame["s"].mean()), "memory": float(frame["max_rss"].max())}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no benchmark ({error}); delete it and run again") from error


def _jobs_of(jobs: pd.DataFrame, tokenizer: str, start: str | None) -> pd.Series:
    """Return which jobs are a tokenizer's; it may share the embeddings that it starts from."""
    return (jobs["tokenizer"] == tokenizer) | (jobs["job"].str.partition(".")[2] == start)


def _stage_row(jobs: pd.DataFrame, stage: str, of: Mapping[str, pd.Series]) -> list[str]:
    own = jobs["rule"] == stage
    cells = [cell for mine in of.values() for cell in _cost_cells(jobs[own & mine])]
    return [stage, str(own.sum()), *cells, *_cost_cells(jobs[own])]


def _vocabulary_row(
    jobs: pd.DataFrame, language: str, title: str, of: Mapping[str, pd.Series]
) -> list[str]:
    """Return the costs of each vocabulary of a language, and their ratio to those of BPE.

    A job of the language alone made what all are pruned from.
    """
    own = {
        name: jobs[
            jobs["rule"].isin((BPE_RULE,) if name == BASELINE else SAGE_RULES)
            & (jobs["language"] == language)
            & (mine | (jobs["job"] == language))
        ]
        for name, mine in of.items()
    }
    baseline = own[BASELINE]["seconds"].sum() if BASELINE in own else 0
    cells = []
    for name, rows in own.items():
        time, memory = _cost_cells(rows)
        if baseline > 0 and len(rows) and name != BASELINE:
            time += f" ({rows['seconds'].sum() / baseline:.3g} ×)"
        cells += [time, memory]
    return [f"vocabulary, {title}", "", *cells, "", ""]


def _cost_cells(jobs: pd.DataFrame) -> list[str]:
    if jobs.empty:
        return [NOTHING, NOTHING]
    return [format_seconds(jobs["seconds"].sum()), format_megabytes(jobs["memory"].max())]


def format_seconds(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours, by its size."""
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (float("inf"), 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return NOTHING


def format_megabytes(megabytes: float) -> str:
    """Return an amount of memory in MB or GB."""
    if pd.isna(megabytes):
        return NOTHING
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
