"""Whether SaGe 1.0's vectors give a causal model more than a count does.

    python benchmarks/causal_controls.py                      # the table, from what is committed
    python benchmarks/causal_controls.py --run results/mine   # first the bits, of a finished run

The models of a run's controls beside those of results/reference/lm, which saw the same lines with
the same seeds and settings. What is tested, docs/appendix/statistics.md says ("Causal
transformers"); results/reference/controls/README.md, how the run is made.
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
REFERENCE = ROOT / "results/reference/lm/causal"
OUTPUT = ROOT / "results/reference/controls/causal"
LANGUAGES = {"en": "English", "tr": "Turkish"}
LABELS = {
    "bpe": "BPE",
    "sage_released": "SaGe 1.0",
    "counts": "counts",
    "sage_released_zero": "SaGe 1.0 without vectors",
}
CONTROLS = ("counts", "sage_released_zero")
COLUMNS = ["line", "characters", "bits", "tokenizer", "seed"]


def write_bits(run: Path, output: Path) -> None:
    """Write what every control's models need for each held-out line at the end, a file a language.

    Bits are float32, as in results/reference/lm.
    """
    for language in LANGUAGES:
        frames = []
        for control in CONTROLS:
            for path in sorted((run / f"analysis/{language}/causal/{control}").glob("*.parquet")):
                frame = pd.read_parquet(path).assign(tokenizer=control, seed=int(path.stem))
                frames.append(at_the_end(frame).astype({"bits": np.float32}))
        write_parquet(output / f"{language}.parquet", pd.concat(frames)[COLUMNS])


def at_the_end(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the last validation, which asks all lines."""
    return frame[frame["step"] == frame["step"].max()]


def read_bits(folder: Path) -> CausalPanels:
    """Return the models of BPE, SaGe 1.0 and the controls by language."""
    panels = {}
    for language, title in LANGUAGES.items():
        known = at_the_end(pd.read_parquet(REFERENCE / f"{language}.parquet"))[COLUMNS]
        both = pd.concat([known, pd.read_parquet(folder / f"{language}.parquet")])
        panels[title] = {label: list(_models(both, name)) for name, label in LABELS.items()}
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
        write_bits(arguments.run, arguments.output)
    data = compare(read_bits(arguments.output))
    shown = data.dropna(axis="columns", how="all")
    shown.to_csv(arguments.output / "table_causal.csv", index=False, lineterminator="\n")
    table = table_evidence(data, labels=list(LABELS.values()), baseline=LABELS["bpe"])
    (arguments.output / "table_causal.md").write_text(table.markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
