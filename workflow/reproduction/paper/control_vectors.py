"""Whether frozen vectors of SaGe (released loss) gain and lose what those of its controls do.

docs/appendix/preregistrations/2026-11-28-vectors-of-controls.md has the rule,
results/reference/controls/README.md how the vectors were made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.metrics import ratio
from reproduction.analysis.probes import HELDOUT, VALIDATION
from reproduction.analysis.scores import ScoreSums, TaskScores, resample_scores, score_sums
from reproduction.paper.control_pieces import CONTROLS, LABELS
from reproduction.paper.differences import OF_VECTORS, Task, difference_row, differences
from reproduction.paper.formats import NOTHING, difference, number
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet

BPE, SAGE = "BPE", LABELS["sage_released_loss"]
COUNTS, RANDOM = CONTROLS["counts"], CONTROLS["random"]
WITHOUT_VECTORS = CONTROLS["sage_released_loss_zero"]
SHUFFLED = CONTROLS["sage_released_loss_shuffled"]
COMPARED = (COUNTS, WITHOUT_VECTORS, SHUFFLED, RANDOM)
_SEEDS = (1, 2, 3, 4, 5)
# Label -> its vocabularies.
_VOCABULARIES = {
    BPE: ["bpe"],
    SAGE: ["sage_released_loss"],
    COUNTS: ["counts"],
    WITHOUT_VECTORS: ["sage_released_loss_zero"],
    SHUFFLED: ["sage_released_loss_shuffled"],
    RANDOM: ["random", *(f"random.seed{seed}" for seed in range(2, 6))],
}
# Vocabulary and seed of its vectors, of every model.
_MODELS = [*itertools.product(itertools.chain(*_VOCABULARIES.values()), _SEEDS)]
_TASKS = {
    "ner_tr": Task("ner_tr", "Turkish entities (F1)", "Turkish", "span_f1"),
    "stsb": Task("stsb", "STS-B (Pearson)", "English", "pearson"),
}
_SPLITS = {"ner_tr": VALIDATION, "stsb": HELDOUT}


def read_sums(path: Path) -> ScoreSums:
    """Read the terms of the score that each row of a task adds, of each of `_MODELS`.

    Of two texts the file has the cosine that each model gives (`counts.3`: the third seed of
    counts), and a label. Of a sentence it has how many entities there are, how many a model finds
    and how many of these are right (`counts.3.found`, `counts.3.right`).

    Raises:
        UserError: the file is missing or damaged.
    """
    rows = read_parquet(path)
    names = [f"{name}.{seed}" for name, seed in _MODELS]
    if "label" in rows:
        cosines = rows[names].to_numpy(float).T
        return score_sums(rows["label"].to_numpy(float), cosines, "pearson", None)
    right, found = (
        rows[[f"{name}.{key}" for name in names]].to_numpy() for key in ("right", "found")
    )
    entities = np.repeat(rows[["entities"]].to_numpy(), len(names), axis=1)
    terms = np.stack([right, entities, found], axis=-1).astype(float)
    return ScoreSums(terms, lambda sums: ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2]))


def _scores(sums: ScoreSums) -> TaskScores:
    """Return the scores by label: one a seed of its vectors, or the mean over these a pruning."""
    drawn = resample_scores(sums, [name for name, _ in _MODELS], seed=1).drawn
    return TaskScores(
        {
            label: drawn[names[0]]
            if len(names) == 1
            else np.stack([drawn[name].mean(axis=1) for name in names], axis=1)
            for label, names in _VOCABULARIES.items()
        }
    )


def of_vectors(task: Task, sums: ScoreSums) -> Iterator[dict[str, Any]]:
    """Yield SaGe minus each control, each control minus BPE, and SaGe minus BPE.

    The first two are a family each, over controls and tasks. Random prunings are no seeds of the
    vectors, so they are not paired with those of others.
    """
    scores = _scores(sums)
    pairs = [
        *((SAGE, control, "minus controls") for control in COMPARED),
        *((control, BPE, "controls") for control in COMPARED),
        (SAGE, BPE, SAGE),
    ]
    for label, baseline, family in pairs:
        yield difference_row(
            scores,
            label,
            baseline,
            family,
            are_seeds_shared=RANDOM not in (label, baseline),
            method=OF_VECTORS,
            measure=task.label,
            **task.columns,
            split=_SPLITS[task.name],
            rows=len(sums.rows),
        )


def explanation(rows: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    """Return what explains a gain or a loss of SaGe: contexts, counting, or open.

    rows: differences of one task, by tokenizer and baseline.
    """

    def side(label: str, baseline: str) -> int:
        row = rows[label, baseline]
        return int(np.sign(row["difference"])) if row["significant"] else 0

    sign = int(np.sign(rows[SAGE, BPE]["difference"]))
    if all(side(SAGE, control) == sign for control in (COUNTS, WITHOUT_VECTORS, SHUFFLED)):
        return "of contexts"
    counting = (COUNTS, WITHOUT_VECTORS)
    is_shared = all(side(SAGE, control) == 0 for control in counting)
    if is_shared and any(side(control, BPE) == sign for control in counting):
        return "of counting"
    return "open"


def table_vectors(paths: Sequence[Path]) -> Table:
    """Return the differences of each tokenizer from BPE, and of SaGe from each control.

    paths: answers to the tasks, see `read_sums`.

    Raises:
        UserError: a file is missing or damaged.
    """
    data = differences(*(of_vectors(_TASKS[path.stem], read_sums(path)) for path in paths))
    blocks = [_block(title, rows) for title, rows in data.groupby("measure", sort=False)]
    columns = ["task", BPE, "the difference is", "vectors of", f"minus {BPE}", f"{SAGE} minus it"]
    return Table(columns, blocks, data, opening=3)


def _block(title: str, rows: pd.DataFrame) -> list[list[str]]:
    found = {(row["tokenizer"], row["baseline"]): row for row in rows.to_dict("records")}
    of_bpe = number(100 * found[SAGE, BPE]["baseline_value"], ".2f")
    opening = [title, of_bpe, explanation(found)]
    return [
        [*opening, SAGE, _points(found[SAGE, BPE]), NOTHING],
        *(
            [*opening, label, _points(found[label, BPE]), _points(found[SAGE, label])]
            for label in COMPARED
        ),
    ]


def _points(row: Mapping[str, Any]) -> str:
    return difference(row, "+.2f", 100) + "*" * bool(row["significant"])
