"""Whether causal models of SaGe (released loss) need fewer bits than those of its controls.

docs/appendix/preregistrations/2026-11-27-models-of-controls.md has the rules,
results/reference/controls/README.md how the models were trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.paper.control_pieces import LABELS, LANGUAGES
from reproduction.paper.differences import differences, of_causal
from reproduction.paper.line_bits import CausalModel, CausalPanels
from reproduction.paper.table import Table
from reproduction.paper.tables_differences import table_of_differences
from reproduction.parquet import read_parquet

_BPE, _MORE, _SAGE = "BPE", "BPE, as many predictions", LABELS["sage_released_loss"]
_TOKENIZERS = {
    "bpe": _BPE,
    "bpe_more": _MORE,
    **{
        name: LABELS[name]
        for name in (
            *("sage_released_loss", "counts", "counts_reranked"),
            *("sage_released_loss_zero", "sage_released_loss_shuffled", "random"),
        )
    },
}
# By folder, the controls that SaGe (released loss) is compared with: a list is a family of tests,
# in both languages.
FAMILIES = {
    "causal": [
        ["counts", "sage_released_loss_zero"],
        ["sage_released_loss_shuffled", "random"],
        ["bpe_more"],
        ["counts_reranked"],
    ],
    "causal_large": [["counts", "sage_released_loss_zero"]],
}


def read_models(paths: Sequence[Path]) -> CausalPanels:
    """Read the bits of causal models after their training, a file a language.

    A row is a held-out line and a model: line, characters, bits, tokenizer and seed.

    Raises:
        UserError: a file is missing or damaged.
    """
    panels = {}
    for path in paths:
        rows = read_parquet(path, ["line", "characters", "bits", "tokenizer", "seed"])
        found = dict(iter(rows.groupby("tokenizer")))
        panels[LANGUAGES[path.stem]] = {
            label: list(_models(found[name]))
            for name, label in _TOKENIZERS.items()
            if name in found
        }
    return panels


def _models(rows: pd.DataFrame) -> Iterator[CausalModel]:
    """Yield the models of a tokenizer by seed; they have no learning curve."""
    for _, of_seed in rows.groupby("seed"):
        lines = of_seed.sort_values("line")
        yield CausalModel(
            lines["characters"].to_numpy(float), lines["bits"].to_numpy(float), pd.DataFrame()
        )


def table_causal(panels: CausalPanels, families: Sequence[Sequence[str]]) -> Table:
    """Return all differences from BPE, and SaGe (released loss)'s from the controls of each family.

    families: names of tokenizers, see `FAMILIES`.
    """
    labels = [label for label in next(iter(panels.values())) if label != _MORE]
    data = differences(_tested(panels, families))
    return table_of_differences(data, labels=labels, baseline=_BPE)


def _tested(panels: CausalPanels, families: Sequence[Sequence[str]]) -> Iterator[dict[str, Any]]:
    family_of = {_TOKENIZERS[name]: ", ".join(family) for family in families for name in family}
    for row in of_causal(panels, _BPE, list(family_of), seed=1):
        if row["baseline"] == _BPE and row["tokenizer"] != _MORE:
            yield row
        if row["baseline"] != _BPE and row["tokenizer"] == _SAGE:
            yield {**row, "family": family_of[row["baseline"]]}
