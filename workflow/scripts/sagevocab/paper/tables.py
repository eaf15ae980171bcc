"""The paper's table of frequencies, and what the paper printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import yaml

from sagevocab.analysis.vocabulary import frequency_differences
from sagevocab.errors import UserError
from sagevocab.paper.formats import MINUS, NOTHING, write_table
from sagevocab.paper.notes import with_notes
from sagevocab.paper.panels import require_comparison

Files = str | Path


def read_paper_values(path: str | Path) -> dict:
    """Read what the paper printed (workflow/resources/paper_values.yaml).

    Raises:
        UserError: the file is missing or no YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read ({error}); restore it from git") from error


def table_frequencies(
    panels: Mapping[str, Mapping[str, pd.Series]],
    *,
    paper_pieces: Mapping[str, Mapping[str, Sequence[str]]],
    top: int,
    notes: Sequence[str] = (),
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the pieces whose frequency differs most between BPE and each SaGe tokenizer.

    panels: {language title: {tokenizer label: count by piece}}, BPE first. paper_pieces: {language
    title: {"sage": pieces printed as more frequent in SaGe, "bpe": in BPE}}. notes: sentences that
    end the note.
    Source: paper, Section 4, "Token Frequency".
    """
    require_comparison(panels)
    data = pd.concat(
        _frequency_block(title, panel, label, paper_pieces.get(title, {}), top)
        for title, panel in panels.items()
        for label in list(panel)[1:]
    )
    baseline = next(iter(next(iter(panels.values()))))
    shown, blocks = _frequency_rows(data, baseline)
    note = (
        f"Tokens of the training corpus; difference: the tokenizer named minus {baseline}. "
        "An asterisk marks the twelve pieces that the paper prints; the rows 'paper' give all of "
        "them, those it calls more frequent on the left."
    )
    files = {"tex": tex, "csv": csv, "md": md}
    write_table(
        shown, data, align="llrlrrlrr", note=with_notes(note, notes), blocks=blocks, **files
    )


def _frequency_block(
    title: str,
    panel: Mapping[str, pd.Series],
    label: str,
    printed: Mapping[str, Sequence[str]],
    top: int,
) -> pd.DataFrame:
    """Rows of one language and tokenizer: the largest differences each way, then the paper's."""
    baseline = next(iter(panel.values()))
    ranked = frequency_differences(panel[label], baseline)
    printed = {name: list(printed.get(name, [])) for name in ("sage", "bpe")}
    known = {piece for pieces in printed.values() for piece in pieces}
    chosen = {
        ("more", "rank"): ranked.head(top),
        ("less", "rank"): ranked[::-1].head(top),
        ("more", "paper"): ranked.reindex(printed["sage"], fill_value=0),
        ("less", "paper"): ranked.reindex(printed["bpe"], fill_value=0),
    }
    parts = [
        frame.reset_index().assign(
            direction=direction, listed=listed, rank=range(1, len(frame) + 1)
        )
        for (direction, listed), frame in chosen.items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.rename(columns={"first": "tokens", "second": "baseline_tokens"})
    rows["in_paper"] = rows["piece"].isin(known)
    rows.insert(0, "language", title)
    rows.insert(1, "tokenizer", label)
    order = ["language", "tokenizer", "listed", "direction", "rank", "piece"]
    return rows[[*order, "tokens", "baseline_tokens", "difference", "in_paper"]]


def _frequency_rows(data: pd.DataFrame, baseline: str) -> tuple[pd.DataFrame, list[int]]:
    """Return the table as printed and the rows that begin a block."""
    rows, blocks = [], []
    keys = ["language", "tokenizer", "listed"]
    for (language, tokenizer, listed), block in data.groupby(keys, sort=False):
        if rows and listed == "rank":
            blocks.append(len(rows))
        for rank, pair in block.groupby("rank", sort=True):
            more, less = (_frequency_cells(pair, side) for side in ("more", "less"))
            name = str(rank) if listed == "rank" else "paper"
            first = listed == "rank" and rank == 1
            rows.append([*((language, tokenizer) if first else ("", "")), name, *more, *less])
    sides = [f"More frequent than with {baseline}", f"Less frequent than with {baseline}"]
    header = [("Language", ""), ("Tokenizer", ""), ("Rank", "")]
    header += [(side, part) for side in sides for part in ("piece", "tokens", "difference")]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header)), blocks


def _frequency_cells(pair: pd.DataFrame, side: str) -> list[str]:
    found = pair[pair["direction"] == side]
    if found.empty:
        return [NOTHING] * 3
    row = found.iloc[0]
    mark = "*" if row["in_paper"] and row["listed"] == "rank" else ""
    difference = f"{row['difference']:+,}".replace("-", MINUS)
    return [row["piece"] + mark, f"{row['tokens']:,}", difference]
