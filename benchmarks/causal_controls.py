"""Whether SaGe 1.0's vectors give a causal model more than a count does.

    python benchmarks/causal_controls.py                      # the table, from what is committed
    python benchmarks/causal_controls.py --run results/mine   # first the bits, of a finished run

What is tested, docs/appendix/statistics.md says ("Models of the counting controls");
results/reference/controls/README.md, how the runs are made.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.paper.causal import CausalModel, CausalPanels
from reproduction.paper.evidence import gather_evidence
from reproduction.paper.tables_evidence import table_evidence
from reproduction.parquet import write_parquet

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "results/reference/controls/causal"
LANGUAGES = {"en": "English", "tr": "Turkish"}
LABELS = {
    "bpe": "BPE",
    "sage_released": "SaGe 1.0",
    "counts": "counts",
    "sage_released_zero": "SaGe 1.0 without vectors",
    "random": "pruned at random",
}
CONTROLS = ("counts", "sage_released_zero")


def write_bits(run: Path, output: Path) -> None:
    """Write what every model needs for each held-out line at the end, a file a language.

    Bits are float32, as in results/reference/lm.
    """
    output.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        frames = []
        for tokenizer in LABELS:
            for path in sorted((run / f"analysis/{language}/causal/{tokenizer}").glob("*.parquet")):
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
        panels[title] = {LABELS[name]: list(_models(bits, name)) for name in there}
    return panels


def _models(bits: pd.DataFrame, tokenizer: str) -> Iterator[CausalModel]:
    for _, own in bits[bits["tokenizer"] == tokenizer].groupby("seed"):
        lines = own.sort_values("line")
        characters = lines["characters"].to_numpy(float)
        yield CausalModel(characters, lines["bits"].to_numpy(float), curve=pd.DataFrame())


def compare(panels: CausalPanels) -> pd.DataFrame:
    """Return the differences from BPE, and SaGe 1.0's from each control, tested."""
    return gather_evidence(
        *({}, [], pd.DataFrame(), panels),
        baseline=LABELS["bpe"],
        paper={},
        seed=1,
        controls=[LABELS[name] for name in CONTROLS],
    )


def main(given: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", type=Path, help="a finished run's folder of results")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args(given)
    if arguments.run:
        for language in LANGUAGES:
            if not any(arguments.run.glob(f"analysis/{language}/causal/*/*.parquet")):
                parser.error(f"{arguments.run}: has no causal models of the language {language}")
        write_bits(arguments.run, arguments.output)
    panels = read_bits(arguments.output)
    data = compare(panels)
    shown = data.dropna(axis="columns", how="all")
    shown.to_csv(arguments.output / "table_causal.csv", index=False, lineterminator="\n")
    table = table_evidence(data, labels=list(panels["English"]), baseline=LABELS["bpe"])
    (arguments.output / "table_causal.md").write_text(table.markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
