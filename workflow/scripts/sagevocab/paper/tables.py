"""The paper's tables of frequencies and scores, one function a table, named as its target."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import pandas as pd
import yaml

from sagevocab.analysis.vocabulary import frequency_differences
from sagevocab.errors import UserError
from sagevocab.paper.formats import MINUS, NOTHING, write_table
from sagevocab.paper.panels import require_comparison

Files = str | Path
_UNITS = {
    "f1": "F1",
    "span_f1": "F1",
    "accuracy": "Acc. %",
    "matthews": "Matt.",
    "pearson": "Pear.",
}


_PAPER_NAMES = {"bpe": "BPE", "sage": "SaGe"}
_SCORE_KEYS = ("task", "tokenizer", "seed", "value", "majority")


class Task(TypedDict):
    """An evaluation task as a table's column."""

    name: str
    label: str
    metric: str
    synthetic: bool


def read_paper_values(path: str | Path) -> dict:
    """Read what the paper printed (workflow/resources/paper_values.yaml).

    Raises:
        UserError: the file is missing or no YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read ({error}); restore it from git") from error


def table_frequencies(
    panels: Mapping[str, Mapping[str, pd.Series]],
    *,
    paper_pieces: Mapping[str, Mapping[str, Sequence[str]]],
    top: int,
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the pieces whose frequency differs most between BPE and each SaGe tokenizer.

    panels: {language title: {tokenizer label: count by piece}}, BPE first. paper_pieces: {language
    title: {"sage": pieces printed as more frequent in SaGe, "bpe": in BPE}}.
    Source: paper, Section 4, "Token Frequency".
    """
    require_comparison(panels)
    data = pd.concat(
        _frequency_block(title, panel, label, paper_pieces.get(title, {}), top)
        for title, panel in panels.items()
        for label in list(panel)[1:]
    )
    baseline = next(iter(next(iter(panels.values()))))
    shown, blocks = _frequency_rows(data, baseline)
    note = (
        f"Tokens of the training corpus; difference: the tokenizer named minus {baseline}. "
        "An asterisk marks the twelve pieces that the paper prints; the rows 'paper' give all of "
        "them, those it calls more frequent on the left."
    )
    files = {"tex": tex, "csv": csv, "md": md}
    write_table(shown, data, align="llrlrrlrr", note=note, blocks=blocks, **files)


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


def _frequency_rows(data: pd.DataFrame, baseline: str) -> tuple[pd.DataFrame, list[int]]:
    """Return the table as printed and the rows that begin a block."""
    rows, blocks = [], []
    keys = ["language", "tokenizer", "listed"]
    for (language, tokenizer, listed), block in data.groupby(keys, sort=False):
        if rows and listed == "rank":
            blocks.append(len(rows))
        for rank, pair in block.groupby("rank", sort=True):
            more, less = (_frequency_cells(pair, side) for side in ("more", "less"))
            name = str(rank) if listed == "rank" else "paper"
            first = listed == "rank" and rank == 1
            rows.append([*((language, tokenizer) if first else ("", "")), name, *more, *less])
    sides = [f"More frequent than with {baseline}", f"Less frequent than with {baseline}"]
    header = [("Language", ""), ("Tokenizer", ""), ("Rank", "")]
    header += [(side, part) for side in sides for part in ("piece", "tokens", "difference")]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header)), blocks


def _frequency_cells(pair: pd.DataFrame, side: str) -> list[str]:
    found = pair[pair["direction"] == side]
    if found.empty:
        return [NOTHING] * 3
    row = found.iloc[0]
    mark = "*" if row["in_paper"] and row["listed"] == "rank" else ""
    difference = f"{row['difference']:+,}".replace("-", MINUS)
    return [row["piece"] + mark, f"{row['tokens']:,}", difference]


