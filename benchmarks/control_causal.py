"""Whether causal models of SaGe 1.0's pieces need fewer bits than those of its controls.

    python benchmarks/control_causal.py                              # from what is committed
    python benchmarks/control_causal.py --write causal=results/mine  # first the bits, of a run

docs/appendix/statistics.md has the rules ("Models of the counting controls" and what follows it),
results/reference/controls/README.md how the runs are made.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.paper.causal import CausalModel, CausalPanels
from reproduction.paper.differences import differences, of_causal
from reproduction.paper.tables_differences import table_of_differences
from reproduction.parquet import write_parquet

OUTPUT = Path(__file__).parents[1] / "results/reference/controls"
LANGUAGES = {"en": "English", "tr": "Turkish"}
BPE, MORE, SAGE = "BPE", "BPE, as many predictions", "SaGe 1.0"
LABELS = {
    "bpe": BPE,
    "bpe_more": MORE,
    "sage_released": SAGE,
    "counts": "counts",
    "counts_reranked": "counts, ranked again",
    "sage_released_zero": "SaGe 1.0 without vectors",
    "sage_released_shuffled": "SaGe 1.0, shuffled words",
    "random": "pruned at random",
}
# By folder, what SaGe 1.0 is compared with: a list is a family of tests, in both languages.
FAMILIES = {
    "causal": [
        ["counts", "sage_released_zero"],
        ["sage_released_shuffled", "random"],
        ["bpe_more"],
        ["counts_reranked"],
    ],
    "causal_large": [["counts", "sage_released_zero"]],
}


def write_bits(run: Path, output: Path) -> None:
    """Write what every model of a run needs for each held-out line, a file a language.

    Seed 2 of `random` is that of the pruning `random.seed2`, where the run has one, and so on.
    Bits are float32, as in results/reference/lm.
    """
    output.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        frames = []
        for path in sorted((run / f"analysis/{language}/causal").glob("*/*.parquet")):
            tokenizer, _, _ = path.parent.name.partition(".")
            frame = pd.read_parquet(path).assign(tokenizer=tokenizer, seed=int(path.stem))
            frames.append(frame[frame["step"] == frame["step"].max()])
        bits = pd.concat(frames).astype({"bits": np.float32})
        write_parquet(output / f"{language}.parquet", bits)


def read_bits(folder: Path) -> CausalPanels:
    """Return the models by language and tokenizer."""
    panels = {}
    for language, title in LANGUAGES.items():
        bits = pd.read_parquet(folder / f"{language}.parquet")
        there = [name for name in LABELS if name in set(bits["tokenizer"])]
        panels[title] = {LABELS[name]: [*_models(bits, name)] for name in there}
    return panels


def _models(bits: pd.DataFrame, tokenizer: str) -> Iterator[CausalModel]:
    for _, own in bits[bits["tokenizer"] == tokenizer].groupby("seed"):
        lines = own.sort_values("line")
        characters = lines["characters"].to_numpy(float)
        yield CausalModel(characters, lines["bits"].to_numpy(float), curve=pd.DataFrame())


def compare(panels: CausalPanels, families: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Return all differences from BPE, and SaGe 1.0's from the tokenizers of each family."""

    def compared(labels: Sequence[str], controls: Sequence[str] = ()) -> pd.DataFrame:
        some = {title: {one: of[one] for one in labels} for title, of in panels.items()}
        return differences(of_causal(some, BPE, controls, seed=1))

    parts = [compared([one for one in next(iter(panels.values())) if one != MORE])]
    for family in families:
        controls = [LABELS[name] for name in family]
        beside = compared([BPE, SAGE, *controls], controls)
        parts.append(beside[beside["baseline"] != BPE])
    return pd.concat(parts, ignore_index=True)


def main(given: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", metavar="NAME=RUN", help="a folder here, and a run's results")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args(given)
    if arguments.write:
        name, _, run = arguments.write.partition("=")
        if name not in FAMILIES or not run:
            parser.error(
                f"--write {arguments.write}: give NAME=RUN, NAME one of {', '.join(FAMILIES)}"
            )
        write_bits(Path(run), arguments.output / name)
    for name, families in FAMILIES.items():
        folder = arguments.output / name
        panels = read_bits(folder)
        data = compare(panels, families)
        shown = data.dropna(axis="columns", how="all")
        shown.to_csv(folder / "table_causal.csv", index=False, lineterminator="\n")
        labels = [label for label in panels["English"] if label != MORE]
        table = table_of_differences(data, labels=labels, baseline=BPE)
        (folder / "table_causal.md").write_text(table.markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
