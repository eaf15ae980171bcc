"""The paper's tables of scores (Section 5), and the differences between tokenizers, tested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from reproduction.analysis.scores import (
    EXAMPLES,
    EXAMPLES_AND_SEEDS,
    RESAMPLES,
    TaskScores,
    task_scores,
)
from reproduction.analysis.stats import adjust
from reproduction.paper.curves import cards_note
from reproduction.paper.formats import MINUS, NOTHING, Files, number, p_value
from reproduction.paper.inputs import BASELINE
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table
from sagevocab.errors import UserError

# Metric -> its unit at the head of a column, and at the end of a measure's name.
UNITS = {
    "f1": ("F1", "F1"),
    "span_f1": ("F1", "F1"),
    "accuracy": ("Acc. %", "accuracy"),
    "matthews": ("Matt.", "Matthews"),
    "pearson": ("Pear.", "Pearson"),
}
_PAPER_NAMES = {"bpe": "BPE", "sage": "SaGe"}
_SIZES = ("train_examples", "examples", "truncated_examples")
_MARK = "*"


def measure_unit(metric: str) -> str:
    """Return the unit of a metric as the name of a measure ends; one without a unit is its own."""
    return UNITS.get(metric, (metric, metric))[1]


def _head_unit(metric: str) -> str:
    return UNITS.get(metric, (metric, metric))[0]


class Task(TypedDict):
    """An evaluation task as a column or a row of a table."""

    name: str
    label: str
    metric: str
    constructed: bool


# --- scores


def table_scores(
    scores: Iterable[Mapping],
    *,
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Any],
    table: str,
    significant: Collection[tuple[str, str]],
    notes: Sequence[str],
) -> Table:
    """Return the scores of some tasks, mean and spread over the seeds.

    scores: records of task, tokenizer, seed, value and majority (fractions; majority: what the
    most frequent answer scores). labels: tokenizer name -> label.
    paper: the paper's values; table: which of its tables. significant: pairs of tokenizer
    and task whose difference from the baseline is (see `table_differences`). notes: further
    sentences, of the models' budget and the presets.
    Source: paper, Section 5, one table for sequences and one for named entities.
    """
    _require_scores(tasks, labels)
    values = paper["tables"][table]
    data = summarise_scores(scores, tasks, labels, values)
    data["significant"] = [pair in significant for pair in data.index]
    ours = [
        [label, *(_our_cell(data.loc[name, task["name"]]) for task in tasks)]
        for name, label in labels.items()
    ]
    majority = data.groupby(level="task")["majority"].mean()
    ours.append(["Most frequent answer", *_printed_cells(majority, tasks)])
    printed = [
        [f"{_PAPER_NAMES[name]} (paper)", *_printed_cells(values, tasks)]
        for name, values in values.items()
    ]
    note = (
        f"{_averaging(data['seeds'])}, validation set; the paper gives the mean of three runs on "
        "the dev set."
    )
    return Table(
        ["", *map(_task_header, tasks)],
        [ours, printed],
        data,
        note=[note, _meaning_of_mark(labels), *notes, _truncation(data, tasks)],
    )


def _truncation(data: pd.DataFrame, tasks: Sequence[Task]) -> str:
    """Name the tasks whose inputs were cut: a tokenizer with more tokens loses more of them."""
    most = (data["truncated_examples"] / data["examples"]).groupby(level="task").max()
    cut = [f"{task['label']} {100 * most[task['name']]:.0f} %" for task in tasks]
    shown = [text for text in cut if not text.endswith(" 0 %")]
    return f"Inputs that were cut, at most: {', '.join(shown)}." if shown else ""


def _meaning_of_mark(labels: Mapping[str, str]) -> str:
    if BASELINE not in labels or len(labels) < 2:
        return ""
    return (
        f"{_MARK}: differs from {labels[BASELINE]}, p < {SIGNIFICANT} by Holm over all tasks of a "
        "tokenizer (table_differences)."
    )


def _require_scores(tasks: Sequence[Task], labels: Mapping[str, str]) -> None:
    if not tasks or not labels:
        raise UserError(
            "config keys lm.enabled, lm.tokenizers and tasks: they leave no scores for this table; "
            "enable the models and list tasks of its kind"
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
            found = frame[(frame["tokenizer"] == name) & (frame["task"] == task["name"])]
            _require_all(found.to_dict("records"), [name], task)
            rows.append(
                {
                    "tokenizer": name,
                    "label": label,
                    "task": task["name"],
                    "metric": task["metric"],
                    "constructed": task["constructed"],
                    "mean": found["value"].mean(),
                    "sd": found["value"].std(ddof=1),
                    "seeds": found["seed"].nunique(),
                    "majority": found["majority"].mean(),
                    **{key: found[key].max() for key in _SIZES},
                    "paper": paper.get(name, {}).get(task["name"]),
                }
            )
    return pd.DataFrame(rows).set_index(["tokenizer", "task"], drop=False)


def _task_header(task: Task) -> tuple[str, str, str]:
    return task["label"], _head_unit(task["metric"]), "constructed" if task["constructed"] else ""


def _our_cell(row: pd.Series) -> str:
    mark = _MARK if row["significant"] else ""
    return _mean_and_spread(row["mean"], row["sd"], row["metric"]) + mark


def _mean_and_spread(mean: float, spread: float, metric: str) -> str:
    shown = format_score(mean, metric)
    return shown if pd.isna(spread) else f"{shown} ± {format_score(spread, metric)}"


def _printed_cells(values: Mapping[str, float], tasks: Sequence[Task]) -> list[str]:
    return [format_score(values.get(task["name"]), task["metric"]) for task in tasks]


def format_score(value: float | None, metric: str) -> str:
    """Return a fraction to the paper's decimals: 62.76 for an accuracy, 0.7918 for the rest."""
    if pd.isna(value):
        return NOTHING
    return number(100 * value, ".2f") if metric == "accuracy" else number(value, ".4f")