def table_sequence(
    scores: Iterable[Mapping],
    *,
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the scores of the sequence-level tasks, mean and spread over the seeds.

    scores: records of task, tokenizer, seed, value and majority (fractions; majority: what the
    most frequent answer scores). labels: tokenizer name -> label.
    paper: tokenizer name -> task -> value printed (a fraction). Source: paper, Section 5.
    """
    _write_scores(scores, tasks, labels, paper, {"tex": tex, "csv": csv, "md": md})


def table_ner(
    scores: Iterable[Mapping],
    *,
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the span F1 of named entity recognition; arguments as in `table_sequence`.

    Source: paper, Section 5.
    """
    _write_scores(scores, tasks, labels, paper, {"tex": tex, "csv": csv, "md": md})


def _write_scores(
    scores: Iterable[Mapping],
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
    files: Mapping[str, Files],
) -> None:
    if not tasks or not labels:
        raise UserError(
            "config keys lm.enabled, lm.tokenizers and tasks: they leave no scores for this table; "
            "enable the models and list tasks of its kind"
        )
    data = summarise_scores(scores, tasks, labels, paper)
    ours = [[label, *_our_cells(data, name, tasks)] for name, label in labels.items()]
    printed = [
        [f"{_PAPER_NAMES[name]} (paper)", *_paper_cells(values, tasks)]
        for name, values in paper.items()
    ]
    ours.append(["Most frequent answer", *_majority_cells(data, tasks)])
    header = [("", "", ""), *(_task_header(task) for task in tasks)]
    shown = pd.DataFrame(ours + printed, columns=pd.MultiIndex.from_tuples(header))
    note = (
        f"{_averaging(data['seeds'])}, validation set; the paper gives the mean of three runs on "
        "the dev set."
    )
    align = "l" + "r" * len(tasks)
    write_table(shown, data, align=align, note=note, blocks=[len(ours)], **files)


def _averaging(seeds: pd.Series) -> str:
    if seeds.max() == 1:
        return "One fine-tuning seed"
    fewest, most = seeds.min(), seeds.max()
    number = most if fewest == most else f"{fewest} to {most}"
    return f"Mean ± standard deviation over {number} fine-tuning seeds"


def read_scores(paths: Iterable[Files]) -> list[dict]:
    """Read score files: records of task, tokenizer, seed, value, majority.

    Raises:
        UserError: a file is missing or holds no score.
    """
    scores = []
    for path in paths:
        try:
            score = json.loads(Path(path).read_text(encoding="utf-8"))
            scores.append({key: score[key] for key in _SCORE_KEYS})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: holds no score ({error}); delete it, run again") from error
    return scores


def summarise_scores(
    scores: Iterable[Mapping],
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return mean, standard deviation (n - 1; empty for one seed) and seeds of every cell.

    The paper's value stands beside it where there is one. Raises UserError where a score lacks.
    """
    frame = pd.DataFrame([dict(score) for score in scores])
    rows = []
    for name, label in labels.items():
        for task in tasks:
            found = frame[(frame["tokenizer"] == name) & (frame["task"] == task["name"])]
            if found.empty:
                raise UserError(f"scores/{name}/{task['name']}: none; run the target downstream")
            rows.append(
                {
                    "tokenizer": name,
                    "label": label,
                    "task": task["name"],
                    "metric": task["metric"],
                    "synthetic": task["synthetic"],
                    "mean": found["value"].mean(),
                    "sd": found["value"].std(ddof=1),
                    "seeds": found["seed"].nunique(),
                    "majority": found["majority"].mean(),
                    "paper": paper.get(name, {}).get(task["name"]),
                }
            )
    return pd.DataFrame(rows)


def _task_header(task: Task) -> tuple[str, str, str]:
    unit = _UNITS.get(task["metric"], task["metric"])
    return task["label"], unit, "synthetic" if task["synthetic"] else ""


def _our_cells(data: pd.DataFrame, tokenizer: str, tasks: Sequence[Task]) -> list[str]:
    own = data[data["tokenizer"] == tokenizer].set_index("task")
    return [_mean_and_spread(own.loc[task["name"]], task["metric"]) for task in tasks]


def _mean_and_spread(row: pd.Series, metric: str) -> str:
    mean = format_score(row["mean"], metric)
    return mean if pd.isna(row["sd"]) else f"{mean} ± {format_score(row['sd'], metric)}"


def _majority_cells(data: pd.DataFrame, tasks: Sequence[Task]) -> list[str]:
    by_task = data.groupby("task")["majority"].mean()
    return [format_score(by_task[task["name"]], task["metric"]) for task in tasks]


def _paper_cells(values: Mapping[str, float], tasks: Sequence[Task]) -> list[str]:
    return [
        format_score(values[task["name"]], task["metric"]) if task["name"] in values else NOTHING
        for task in tasks
    ]


def format_score(value: float, metric: str) -> str:
    """Return a fraction as the paper prints it: 62.76 for an accuracy, .7918 for the rest."""
    if pd.isna(value):
        return NOTHING
    if metric == "accuracy":
        return f"{100 * value:.2f}"
    text = f"{value:.4f}".replace("-", MINUS)
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
