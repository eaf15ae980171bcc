"""The table of all differences from BPE (`paper.differences`); the paper tests no difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.paper.curves import Curves
from reproduction.paper.differences import (
    CAUSAL,
    UNITS,
    Task,
    differences,
    of_causal,
    of_heldout,
    of_ngrams,
    of_probes,
    of_scores,
    printed_gains,
    score_families,
)
from reproduction.paper.formats import NOTHING, Files, Row, difference, number
from reproduction.paper.line_bits import CausalPanels, NgramPanels
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table

_MARK = "*"


def table_differences(
    ngrams: NgramPanels,
    probes: Mapping[str, Mapping[str, Files]],
    causal: CausalPanels,
    curves: Curves,
    scores: Sequence[Mapping[str, Any]],
    paper: Mapping[str, Any],
    *,
    labels: Sequence[str],
    models: Mapping[str, str],
    controls: Sequence[str],
    probed: Sequence[Mapping[str, Any]],
    tasks: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    baseline: str,
    seed: int,
    notes: Sequence[str] = (),
) -> Table:
    """Return the differences of every tokenizer from BPE by all methods.

    Args:
        ngrams, causal, curves, scores: as their readers give them; empty where a run has none.
        probes: task -> tokenizer label -> file of answers.
        paper: the paper's values.
        labels: of all tokenizers, in their order.
        models: name -> label of those whose scores are compared, BPE first.
        controls: labels of those pruned without contexts that causal models are compared with, too.
        probed, tasks: fields of `Task` of the tasks that are probed and fine-tuned on.
        seeds: of the vectors.
        baseline: label of BPE. seed: of the bootstrap and of the permutations.
        notes: sentences that end the note.
    """
    gains = printed_gains(paper["tables"])
    of_tasks = [Task(**task) for task in probed]
    data = differences(
        of_causal(causal, baseline, controls, seed),
        of_heldout(curves, baseline, seed),
        of_scores(scores, [Task(**task) for task in tasks], models, gains, seed),
        *(of_probes(one, probes[one.name], seeds, baseline, seed) for one in of_tasks),
        of_ngrams(ngrams, baseline, seed),
        sizes=score_families(models, gains),
        paper=gains,
    )
    return table_of_differences(data, labels=labels, baseline=baseline, notes=notes)


def table_of_differences(
    data: pd.DataFrame, *, labels: Sequence[str], baseline: str, notes: Sequence[str] = ()
) -> Table:
    """Return a frame of differences as a table: a row a measure and language, a column a tokenizer.

    data: as `differences` gives it. labels: of all tokenizers in their order; baseline: of BPE.
    """
    others = [label for label in labels if label != baseline]
    blocks: dict[str, list[list[str]]] = {}
    for (language, measure), rows in data.groupby(["language", "measure"], sort=False):
        by_tokenizer = {row["tokenizer"]: row for row in rows.to_dict("records")}
        first = next(iter(by_tokenizer.values()))
        cells = [_plus_minus(by_tokenizer.get(label)) for label in others]
        ends = [_printed(first, rows["seen_from"].max()), _printed(first, first["paper"], "+")]
        value = first["baseline_value"] if first["baseline"] == baseline else math.nan
        name = f"{measure} ({UNITS[first['unit']][0]})"
        row = [language, name, f"{first['rows']:,.0f}", _printed(first, value), *cells, *ends]
        blocks.setdefault(language, []).append(row)
    columns = [(f"Minus {baseline}", name) for name in others]
    return Table(
        ["Language", "Measure", "Rows", baseline, *columns, "Seen from", "Paper"],
        blocks.values(),
        data,
        opening=1,
        note=[_note(data, baseline), *notes],
    )


def _printed(row: Row, value: float, sign: str = "") -> str:
    if pd.isna(value):
        return NOTHING
    _, factor, digits = UNITS[row["unit"]]
    return number(factor * value, f"{sign}.{digits}f")


def _plus_minus(row: Row | None) -> str:
    if row is None:
        return NOTHING
    _, factor, digits = UNITS[row["unit"]]
    return difference(row, f"+.{digits}f", factor) + (_MARK if row["significant"] else "")


def _note(data: pd.DataFrame, baseline: str) -> str:
    controls = data[(data["method"] == CAUSAL) & (data["baseline"] != baseline)]
    beside = " Causal models are compared with controls, too." if len(controls) else ""
    return (
        f"Difference from {baseline} on the same lines or examples ± half of its 95 % interval; "
        "where a tokenizer has several seeds, models of one seed are compared, and intervals are "
        "over lines or examples and seeds. Bits a character: fewer are better, and more of the "
        f"gain from context; scores are multiplied by 100. {_MARK}: p < {SIGNIFICANT} by Holm, in "
        f"the families of docs/appendix/statistics.md.{beside} Seen from: the smallest true "
        "difference that one test finds in four of five cases, the largest of the tokenizers. "
        "Paper: SaGe minus BPE of fine-tuned BERT-large. Probes are linear models: they test "
        "segmentations. Left out: scores of which no model is above the most frequent answer, and "
        "bits of held-out words that tables without context reach. Rows: lines or examples that "
        "were predicted."
    )
