"""Differences from BPE by every method, in one frame: a row a measure, language and tokenizer.

Causal transformers and n-grams of pieces (`paper.line_bits`), masked models on held-out words
(`paper.curves`) and fine-tuned on tasks, linear probes of pieces and of frozen skip-gram vectors
(`analysis.probes`). Models of one seed share their lines, their order and their first weights, so
they are compared seed by seed (`analysis.scores`). docs/appendix/statistics.md has the families of
the tests and their power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.probe_kinds import SIMILARITY
from reproduction.analysis.probes import GOLD, HELDOUT, PIECES, VALIDATION, VECTORS
from reproduction.analysis.scores import (
    TaskScores,
    rate_sums,
    require_scores,
    resample_scores,
    score_sums,
    task_scores,
)
from reproduction.analysis.stats import adjust, estimate, paired_permutation, resampled_weights
from reproduction.paper.curves import Curves, context_free_bits, is_above_floor
from reproduction.paper.formats import Files
from reproduction.paper.line_bits import CausalPanels, NgramBits, NgramPanels
from reproduction.paper.measures import SIGNIFICANT
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

# Methods, in the order of the table.
CAUSAL, HELDOUT_WORDS, FINE_TUNED = "causal transformers", "masked models", "fine-tuned models"
OF_VECTORS, OF_PIECES, NGRAMS = "probes of vectors", "probes of pieces", "n-grams"
METHODS = (CAUSAL, HELDOUT_WORDS, FINE_TUNED, OF_VECTORS, OF_PIECES, NGRAMS)
BITS = "bits"
# Metric -> how a measure's name ends, what its numbers are multiplied by, and their decimals.
UNITS = {
    BITS: ("bits", 1, 3),
    "f1": ("F1", 100, 2),
    "span_f1": ("F1", 100, 2),
    "accuracy": ("accuracy", 100, 2),
    "matthews": ("Matthews", 100, 2),
    "pearson": ("Pearson", 100, 2),
}
COLUMNS = (
    *("language", "method", "measure", "task", "unit", "more_is_better", "split", "rows"),
    *("tokenizer", "baseline", "seeds", "baseline_value", "value", "difference", "low", "high"),
    *("p_value", "p_adjusted", "significant", "seen_from", "floor", "paper"),
)
# A true difference of 1.96 + 0.84 standard errors is found in four of five cases; half of an
# interval is 1.96 of them.
_SEEN_FROM = 2.80 / 1.96
# What is compared of n-grams: name -> order (and one to subtract from), whether more is better.
_OF_NGRAMS = {
    "N-grams, order 3": ((3,), False),
    "N-grams, order 5": ((5,), False),
    "Gain from context": ((1, 3), True),
}


# What all rows of bits have, of whatever model.
_OF_BITS = {"task": None, "unit": BITS, "split": HELDOUT}


@dataclass(frozen=True)
class Task:
    """A task, as tables and tests know it.

    language: its title. kind: how it is probed. metric, classes: of its score; classes is their
    number, None for tags and values. constructed: whether a rule makes its examples.
    """

    name: str
    label: str
    language: str
    metric: str
    kind: str | None = None
    classes: int | None = None
    constructed: bool = False

    def measure(self, method: str) -> str:
        """Return the name of a measure, which is the same for a task in two languages."""
        task = self.label.removesuffix(f" ({self.language})")
        return f"{method}: {task}{', constructed' if self.constructed else ''}"

    @property
    def columns(self) -> dict[str, Any]:
        """What all rows of its scores have, of whatever model."""
        named = {"language": self.language, "task": self.name, "unit": self.metric}
        return {**named, "more_is_better": True}


def differences(
    *parts: Iterator[dict[str, Any]],
    sizes: Mapping[str, int] | None = None,
    paper: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Return the rows of all methods with p-values adjusted by Holm, causal models first.

    Args:
        parts: rows of `of_causal`, `of_heldout`, `of_scores`, `of_probes` and `of_ngrams`.
        sizes: family -> tests that it has at least, of which some could not be made.
        paper: task -> SaGe minus BPE as the paper prints it.

    Returns:
        `COLUMNS`, of which baseline is what is subtracted, rows are lines or examples, seen_from is
        the smallest true difference that a test finds in four of five cases, and floor are the bits
        that tables without context need.

    Raises:
        UserError: there is no row.
    """
    found = [row for part in parts for row in part]
    if not found:
        raise UserError(
            "no difference can be shown: no model is above the most frequent answer of its task; "
            "train longer (lm.pretrain), or compare n-grams, too (analysis.ngram_lines)"
        )
    data = pd.DataFrame(found)
    data["p_adjusted"] = adjust(data["p_value"], data["family"], sizes)
    data["significant"] = data["p_adjusted"] < SIGNIFICANT
    data["seen_from"] = _SEEN_FROM * (data["high"] - data["low"]) / 2
    data["floor"] = data["floor"].astype(float) if "floor" in data else math.nan
    data["paper"] = data["task"].map(paper or {}).astype(float)
    order = data["method"].map(METHODS.index)
    return data.iloc[np.argsort(order, kind="stable")][[*COLUMNS]].reset_index(drop=True)