# --- differences


def table_differences(
    scores: Sequence[Mapping],
    *,
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, Any],
    readings: Collection[str],
    seed: int,
    notes: Sequence[str],
    pretrained: int = 1,
    logs: Sequence[Files] = (),
    hours: float | None = None,
) -> Table:
    """Return the difference of each tokenizer's scores from the first one's, task by task, tested.

    scores: as `read_scores` gives them, with predictions beside each file. labels: tokenizer name
    -> label, the baseline first. paper: both of the paper's tables, as in `table_scores`.
    readings: the tokenizers that the paper's differences are shown beside. pretrained: models of a
    tokenizer that its fine-tunings start from.
    Source: paper, Section 5.
    """
    _require_scores(tasks, labels)
    if len(labels) < 2:
        raise UserError(
            "config key lm.tokenizers: differences need bpe and a tokenizer to set beside it; "
            "list them"
        )
    gains = printed_gains(paper["tables"].values())
    data = compare_scores(scores, tasks, labels, paper_tasks=gains, seed=seed)
    data["paper"] = [
        gains.get(task) if name in readings else None
        for name, task in zip(data["tokenizer"], data["task"], strict=True)
    ]
    baseline = labels[next(iter(labels))]
    intervals = [low for low in _INTERVALS if data[low].notna().any()]
    by_tokenizer = data.groupby("tokenizer", sort=False)
    names = [_INTERVALS[low] for low in intervals]
    return Table(
        ["Tokenizer", "Task", baseline, "Its own", "Difference", *names, "p", "p (Holm)", "Paper"],
        [
            [_difference_cells(row, intervals) for row in rows.to_dict("records")]
            for _, rows in by_tokenizer
        ],
        data,
        opening=1,
        note=[_testing(data, baseline, pretrained), *notes, cards_note(logs, hours)],
    )


# Column with the lower bounds of an interval -> its header.
_INTERVALS = {"low": "95 %: examples", "low_seeds": "95 %: examples and seeds"}


def compare_scores(
    scores: Sequence[Mapping],
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    *,
    paper_tasks: Collection[str],
    seed: int,
) -> pd.DataFrame:
    """Return the differences of all tokenizers from the first of `labels`, a row a task and one.

    Columns low, high and p_examples vary examples alone; low_seeds and high_seeds vary seeds too,
    and are empty for one seed. p_value is of the test that varies both where it can; `test` names
    what varies. p_adjusted is Holm's over the paper's tasks of one tokenizer, as in the claims (and
    over those that the paper does not have), and decides `significant`. It is nan where neither
    model is above the most frequent answer.
    """
    baseline, *others = labels
    by_task, floors = {}, {}
    for task in tasks:
        records = [score for score in scores if score["task"] == task["name"]]
        _require_all(records, labels, task)
        by_task[task["name"]] = task_scores([r for r in records if r["tokenizer"] in labels], seed)
        floors[task["name"]] = records[0]["majority"]
    pairs = [(name, task) for name in others for task in tasks]
    data = pd.DataFrame(
        {
            "tokenizer": name,
            "label": labels[name],
            **_difference(by_task[task["name"]], task, name, baseline),
            "learnt": _is_learnt(by_task[task["name"]], floors[task["name"]], name, baseline),
        }
        for name, task in pairs
    )
    families = [(name, task["name"] in paper_tasks) for name, task in pairs]
    sizes = {family: len(paper_tasks) if family[1] else 0 for family in families}
    p_values = data["p_value"].where(data["learnt"])
    data["p_adjusted"] = adjust(p_values, families, sizes)
    return data.assign(significant=data["p_adjusted"] < SIGNIFICANT)


