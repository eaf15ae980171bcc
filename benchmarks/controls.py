"""On which pieces SaGe and its controls differ, and what they have in common in other runs.

    python benchmarks/controls.py                                     # from what is committed
    python benchmarks/controls.py --run results/wiki8k --size 8000    # first the prunings of a run

The reference run compares them at 16,000 pieces (`table_overlap`, `table_controls`,
`figure_controls` of results/reference/intrinsic). The second form adds a finished run with
vocabularies of another size or other languages: what each of them pruned (SIZE/LANGUAGE.parquet).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper.overlap import overlaps, table_of_overlaps
from reproduction.paper.reference import write_prunings
from reproduction.paper.table import Table
from sagevocab.pieces import WORD_START

REFERENCE = Path(__file__).parents[1] / "results/reference"
LANGUAGES = {"en": "English", "tr": "Turkish", "de": "German", "ru": "Russian"}
SAGE = {"sage": "SaGe", "sage_released": "SaGe 1.0"}
CONTROLS = {
    "random": "pruned at random",
    "frequency": "least frequent pruned",
    "counts": "counts",
    "counts_reranked": "counts, ranked again",
    "extra_tokens": "extra tokens",
    "swallowed": "swallowed",
    "sage_zero": "SaGe without vectors",
    "sage_shuffled": "SaGe, shuffled words",
    "sage_released_zero": "SaGe 1.0 without vectors",
    "sage_released_shuffled": "SaGe 1.0, shuffled words",
}


def seeds_of(names: Sequence[str], tokenizer: str) -> list[str]:
    """Return the vocabularies of a tokenizer among some, one a seed."""
    return [name for name in names if name == tokenizer or name.startswith(f"{tokenizer}.seed")]


def languages_of(folder: Path) -> list[str]:
    """Return the languages of which a folder has prunings."""
    return [language for language in LANGUAGES if (folder / f"{language}.parquet").exists()]


def read_orders(folder: Path, language: str) -> pd.DataFrame:
    """Return when each vocabulary of a folder pruned a piece, or -1."""
    return pd.read_parquet(folder / f"{language}.parquet").set_index("piece")


def write_size(run: Path, output: Path) -> None:
    """Write what SaGe and all controls of a run pruned."""
    names = [name for tokenizer in (*SAGE, *CONTROLS) for name in (tokenizer, f"{tokenizer}.seed2")]
    files = (run / f"vocab/{lang}/{name}/ablations.parquet" for lang in LANGUAGES for name in names)
    write_prunings([file for file in files if file.exists()], output)


def write_tables(folder: Path, output: Path) -> None:
    """Write table_overlap_sizes and table_pieces_differ.

    folder: has a folder of prunings by number of pieces; those of the reference run are read, too.
    """
    sizes = sorted(
        (one for one in folder.iterdir() if one.name.isdigit()), key=lambda one: int(one.name)
    )
    shares = [_overlaps(one, language) for one in sizes for language in languages_of(one)]
    table = table_of_overlaps(pd.concat(shares, ignore_index=True), notes=[])
    _write(table, output / "table_overlap_sizes")
    alike = [REFERENCE / "intrinsic/prunings", folder / "16000"]
    _write(table_pieces_differ(alike), output / "table_pieces_differ")


def _overlaps(folder: Path, language: str) -> pd.DataFrame:
    """Return what the vocabularies of one size have in common, in one language."""
    orders = read_orders(folder, language)
    pruned = {name: frozenset(orders.index[orders[name] >= 0]) for name in orders}
    known = {label: seeds_of(list(orders), name) for name, label in (SAGE | CONTROLS).items()}
    readings = {label: known.pop(label) for label in SAGE.values()}
    controls = {label: seeds for label, seeds in known.items() if seeds}
    title = f"{LANGUAGES[language]}, {int(folder.name):,} pieces"
    return overlaps({title: pruned}, readings, controls, [CONTROLS["random"]])


COMPARED = {  # of each version, the control that counts and the one without vectors
    "sage": ("extra_tokens", "sage_zero"),
    "sage_released": ("counts", "sage_released_zero"),
}
EXAMPLES = 10


def table_pieces_differ(folders: Sequence[Path]) -> Table:
    """Return which pieces a version of SaGe prunes and a control keeps, and the other way round.

    Of several seeds, all of one prune a piece and none of the other does. `late` is the share of
    these pieces in the last quarter of what was pruned, where a little less loss would have kept
    them; examples are the earliest pieces that BPE made.
    """
    rows = [
        {"language": LANGUAGES[language], "pruned_by": label, "kept_by": other, **described}
        for folder in folders
        for language in languages_of(folder)
        for sage, controls in COMPARED.items()
        for control in controls
        for label, other, described in _differences(read_orders(folder, language), sage, control)
    ]
    columns = {
        "language": "text",
        "pruned_by": "pruned by",
        "kept_by": "kept by",
        "pieces": "pieces",
        "word_initial": "start a word",
        "characters": "characters",
        "digits": "with digits",
        "late": "late",
        "examples": "examples",
    }
    shown = pd.DataFrame(rows)[list(columns)]
    percent, mean = "{:.0%}".format, "{:.1f}".format
    cells = shown.assign(
        word_initial=shown["word_initial"].map(percent).str.replace("%", " %"),
        digits=shown["digits"].map(percent).str.replace("%", " %"),
        late=shown["late"].map(percent).str.replace("%", " %"),
        characters=shown["characters"].map(mean),
    )
    return Table(list(columns.values()), [cells.astype(str).to_numpy().tolist()], shown)


def _differences(
    orders: pd.DataFrame, sage: str, control: str
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    names = {SAGE[sage]: seeds_of(list(orders), sage)}
    names[CONTROLS[control]] = seeds_of(list(orders), control)
    for label, other in itertools.permutations(names):
        by, kept = orders[names[label]], orders[names[other]]
        pieces = orders.index[((by >= 0).all(axis=1) & (kept < 0).all(axis=1)).to_numpy()]
        texts = [piece.lstrip(WORD_START) for piece in pieces]
        yield (
            label,
            other,
            {
                "pieces": len(pieces),
                "word_initial": np.mean([piece.startswith(WORD_START) for piece in pieces]),
                "characters": np.mean([len(text) for text in texts]),
                "digits": np.mean([any(map(str.isdigit, text)) for text in texts]),
                "late": np.mean(by.loc[pieces].mean(axis=1) >= 0.75 * (by >= 0).sum().mean()),
                "examples": " ".join(pieces[:EXAMPLES]),
            },
        )


def _write(table: Table, path: Path) -> None:
    """Write a table as csv and Markdown."""
    frame = pd.DataFrame(table.data)
    frame.to_csv(path.with_suffix(".csv"), index=False, lineterminator="\n")
    path.with_suffix(".md").write_text(table.markdown(), encoding="utf-8")


def main(given: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", type=Path, help="a finished run's folder of results")
    parser.add_argument("--size", help="how many pieces the run's vocabularies have")
    parser.add_argument("--output", type=Path, default=REFERENCE / "controls")
    arguments = parser.parse_args(given)
    if bool(arguments.run) != bool(arguments.size):
        parser.error("--run and --size go together")
    if arguments.run:
        write_size(arguments.run, arguments.output / arguments.size)
    write_tables(REFERENCE / "controls", arguments.output)


if __name__ == "__main__":
    main()
