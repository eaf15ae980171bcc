"""Whether frozen vectors of SaGe 1.0 gain and lose what those of its controls do.

    python benchmarks/control_vectors.py                          # from what is committed
    python benchmarks/control_vectors.py --run results/reference  # first the answers, of a run

docs/appendix/statistics.md has the rule ("Vectors of the controls"); a run with
`probes: {tasks: [stsb, ner_tr]}` has the answers, but for those of four more random prunings, which
are asked for by file: `analysis/tr/probes/random.seed2/ner_tr.parquet` to `random.seed5`, and the
same of `en` and `stsb`.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.analysis.metrics import ratio, spans_of
from reproduction.analysis.probes import HELDOUT, VALIDATION, VECTORS
from reproduction.analysis.scores import ScoreSums, TaskScores, resample_scores, score_sums
from reproduction.analysis.stats import adjust
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet, write_parquet

OUTPUT = Path(__file__).parents[1] / "results/reference/controls/vectors"
TASKS = {"ner_tr": ("tr", "Turkish entities (F1)"), "stsb": ("en", "STS-B (Pearson)")}
SEEDS = (1, 2, 3, 4, 5)
BPE, SAGE, RANDOM = "BPE", "SaGe 1.0", "pruned at random"
COUNTS, BLIND, SHUFFLED = "counts", "SaGe 1.0 without vectors", "SaGe 1.0, shuffled words"
VOCABULARIES = {
    BPE: ["bpe"],
    SAGE: ["sage_released"],
    COUNTS: ["counts"],
    BLIND: ["sage_released_zero"],
    SHUFFLED: ["sage_released_shuffled"],
    RANDOM: ["random", *(f"random.seed{seed}" for seed in range(2, 6))],
}
CONTROLS = (COUNTS, BLIND, SHUFFLED, RANDOM)


def models() -> list[tuple[str, int]]:
    """Return every vocabulary with every seed of its vectors, in the order of the columns."""
    return [*itertools.product(itertools.chain(*VOCABULARIES.values()), SEEDS)]


def write_answers(run: Path, output: Path) -> None:
    """Write of each tested row of a task what is right, and what the vectors of each model answer.

    Of two texts the cosine; of a sentence the entities found, and how many of them are right.
    """
    output.mkdir(parents=True, exist_ok=True)
    for task, (language, _) in TASKS.items():
        folder = run / f"analysis/{language}/probes"
        columns: dict[str, np.ndarray] = {}
        for name, seed in models():
            column = f"{VECTORS}{seed}"
            gold = "tags" if task == "ner_tr" else "label"
            rows = read_parquet(folder / name / f"{task}.parquet", ["split", gold, column])
            split = HELDOUT if (rows["split"] == HELDOUT).any() else VALIDATION
            rows = rows[rows["split"] == split]
            if gold == "label":
                columns["label"] = rows["label"].to_numpy(np.float32)
                columns[f"{name}.{seed}"] = rows[column].to_numpy(np.float32)
                continue
            right, found = ([spans_of(tags) for tags in rows[key]] for key in (gold, column))
            both = [len(a & b) for a, b in zip(right, found, strict=True)]
            columns["entities"] = np.array([*map(len, right)], np.int8)
            columns[f"{name}.{seed}.right"] = np.array(both, np.int8)
            columns[f"{name}.{seed}.found"] = np.array([*map(len, found)], np.int8)
        write_parquet(output / f"{task}.parquet", pd.DataFrame(columns))


def read_sums(path: Path) -> ScoreSums:
    """Return the terms of the score that each row adds, of each of `models`."""
    rows = pd.read_parquet(path)
    names = [f"{name}.{seed}" for name, seed in models()]
    if "label" in rows:
        values = rows[names].to_numpy(float).T
        return score_sums(rows["label"].to_numpy(float), values, "pearson", None)
    right, found = (rows[[f"{n}.{key}" for n in names]].to_numpy() for key in ("right", "found"))
    entities = np.repeat(rows[["entities"]].to_numpy(), len(names), axis=1)
    terms = np.stack([right, entities, found], axis=-1).astype(float)
    return ScoreSums(terms, lambda sums: ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2]))


def score(sums: ScoreSums) -> TaskScores:
    """Return the scores of each compared tokenizer: one a seed of its vectors, or one a pruning."""
    drawn = resample_scores(sums, [name for name, _ in models()], seed=1).drawn
    return TaskScores(
        {
            label: drawn[names[0]]
            if len(names) == 1
            else np.stack([drawn[name].mean(axis=1) for name in names], axis=1)
            for label, names in VOCABULARIES.items()
        }
    )


def compare(folder: Path) -> pd.DataFrame:
    """Return SaGe 1.0 minus each control, each control minus BPE, and SaGe 1.0 minus BPE.

    Columns: task, label, baseline, difference, low, high, p_value, p_adjusted (by Holm, the first
    two over controls and tasks), score and baseline_score.
    """
    pairs = [
        *((SAGE, control, "minus controls") for control in CONTROLS),
        *((control, BPE, "controls") for control in CONTROLS),
        (SAGE, BPE, "SaGe 1.0"),
    ]
    rows = []
    for task, (_, title) in TASKS.items():
        scores = score(read_sums(folder / f"{task}.parquet"))
        for label, baseline, family in pairs:
            # Of random pruning, a place is a vocabulary; of the others, a seed of the vectors.
            shared = RANDOM not in (label, baseline)
            found = scores.difference(label, baseline, are_seeds_shared=shared)
            rows.append(
                {
                    "task": title,
                    "label": label,
                    "baseline": baseline,
                    "score": scores.values[label].mean(),
                    "baseline_score": scores.values[baseline].mean(),
                    "difference": found.difference,
                    "low": found.low,
                    "high": found.high,
                    "p_value": found.p_value,
                    "family": family,
                }
            )
    data = pd.DataFrame(rows)
    return data.assign(p_adjusted=adjust(data["p_value"], data["family"])).drop(columns="family")


def verdict(rows: Mapping[tuple[str, str], Mapping[str, float]]) -> str:
    """Return what a gain or a loss of SaGe 1.0 is of: contexts, counting, or open.

    rows: of one task, by label and baseline.
    """

    def side(label: str, baseline: str) -> int:
        row = rows[label, baseline]
        return int(np.sign(row["difference"])) * (row["p_adjusted"] < SIGNIFICANT)

    sign = int(np.sign(rows[SAGE, BPE]["difference"]))
    if all(side(SAGE, control) == sign for control in (COUNTS, BLIND, SHUFFLED)):
        return "of contexts"
    counting = (COUNTS, BLIND)
    alike = all(side(SAGE, control) == 0 for control in counting)
    if alike and any(side(control, BPE) == sign for control in counting):
        return "of counting"
    return "open"


def table_vectors(data: pd.DataFrame) -> Table:
    """Return the differences as a table: a row a tokenizer, minus BPE and SaGe 1.0 minus it."""
    blocks = []
    for task, own in data.groupby("task", sort=False):
        rows = {(row["label"], row["baseline"]): row for row in own.to_dict("records")}
        first = [task, f"{100 * own['baseline_score'].iloc[-1]:.2f}", verdict(rows)]
        blocks.append([[*first, SAGE, _cell(rows[SAGE, BPE]), "–"]])
        blocks[-1] += [
            [*first, label, _cell(rows[label, BPE]), _cell(rows[SAGE, label])] for label in CONTROLS
        ]
    columns = ["task", BPE, "the difference is", "vectors of", f"minus {BPE}", "SaGe 1.0 minus it"]
    return Table(columns, blocks, data, opening=3)


def _cell(row: Mapping[str, float]) -> str:
    half = 50 * (row["high"] - row["low"])
    mark = "*" if row["p_adjusted"] < SIGNIFICANT else ""
    return f"{100 * row['difference']:+.2f} ± {half:.2f}{mark}".replace("-", "−")


def main(given: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", type=Path, help="a finished run's folder of results")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args(given)
    if arguments.run:
        write_answers(arguments.run, arguments.output)
    table = table_vectors(compare(arguments.output))
    path = arguments.output / "table_vectors"
    table.data.to_csv(path.with_suffix(".csv"), index=False, lineterminator="\n")
    path.with_suffix(".md").write_text(table.markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