def read_differences(path: Files) -> pd.DataFrame:
    """Read the csv of `table_differences`.

    Raises:
        UserError: it is missing, damaged or another table.
    """
    try:
        data = pd.read_csv(path)
        return data.astype({"significant": bool, "seen_from": float, "more_is_better": bool})
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not a table of differences ({error}); delete it") from error


def difference_row(
    scores: TaskScores,
    tokenizer: str,
    baseline: str,
    family: str,
    *,
    are_seeds_shared: bool = True,
    **named: Any,
) -> dict[str, Any]:
    """Return a row of resampled scores.

    family: of tests that Holm's adjustment counts together. are_seeds_shared: as for
    `TaskScores.difference`. named: the columns that say what the scores are.
    """
    found = scores.difference(tokenizer, baseline, are_seeds_shared=are_seeds_shared)
    return {
        **named,
        "tokenizer": tokenizer,
        "baseline": baseline,
        "seeds": scores.drawn[tokenizer].shape[1],
        "baseline_value": scores.mean(baseline).value,
        "value": scores.mean(tokenizer).value,
        **found._asdict(),
        "family": family,
    }


# --- language models


def of_causal(
    panels: CausalPanels, baseline: str, controls: Sequence[str], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the bits of causal models minus those of BPE's, and of each control's.

    A family is a tokenizer's differences from BPE in all languages; another one is those from
    controls. Models of one seed are not tested: that lines differ says nothing of another training.
    controls: labels of tokenizers pruned without contexts.
    """
    for title, panel in panels.items():
        models = [(label, one) for label, of_seeds in panel.items() for one in of_seeds]
        sums = rate_sums([(one.bits, one.characters) for _, one in models])
        scores = resample_scores(sums, [label for label, _ in models], seed=seed)
        pairs = [(label, baseline) for label in panel if label != baseline]
        others = [label for label in panel if label not in (baseline, *controls)]
        for label, other in [*pairs, *product(others, controls)]:
            beside = "" if other == baseline else f", minus {other} instead"
            row = difference_row(
                scores,
                label,
                other,
                f"{label}, causal{', controls' if beside else ''}",
                language=title,
                method=CAUSAL,
                measure=f"Causal transformer{beside}",
                **_OF_BITS,
                more_is_better=False,
                rows=len(sums.rows),
            )
            yield row if row["seeds"] > 1 else {**row, "p_value": math.nan}


def of_heldout(panels: Curves, baseline: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the final bits of masked models on held-out words minus those of BPE's: one family.

    A pair of which both need more than tables that see no context is left out.
    """
    for title, panel in panels.items():
        models = [(label, curve) for label, curves in panel.items() for curve in curves]
        terms = [(curve.nats[-1] / math.log(2), curve.characters) for _, curve in models]
        scores = resample_scores(rate_sums(terms), [label for label, _ in models], seed=seed)
        for label in [name for name in panel if name != baseline and baseline in panel]:
            pairs = list(zip(panel[label], panel[baseline], strict=True))
            if any(is_above_floor(*pair) for pair in pairs):
                continue
            yield {
                **difference_row(
                    scores,
                    label,
                    baseline,
                    HELDOUT_WORDS,
                    language=title,
                    method=HELDOUT_WORDS,
                    measure="Held-out words",
                    **_OF_BITS,
                    more_is_better=False,
                    rows=len(pairs[0][0].lines),
                ),
                "floor": context_free_bits(*pairs[0]),
            }


def of_scores(
    records: Sequence[Mapping[str, Any]],
    tasks: Sequence[Task],
    labels: Mapping[str, str],
    paper: Mapping[str, float],
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Yield the scores of fine-tuned models minus those of BPE's, the first of `labels`.

    A family is a tokenizer's differences on the paper's tasks (`score_families` has its size),
    another one those on other tasks. A task is left out where neither model is above the most
    frequent answer.

    Args:
        records: as `read_scores` gives them, with predictions beside each file.
        tasks: of the scores.
        labels: tokenizer name -> label, the baseline first; none in a run without models.
        paper: task -> SaGe minus BPE in the paper.
        seed: of the bootstrap.

    Raises:
        UserError: a score is missing, or predictions are not those of their score.
    """
    if not labels:
        return
    baseline, *others = labels.values()
    for task in tasks:
        found = [record for record in records if record["task"] == task.name]
        require_scores(found, labels, task.name)
        found = [record for record in found if record["tokenizer"] in labels]
        named = [{**record, "tokenizer": labels[record["tokenizer"]]} for record in found]
        scores = task_scores(named, seed)
        for label in others:
            if max(scores.mean(one).low for one in (label, baseline)) <= named[0]["majority"]:
                continue
            yield difference_row(
                scores,
                label,
                baseline,
                _score_family(label, task.name in paper),
                method=FINE_TUNED,
                measure=task.measure("Fine-tuned"),
                **task.columns,
                split=VALIDATION,
                rows=named[0]["examples"],
            )


def _score_family(label: str, in_paper: bool) -> str:
    return f"{label}, scores{'' if in_paper else ' beyond the paper'}"


def score_families(labels: Mapping[str, str], paper: Mapping[str, float]) -> dict[str, int]:
    """Return the sizes of the families of scores: all of the paper's tasks, run or not."""
    return {_score_family(label, in_paper=True): len(paper) for label in labels.values()}


# --- probes and n-grams


def of_probes(
    task: Task, paths: Mapping[str, Files], seeds: Sequence[int], baseline: str, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the scores of the probes of a task minus those of BPE's, on held-out rows if there are.

    A family is all of a tokenizer's differences by probes and n-grams.

    Args:
        task: what was probed.
        paths: tokenizer label -> what `probe_task` gave.
        seeds: of the vectors.
        baseline: label of BPE.
        seed: of the bootstrap.

    Raises:
        UserError: a file is missing or damaged, or two are of other rows.
    """
    pieces = [] if task.kind == SIMILARITY else [PIECES]
    vectors = [f"{VECTORS}{one}" for one in seeds]
    answers = _read_answers(task, paths, [*pieces, *vectors])
    for method, kind, columns in ((OF_PIECES, "Pieces", pieces), (OF_VECTORS, "Vectors", vectors)):
        if not columns:
            continue
        found = [
            (label, _plain(one[column])) for label, one in answers.items() for column in columns
        ]
        names, predicted = zip(*found, strict=True)
        rows = answers[baseline]
        sums = score_sums(_plain(rows[GOLD[task.kind]]), predicted, task.metric, task.classes)
        scores = resample_scores(sums, names, seed=seed)
        for label in [label for label in answers if label != baseline]:
            yield difference_row(
                scores,
                label,
                baseline,
                label,
                method=method,
                measure=task.measure(kind),
                **task.columns,
                split=rows["split"].iloc[0],
                rows=len(rows),
            )


def _read_answers(
    task: Task, paths: Mapping[str, Files], columns: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Read the rows held out, or else those of the validation set, by the tokenizer's label."""
    examples = ["split", "example", GOLD[task.kind]]
    answers = {label: read_parquet(path, [*examples, *columns]) for label, path in paths.items()}
    first, *rest = (frame[examples].map(_comparable) for frame in answers.values())
    if any(not one.equals(first) for one in rest):
        raise UserError(
            f"probes of {task.name} predicted other rows than one another; delete the folder "
            "analysis/LANGUAGE/probes and run again"
        )
    split = HELDOUT if (first["split"] == HELDOUT).any() else VALIDATION
    return {label: frame[frame["split"] == split] for label, frame in answers.items()}


def _comparable(value: Any) -> Any:
    return tuple(value) if isinstance(value, np.ndarray) else value  # tags are an array a row


def _plain(column: pd.Series) -> np.ndarray | list[list[str]]:
    if column.dtype == object:
        return [list(tags) for tags in column]
    return column.to_numpy()


def of_ngrams(panels: NgramPanels, baseline: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the bits of n-grams minus those of BPE's, estimated from the most lines there are."""
    for title, panel in panels.items():
        size = max(panel[baseline].bits)
        characters = panel[baseline].characters
        weights = resampled_weights(len(characters), seed=seed)
        for (name, (orders, more)), label in product(
            _OF_NGRAMS.items(), [label for label in panel if label != baseline]
        ):
            bits, of_bpe = (_line_bits(panel[one], size, orders) for one in (label, baseline))
            rates = (weights @ (bits - of_bpe)) / (weights @ characters)
            yield {
                "language": title,
                "method": NGRAMS,
                "measure": name,
                "tokenizer": label,
                "baseline": baseline,
                **_OF_BITS,
                "more_is_better": more,
                "rows": len(bits),
                "seeds": 1,
                "baseline_value": of_bpe.sum() / characters.sum(),
                "value": bits.sum() / characters.sum(),
                **dict(zip(("difference", "low", "high"), estimate(rates), strict=True)),
                "p_value": paired_permutation(bits, of_bpe, seed=seed),
                "family": label,
            }


def _line_bits(measured: NgramBits, size: int, orders: Sequence[int]) -> np.ndarray:
    """Return the bits of each line at an order, or those that a longer context saves."""
    first, *rest = (measured.bits[size][order] for order in orders)
    return first - sum(rest)


# --- what the paper prints


def printed_gains(tables: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    """Return SaGe's score minus BPE's in the paper, by task."""
    return {
        task: value - table["bpe"][task]
        for table in tables.values()
        for task, value in table["sage"].items()
        if task in table["bpe"]
    }
