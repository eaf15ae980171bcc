"""All methods beside one another: every tokenizer's difference from BPE.

N-grams of pieces (`paper.ngrams`), linear probes of pieces and of frozen skip-gram vectors
(`analysis.probes`), and language models, causal (`paper.causal`) and masked, where the run has
some. docs/appendix/statistics.md has the families of the tests and their power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.metrics import value_scores
from reproduction.analysis.probe_kinds import SIMILARITY
from reproduction.analysis.probes import GOLD, HELDOUT, PIECES, VALIDATION, VECTORS
from reproduction.analysis.scores import TaskScores, rate_sums, resample_scores, score_sums
from reproduction.analysis.stats import Comparison, adjust, paired_permutation
from reproduction.paper.causal import CAUSAL, CausalPanels
from reproduction.paper.formats import Files
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.ngrams import LineBits, Panels, summarise_ngrams
from reproduction.paper.tables_scores import measure_unit, printed_gains
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

BITS = "bits"
NGRAMS, MODELS = "n-grams", "language models"
_CAUSAL = "Causal transformer"
_NAMES = {PIECES: "Pieces", VECTORS: "Vectors"}
# A true difference of 1.96 + 0.84 standard errors is found in four of five cases; half of an
# interval is 1.96 of them.
_SEEN_FROM = 2.80 / 1.96
# What is compared of n-grams: column of `summarise_ngrams` -> name, order (and one to subtract
# from), whether more is better.
_NGRAMS = {
    "bits_3": ("N-grams, order 3", (3,), False),
    "bits_5": ("N-grams, order 5", (5,), False),
    "gain": ("Gain from context", (1, 3), True),
}


def unit_of(metric: str) -> tuple[str, int, int]:
    """Return how a measure's name ends, what its numbers are multiplied by, and their decimals."""
    return ("bits", 1, 3) if metric == BITS else (measure_unit(metric), 100, 2)


# --- what is read


@dataclass(frozen=True)
class ProbedTask:
    """What the probes of every tokenizer answered to the rows of a task.

    stanza: name, label, language (its title), kind (how it is probed), metric, classes (their
    number, or None) and constructed. columns: of the answers, PIECES and VECTORS -> one, or one a
    seed. answers: tokenizer label -> a row an example, as `probe_task` gives them.
    """

    stanza: Mapping[str, Any]
    columns: Mapping[str, Sequence[str]]
    answers: Mapping[str, pd.DataFrame]

    @property
    def gold(self) -> str:
        """Name of the column with what is right."""
        return GOLD[self.stanza["kind"]]


def read_probes(
    tasks: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    labels: Sequence[str],
    paths: Sequence[Files],
) -> list[ProbedTask]:
    """Read what `probe_task` gave, listed task by task and tokenizer by tokenizer.

    seeds: of the vectors.

    Raises:
        UserError: a file is missing or damaged, or two of a task are of other rows.
    """
    each = len(labels)
    own = [paths[place * each : (place + 1) * each] for place in range(len(tasks))]
    return [_read_task(*one, seeds, labels) for one in zip(tasks, own, strict=True)]


def _read_task(
    stanza: Mapping[str, Any],
    paths: Sequence[Files],
    seeds: Sequence[int],
    labels: Sequence[str],
) -> ProbedTask:
    pieces = [] if stanza["kind"] == SIMILARITY else [PIECES]
    columns = {PIECES: pieces, VECTORS: [f"{VECTORS}{seed}" for seed in seeds]}
    gold = GOLD[stanza["kind"]]
    read = ["split", "example", gold, *pieces, *columns[VECTORS]]
    name = stanza["name"]
    answers = {k: read_parquet(path, read) for k, path in zip(labels, paths, strict=True)}
    first, *rest = (_asked(frame, gold) for frame in answers.values())
    if any(one != first for one in rest):
        raise UserError(
            f"probes of {name} predicted other rows than one another; delete the folder "
            "analysis/LANGUAGE/probes and run again"
        )
    return ProbedTask(stanza, columns, answers)


def _asked(frame: pd.DataFrame, gold: str) -> list[list]:
    answers = [list(row) if gold == "tags" else row for row in frame[gold]]
    return [frame["split"].tolist(), frame["example"].tolist(), answers]


# --- differences, a row for each measure, language and tokenizer


