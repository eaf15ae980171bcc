"""What SaGe and its controls prune in runs of other sizes and languages, and where they differ.

Of each run there is a file a language: a row a piece of the initial vocabulary, a column a
tokenizer and seed (`counts`, `sage.seed2`), the order in which it pruned the piece, or -1
(`paper.reference.write_prunings`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper.overlap import TAKEN_AWAY, overlaps, table_of_overlaps
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet
from sagevocab.pieces import WORD_START

LANGUAGES = {"en": "English", "tr": "Turkish", "de": "German", "ru": "Russian"}
LANGUAGES |= {"vi": "Vietnamese", "hi": "Hindi", "ar": "Arabic"}
SAGE = {
    "sage": "SaGe (printed)",
    "sage_released": "SaGe (released)",
    "sage_released_loss": "SaGe (released loss)",
}
CONTROLS = {
    "random": "pruned at random",
    "frequency": "least frequent pruned",
    "counts": "counts",
    "counts_reranked": "counts, ranked again",
    "extra_tokens": "extra tokens",
    "swallowed": "swallowed",
    **{f"{name}_zero": f"{label} without vectors" for name, label in SAGE.items()},
    **{f"{name}_shuffled": f"{label}, shuffled words" for name, label in SAGE.items()},
    **{
        f"{name}_shuffled_vectors": f"{label}, vectors of shuffled words"
        for name, label in SAGE.items()
    },
}
LABELS = SAGE | CONTROLS
WITHOUT = {  # version -> what is taken away -> the control
    label: {kind: LABELS[f"{name}_{kind}"] for kind in TAKEN_AWAY} for name, label in SAGE.items()
}
# Of each version, the control that counts and the one without vectors.
_COMPARED = {
    "sage": ("extra_tokens", "sage_zero"),
    "sage_released": ("counts", "sage_released_zero"),
}
_EXAMPLES = 10
_SIZE_OF_RUN = "16000"


def read_orders(path: Path) -> pd.DataFrame:
    """Read when each tokenizer pruned a piece, or -1: a column a tokenizer and seed, by piece.

    The prunings of the reference run itself stand before those that were made of its vocabularies
    later.

    Raises:
        UserError: the file is missing or damaged.
    """
    orders = read_parquet(path).set_index("piece")
    of_run = path.parents[2] / "intrinsic/prunings" / path.name
    if path.parent.name != _SIZE_OF_RUN or not of_run.exists():
        return orders
    return pd.concat([read_parquet(of_run).set_index("piece"), orders], axis=1)


def kept_by(orders: pd.DataFrame, name: str) -> list[str]:
    """Return the pieces that the column of a tokenizer keeps, in the initial order."""
    return [*orders.index[orders[name] < 0]]


def seeds_of(orders: pd.DataFrame, tokenizer: str) -> list[str]:
    """Return the columns of a tokenizer, one a seed."""
    return [name for name in orders if name.partition(".seed")[0] == tokenizer]


def table_overlap_sizes(paths: Iterable[Path]) -> Table:
    """Return the shares of pruned pieces in common, a row a version and run.

    paths: files of prunings, each in a folder that is named by its number of pieces.
    """
    shares = [_overlaps(path) for path in paths]
    return table_of_overlaps(pd.concat(shares, ignore_index=True), WITHOUT)


def _overlaps(path: Path) -> pd.DataFrame:
    orders = read_orders(path)
    pruned = {name: frozenset(orders.index[orders[name] >= 0]) for name in orders}
    readings, controls = (
        {label: seeds for name, label in labels.items() if (seeds := seeds_of(orders, name))}
        for labels in (SAGE, CONTROLS)
    )
    title = f"{LANGUAGES[path.stem]}, {int(path.parent.name):,} pieces"
    return overlaps({title: pruned}, readings, controls, [CONTROLS["random"]])


def table_pieces_differ(paths: Iterable[Path]) -> Table:
    """Return which pieces a version of SaGe prunes and a control keeps, and the other way round.

    paths: files of prunings, one a language.
    """
    data = pd.DataFrame(
        {"language": LANGUAGES[path.stem], **row}
        for path in paths
        for orders in [read_orders(path)]
        for sage, controls in _COMPARED.items()
        for control in controls
        for row in pieces_differ(orders, sage, control)
    )
    shares = {
        name: data[name].map("{:.0%}".format).str.replace("%", " %")
        for name in ("word_initial", "digits", "late")
    }
    cells = data.assign(**shares, characters=data["characters"].map("{:.1f}".format))
    head = ["text", "pruned by", "kept by", "pieces", "start a word", "characters", "with digits"]
    return Table([*head, "late", "examples"], [cells.astype(str).to_numpy().tolist()], data)


def pieces_differ(orders: pd.DataFrame, sage: str, control: str) -> Iterator[dict[str, Any]]:
    """Yield a row on what SaGe prunes and a control keeps, and one on the other way round.

    Of several seeds, all of one prune a piece and none of the other does. `late` is the share of
    these pieces in the last quarter of what was pruned, where a little less loss would have kept
    them; examples are the earliest pieces that BPE made.

    orders: as `read_orders` gives them. sage, control: names of tokenizers.
    """
    for by, other in itertools.permutations([sage, control]):
        pruned, kept = orders[seeds_of(orders, by)], orders[seeds_of(orders, other)]
        pieces = orders.index[((pruned >= 0).all(axis=1) & (kept < 0).all(axis=1)).to_numpy()]
        last_quarter = 0.75 * (pruned >= 0).sum().mean()
        yield {
            "pruned_by": LABELS[by],
            "kept_by": LABELS[other],
            "pieces": len(pieces),
            "word_initial": np.mean([piece.startswith(WORD_START) for piece in pieces]),
            "characters": np.mean([len(piece.lstrip(WORD_START)) for piece in pieces]),
            "digits": np.mean([any(map(str.isdigit, piece)) for piece in pieces]),
            "late": np.mean(pruned.loc[pieces].mean(axis=1) >= last_quarter),
            "examples": " ".join(pieces[:_EXAMPLES]),
        }
