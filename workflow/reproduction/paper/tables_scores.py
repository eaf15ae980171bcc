"""The paper's tables of scores (Section 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.analysis.scores import require_scores
from reproduction.paper.differences import FINE_TUNED, UNITS, Task, read_differences
from reproduction.paper.formats import NOTHING, Files, number
from reproduction.paper.inputs import BASELINE
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table

_PAPER_NAMES = {"bpe": "BPE", "sage": "SaGe"}
_SIZES = ("train_examples", "examples", "truncated_examples")
_MARK = "*"


# --- scores


def table_scores(
    scores: Iterable[Mapping],
    *,
    tasks: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    paper: Mapping[str, Any],
    table: str,
    significant: Collection[tuple[str, str]],
    notes: Sequence[str],
) -> Table:
    """Return the scores of some tasks, mean and spread over the seeds.

    scores: records of task, tokenizer, seed, value and majority (fractions; majority: what the
    most frequent answer scores). tasks: fields of `Task`. labels: tokenizer name -> label.
    paper: the paper's values; table: which of its tables. significant: pairs of tokenizer
    and task whose difference from the baseline is (see `table_differences`). notes: further
    sentences, of the models' budget and the presets.
    Source: paper, Section 5, one table for sequences and one for named entities.
    """
    columns = [Task(**task) for task in tasks]
    values = paper["tables"][table]
    data = summarise_scores(scores, columns, labels, values)
    pairs = zip(data["label"], data["task"], strict=True)
    data["significant"] = [pair in significant for pair in pairs]
    rows = [
        [label, *(_score_cell(data.loc[name, task.name]) for task in columns)]
        for name, label in labels.items()
    ]
    majority = data.groupby(level="task")["majority"].mean()
    rows.append(["Most frequent answer", *_printed_cells(majority, columns)])
    printed = [
        [f"{_PAPER_NAMES[name]} (paper)", *_printed_cells(values, columns)]
        for name, values in values.items()
    ]
    note = (
        f"{_averaging(data['seeds'])}, validation set; the paper gives the mean of three runs on "
        "the dev set."
    )
    return Table(
        ["", *map(_task_header, columns)],
        [rows, printed],
        data,
        note=[note, _meaning_of_mark(labels), *notes, _truncation(data, columns)],
    )


def _truncation(data: pd.DataFrame, tasks: Sequence[Task]) -> str:
    """Name the tasks whose inputs were cut: a tokenizer with more tokens loses more of them."""
    most = (data["truncated_examples"] / data["examples"]).groupby(level="task").max()
    cut = [f"{task.label} {100 * most[task.name]:.0f} %" for task in tasks]
    shown = [text for text in cut if not text.endswith(" 0 %")]
    return f"Inputs that were cut, at most: {', '.join(shown)}." if shown else ""


def _meaning_of_mark(labels: Mapping[str, str]) -> str:
    if BASELINE not in labels or len(labels) < 2:
        return ""
    return (
        f"{_MARK}: differs from {labels[BASELINE]}, p < {SIGNIFICANT} by Holm over all tasks of a "
        "tokenizer (table_differences)."
    )


def _averaging(seeds: pd.Series) -> str:
    if seeds.max() == 1:
        return "One fine-tuning seed"
    fewest, most = seeds.min(), seeds.max()
    number = most if fewest == most else f"{fewest} to {most}"
    return f"Mean ± standard deviation over {number} fine-tuning seeds"


def summarise_scores(
    scores: Iterable[Mapping],
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return mean, standard deviation (n - 1; empty for one seed) and seeds of every cell.

    The index is tokenizer and task. `paper` is empty where the paper has no value. Raises UserError
    if a score is missing.
    """
    frame = pd.DataFrame([dict(score) for score in scores])
    rows = []
    for name, label in labels.items():
        for task in tasks:
            found = frame[(frame["tokenizer"] == name) & (frame["task"] == task.name)]
            require_scores(found.to_dict("records"), [name], task.name)
            rows.append(
                {
                    "tokenizer": name,
                    "label": label,
                    "task": task.name,
                    "metric": task.metric,
                    "constructed": task.constructed,
                    "mean": found["value"].mean(),
                    "sd": found["value"].std(ddof=1),
                    "seeds": found["seed"].nunique(),
                    "majority": found["majority"].mean(),
                    **{key: found[key].max() for key in _SIZES},
                    "paper": paper.get(name, {}).get(task.name),
                }
            )
    return pd.DataFrame(rows).set_index(["tokenizer", "task"], drop=False)


def _task_header(task: Task) -> tuple[str, str, str]:
    unit = "accuracy, %" if task.metric == "accuracy" else UNITS[task.metric][0]
    return task.label, unit, "constructed" if task.constructed else ""


def _score_cell(row: pd.Series) -> str:
    mark = _MARK if row["significant"] else ""
    return _mean_and_spread(row["mean"], row["sd"], row["metric"]) + mark


def _mean_and_spread(mean: float, spread: float, metric: str) -> str:
    shown = format_score(mean, metric)
    return shown if pd.isna(spread) else f"{shown} ± {format_score(spread, metric)}"


def _printed_cells(values: Mapping[str, float], tasks: Sequence[Task]) -> list[str]:
    return [format_score(values.get(task.name), task.metric) for task in tasks]


def format_score(value: float | None, metric: str) -> str:
    """Return a fraction to the paper's decimals: 62.76 for an accuracy, 0.7918 for the rest."""
    if pd.isna(value):
        return NOTHING
    return number(100 * value, ".2f") if metric == "accuracy" else number(value, ".4f")


def read_significant(paths: Sequence[Files]) -> set[tuple[str, str]]:
    """Read the pairs of tokenizer's label and task whose scores differ significantly.

    paths: the csv of `table_differences`; none where a run compares nothing.

    Raises:
        UserError: it is not such a table.
    """
    pairs: set[tuple[str, str]] = set()
    for table in map(read_differences, paths):
        found = table[(table["method"] == FINE_TUNED) & table["significant"]]
        pairs |= set(zip(found["tokenizer"], found["task"], strict=True))
    return pairs
