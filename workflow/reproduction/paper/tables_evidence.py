"""The table of all methods (`paper.evidence`), which the paper does not have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.paper.causal import CAUSAL, CausalPanels
from reproduction.paper.evidence import (
    MODELS,
    gather_evidence,
    read_models,
    read_probes,
    unit_of,
)
from reproduction.paper.formats import NOTHING, Files, Row, number
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.ngrams import Panels
from reproduction.paper.table import Table

_MARK = "*"


def table_evidence(
    ngrams: Panels,
    probes: Sequence[Files],
    causal: CausalPanels,
    differences: Sequence[Files],
    curves: Sequence[Files],
    paper: Mapping[str, Any],
    *,
    labels: Sequence[str],
    tasks: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    task_languages: Mapping[str, str],
    baseline: str,
    controls: Sequence[str],
    seed: int,
    notes: Sequence[str] = (),
) -> Table:
    """Return the differences from BPE by all methods, read and gathered (`evidence`)."""
    data = gather_evidence(
        ngrams,
        read_probes(tasks, seeds, labels, probes),
        read_models(differences, curves, task_languages, baseline),
        causal,
        baseline=baseline,
        controls=controls,
        paper=paper["tables"],
        seed=seed,
    )
    return table_of_evidence(data, labels=labels, baseline=baseline, notes=notes)


def table_of_evidence(
    data: pd.DataFrame, *, labels: Sequence[str], baseline: str, notes: Sequence[str] = ()
) -> Table:
    """Return the differences from BPE: a row a measure and language, a column a tokenizer.

    data: as `gather_evidence` gives it. labels: of all tokenizers in their order; baseline: of BPE.
    """
    others = [label for label in labels if label != baseline]
    blocks: dict[str, list[list[str]]] = {}
    shown = data[data["tested"]].groupby(["language", "measure"], sort=False)
    for (language, measure), rows in shown:
        own = {row["tokenizer"]: row for row in rows.to_dict("records")}
        first = next(iter(own.values()))
        cells = [_plus_minus(own.get(label)) for label in others]
        asked = NOTHING if pd.isna(first["rows"]) else f"{first['rows']:,.0f}"
        ends = [_printed(first, rows["seen_from"].max()), _printed(first, first["paper"], "+")]
        name = f"{measure} ({unit_of(first['metric'])[0]})"
        theirs = first["baseline_value"] if first["baseline"] == baseline else math.nan
        row = [language, name, asked, _printed(first, theirs), *cells, *ends]
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
    _, factor, digits = unit_of(row["metric"])
    return number(factor * value, f"{sign}.{digits}f")


def _plus_minus(row: Row | None) -> str:
    if row is None:
        return NOTHING
    half = _printed(row, (row["high"] - row["low"]) / 2)
    return f"{_printed(row, row['difference'], '+')} ± {half}{_MARK if row['significant'] else ''}"


def _note(data: pd.DataFrame, baseline: str) -> str:
    tested = data[data["tested"]]
    own = tested[~tested["method"].isin([MODELS, CAUSAL])].groupby("tokenizer").size()
    models = " Language models: as in their own tables." if (data["method"] == MODELS).any() else ""
    if (data["method"] == CAUSAL).any():
        models = (
            " Causal transformers: over their languages, and minus what is pruned without contexts "
            f"over languages and these.{models}"
        )
    family = f" over the {own.max()} tests of a tokenizer" if len(own) else ""
    return (
        f"Difference from {baseline} on the same lines or examples ± half of its 95 % interval. "
        "Bits a character: fewer are better, and more of the gain from context; scores are "
        f"multiplied by 100. {_MARK}: p < {SIGNIFICANT} by Holm{family}.{models} Seen from: the "
        "smallest true difference that one test finds in four of five cases, the largest of the "
        "tokenizers. Paper: SaGe minus BPE of fine-tuned BERT-large. Probes are linear models: "
        "they test segmentations. Vectors are frozen; intervals of theirs are over examples and "
        "seeds. Rows: lines or examples that were predicted."
    )