def _is_learnt(scores: TaskScores, floor: float, *tokenizers: str) -> bool:
    return any(scores.mean(name).low > floor for name in tokenizers)


def _require_all(records: Sequence[Mapping], labels: Iterable[str], task: Task) -> None:
    for name in labels:
        if all(record["tokenizer"] != name for record in records):
            raise UserError(f"scores/{name}/{task['name']}: none; run the target downstream")


def _difference(scores: TaskScores, task: Task, name: str, baseline: str) -> dict[str, Any]:
    unit = scores.unit(name, baseline)
    examples = scores.difference(name, baseline, EXAMPLES)
    tested = scores.difference(name, baseline)
    both = unit == EXAMPLES_AND_SEEDS
    ours, theirs = scores.values[name], scores.values[baseline]
    return {
        "task": task["name"],
        "task_label": task["label"],
        "metric": task["metric"],
        "constructed": task["constructed"],
        "baseline_mean": theirs.mean(),
        "baseline_sd": _spread(theirs),
        "mean": ours.mean(),
        "sd": _spread(ours),
        "seeds": len(ours),
        "difference": examples.difference,
        "low": examples.low,
        "high": examples.high,
        "p_examples": examples.p_value,
        "low_seeds": tested.low if both else None,
        "high_seeds": tested.high if both else None,
        "test": unit,
        "p_value": tested.p_value,
    }


def _spread(values: np.ndarray) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


def printed_gains(tables: Iterable[Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    """Return SaGe's score minus BPE's in the paper, by task."""
    return {
        task: value - table["bpe"][task]
        for table in tables
        for task, value in table["sage"].items()
        if task in table["bpe"]
    }


def _difference_cells(row: Mapping[str, Any], intervals: Sequence[str]) -> list[str]:
    metric = row["metric"]
    marks = [_head_unit(metric), *(["constructed"] if row["constructed"] else [])]
    return [
        row["label"],
        f"{row['task_label']} ({', '.join(marks)})",
        _mean_and_spread(row["baseline_mean"], row["baseline_sd"], metric),
        _mean_and_spread(row["mean"], row["sd"], metric),
        _signed(row["difference"], metric) + (_MARK if row["significant"] else ""),
        *(_interval(row[low], row[low.replace("low", "high")], metric) for low in intervals),
        *(NOTHING if pd.isna(row[p]) else p_value(row[p]) for p in ("p_value", "p_adjusted")),
        _signed(row["paper"], metric),
    ]


def _interval(low: float | None, high: float | None, metric: str) -> str:
    if pd.isna(low):
        return NOTHING
    return f"[{_signed(low, metric)}, {_signed(high, metric)}]"


def _signed(value: float | None, metric: str) -> str:
    if pd.isna(value):
        return NOTHING
    shown = format_score(value, metric)
    return shown if shown.startswith(MINUS) else f"+{shown}"


def _testing(data: pd.DataFrame, baseline: str, pretrained: int) -> str:
    others = (
        "One pretrained model a tokenizer: nothing here says what another pretraining would give."
        if pretrained == 1
        else f"{pretrained} pretrained models a tokenizer, so the variance over seeds is also that "
        "of another pretraining."
    )
    alone = (data["test"] == EXAMPLES).all()
    seeds = "" if alone else " and fine-tuning seeds"
    variance = "" if alone else ", Student's interval with the variance over seeds added"
    return (
        f"Score minus that of {baseline}, means over {data['seeds'].max()} fine-tuning seed(s), "
        f"validation set. Paired bootstrap of examples, {RESAMPLES:,} samples{variance}; p: over "
        f"examples{seeds}, two-sided; Holm over the paper's tasks of a tokenizer, not where no "
        f"model is above the most frequent answer; {_MARK}: below {SIGNIFICANT}. {others}"
    )


def read_significant(paths: Sequence[Files]) -> set[tuple[str, str]]:
    """Read the pairs of tokenizer and task whose difference is significant.

    paths: the csv of `table_differences`; none where a run compares nothing.

    Raises:
        UserError: it is not such a table.
    """
    pairs = set()
    for path in paths:
        try:
            table = pd.read_csv(path)
            found = table[table["significant"].astype(bool)]
            pairs |= set(zip(found["tokenizer"], found["task"], strict=True))
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{path}: is no table of differences ({error}); delete it") from error
    return pairs