def gather_evidence(
    ngrams: Panels,
    probed: Sequence[ProbedTask],
    models: pd.DataFrame,
    causal: CausalPanels,
    *,
    baseline: str,
    paper: Mapping[str, Mapping[str, Mapping[str, float]]],
    seed: int,
    controls: Sequence[str] = (),
) -> pd.DataFrame:
    """Return every tokenizer's differences from BPE by all methods.

    Columns: baseline (what is subtracted, BPE or a control), method, measure, task, language,
    tokenizer, metric, more_is_better, split, rows (lines or examples), seeds, baseline_value,
    value, difference, low, high, seen_from (the smallest difference that one test finds in four of
    five cases), spearman, tested, p_value, p_adjusted, significant, paper (the paper's difference
    on the task).

    Args:
        ngrams: as `read_ngrams` gives them.
        probed: as `read_probes` gives them.
        models: as `read_models` gives them; they keep the p-values of their own families.
        causal: as `read_causal` gives them.
        baseline: label of BPE.
        paper: the paper's tables of scores, by their names.
        seed: of the bootstrap and of the permutations.
        controls: labels of tokenizers pruned without contexts; causal models are compared with
            theirs, too.

    Raises:
        UserError: there is nothing to compare.
    """
    rows = [*_of_ngrams(ngrams, baseline, seed)]
    for task in probed:
        rows += _of_task(task, baseline, seed)
    rows += _of_causal(causal, baseline, controls, seed)
    if not rows and models.empty:
        raise UserError(
            "config keys tokenizers, probes.tasks and analysis.ngram_lines: evidence needs bpe, "
            "another tokenizer, and tasks or held-out lines"
        )
    data = pd.DataFrame(rows)
    if rows:
        # Causal models are compared with controls, too: a family over languages and controls.
        causal_rows, beside = data["method"] == CAUSAL, data["baseline"] != baseline
        families = zip(data["tokenizer"], causal_rows, beside, strict=True)
        data["p_adjusted"] = adjust(data["p_value"], families)
        data["significant"] = data["p_adjusted"] < SIGNIFICANT
    data = pd.concat([part for part in (data, models) if len(part)], ignore_index=True)
    data["seen_from"] = _SEEN_FROM * (data["high"] - data["low"]) / 2
    gains = printed_gains(paper.values())
    data["paper"] = data["task"].map(gains).astype(float)
    return data


def _of_ngrams(panels: Panels, baseline: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the differences after the largest number of lines to estimate from."""
    data = summarise_ngrams(panels, baseline=baseline, seed=seed) if panels else pd.DataFrame()
    for title, panel in panels.items():
        size = max(panel[baseline].bits)
        found = data[(data["language"] == title) & (data["lines"] == size)].set_index("tokenizer")
        others = [label for label in panel if label != baseline]
        for (column, compared), label in product(_NGRAMS.items(), others):
            name, orders, more = compared
            ours, theirs = (_bits(panel[one], size, orders) for one in (label, baseline))
            own, change = found.loc[label], f"{column}_difference"
            yield {
                **_named(baseline, NGRAMS, name, None, title, label, BITS, more),
                "split": HELDOUT,
                "rows": len(ours),
                "seeds": 1,
                "baseline_value": found.loc[baseline, column],
                "value": own[column],
                "difference": own[change],
                "low": own[f"{change}_low"],
                "high": own[f"{change}_high"],
                "tested": True,
                "p_value": paired_permutation(ours, theirs, seed=seed),
            }


def _bits(own: LineBits, size: int, orders: Sequence[int]) -> np.ndarray:
    first, *rest = (own.bits[size][order - 1] for order in orders)
    return first - sum(rest)


_NAMED = (
    *("baseline", "method", "measure", "task", "language", "tokenizer", "metric"),
    "more_is_better",
)


def _named(*values: Any) -> dict[str, Any]:
    """Return what every row begins with."""
    return dict(zip(_NAMED, values, strict=True))


def _of_task(task: ProbedTask, baseline: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the differences of the probes of a task, on each split that was predicted."""
    splits = next(iter(task.answers.values()))["split"]
    tested = HELDOUT if (splits == HELDOUT).any() else VALIDATION
    features = [name for name in (PIECES, VECTORS) if task.columns[name]]
    others = [label for label in task.answers if label != baseline]
    for name, split in product(features, dict.fromkeys([tested, VALIDATION])):
        scores, spearman, rows = _split_scores(task, name, split, seed)
        for label in others:
            yield {
                **_task_names(task, name, label, baseline),
                "split": split,
                "rows": rows,
                "seeds": len(scores.values[label]),
                "baseline_value": scores.mean(baseline).value,
                "value": scores.mean(label).value,
                **_compared(scores.difference(label, baseline), split == tested),
                "spearman": spearman.get(label),
            }


def _task_names(task: ProbedTask, features: str, tokenizer: str, baseline: str) -> dict[str, Any]:
    one = task.stanza
    measure = _measure(_NAMES[features], one["label"], one["language"], one["constructed"])
    method = {PIECES: "probes of pieces", VECTORS: "probes of vectors"}[features]
    names = (one["name"], one["language"], tokenizer, one["metric"])
    return _named(baseline, method, measure, *names, True)


def _measure(method: str, label: str, language: str, constructed: bool) -> str:
    """Return the name of a measure, which is the same for a task in two languages."""
    task = label.removesuffix(f" ({language})")
    return f"{method}: {task}{', constructed' if constructed else ''}"


def _compared(found: Comparison, tested: bool) -> dict[str, Any]:
    return {
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "tested": tested,
        "p_value": found.p_value if tested else math.nan,
    }


def _split_scores(
    task: ProbedTask, features: str, split: str, seed: int
) -> tuple[TaskScores, dict[str, float], int]:
    """Return the scores of all tokenizers, Spearman's beside Pearson's, and the rows asked."""
    frames = {label: one[one["split"] == split] for label, one in task.answers.items()}
    gold = _plain(next(iter(frames.values()))[task.gold])
    columns = task.columns[features]
    found = [(label, _plain(frames[label][name])) for label in frames for name in columns]
    names, answers = zip(*found, strict=True)
    sums = score_sums(gold, answers, task.stanza["metric"], task.stanza["classes"])
    spearman: dict[str, list[float]] = {}
    if task.stanza["kind"] == SIMILARITY:
        for label, values in found:
            spearman.setdefault(label, []).append(value_scores(gold, values)["spearman"])
    means = {label: float(np.mean(values)) for label, values in spearman.items()}
    return resample_scores(sums, names, seed=seed), means, len(gold)


def _plain(column: pd.Series) -> np.ndarray | list[list[str]]:
    if column.dtype == object:
        return [list(tags) for tags in column]
    return column.to_numpy()


def _of_causal(
    panels: CausalPanels, baseline: str, controls: Sequence[str], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the differences of causal models from BPE and from each control, over lines and seeds.

    controls: labels of tokenizers pruned without contexts.
    """
    for title, panel in panels.items():
        models = [(label, one) for label, own in panel.items() for one in own]
        sums = rate_sums([(one.bits, one.characters) for _, one in models])
        scores = resample_scores(sums, [label for label, _ in models], seed=seed)
        pairs = [(label, baseline) for label in panel if label != baseline]
        own = [label for label in panel if label not in (baseline, *controls)]
        for label, other in [*pairs, *product(own, controls)]:
            measure = _CAUSAL + ("" if other == baseline else f", minus {other} instead")
            yield {
                **_named(other, CAUSAL, measure, None, title, label, BITS, False),
                "split": HELDOUT,
                "rows": len(sums.rows),
                "seeds": len(panel[label]),
                "baseline_value": float(scores.values[other].mean()),
                "value": float(scores.values[label].mean()),
                **_compared(scores.difference(label, other), tested=True),
            }


# --- language models: from their own tables


def read_models(
    differences: Sequence[Files],
    curves: Sequence[Files],
    languages: Mapping[str, str],
    baseline: str,
) -> pd.DataFrame:
    """Read what the tables of language models say: scores, and bits of held-out words.

    differences: csv of `table_differences`, or none. curves: csv of `table_learning_curves`, or
    none. languages: task -> title of its language. A score of models that have learnt nothing is
    left out, and so are bits that tables of frequencies reach.

    Raises:
        UserError: one is no such table.
    """
    try:
        tables = map(pd.read_csv, differences)
        scores = [row for table in tables for row in _of_scores(table, languages, baseline)]
        bits = [row for path in curves for row in _of_curves(pd.read_csv(path), baseline)]
    except (OSError, ValueError, KeyError) as error:
        files = ", ".join(map(str, [*differences, *curves]))
        raise UserError(
            f"{files}: no table of models ({error}); delete it and run again"
        ) from error
    return pd.DataFrame([*bits, *scores])


def _of_scores(
    table: pd.DataFrame, languages: Mapping[str, str], baseline: str
) -> Iterator[dict[str, Any]]:
    for row in table[table["learnt"].astype(bool)].to_dict("records"):
        seeds = "_seeds" if pd.notna(row["low_seeds"]) else ""
        task, title = row["task"], languages[row["task"]]
        name = _measure("Fine-tuned", row["task_label"], title, row["constructed"])
        yield {
            **_named(baseline, MODELS, name, task, title, row["label"], row["metric"], True),
            "split": VALIDATION,
            "seeds": row["seeds"],
            "baseline_value": row["baseline_mean"],
            "value": row["mean"],
            "difference": row["difference"],
            "low": row[f"low{seeds}"],
            "high": row[f"high{seeds}"],
            "tested": True,
            **{key: row[key] for key in ("p_value", "p_adjusted", "significant")},
        }


def _of_curves(table: pd.DataFrame, baseline: str) -> Iterator[dict[str, Any]]:
    bits = "bits_per_character"
    theirs = table[table["tokenizer"] == baseline].set_index("language")[bits]
    for row in table[table[f"{bits}_difference"].notna()].to_dict("records"):
        if row["above_floor"]:
            continue
        name, title = "Held-out words", row["language"]
        yield {
            **_named(baseline, MODELS, name, None, title, row["tokenizer"], BITS, False),
            "split": HELDOUT,
            "rows": row["lines"],
            "seeds": row["seeds"],
            "baseline_value": theirs[title],
            "value": row[bits],
            "difference": row[f"{bits}_difference"],
            "low": row[f"{bits}_difference_low"],
            "high": row[f"{bits}_difference_high"],
            "tested": True,
            "p_value": row[f"{bits}_p_value"],
            "p_adjusted": row[f"{bits}_p_adjusted"],
            "significant": row[f"{bits}_p_adjusted"] < SIGNIFICANT,
        }
