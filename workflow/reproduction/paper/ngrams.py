"""Kneser-Ney n-grams of every tokenizer's pieces: one table and one figure.

Both take {language: {tokenizer label: what its n-grams need for held-out lines}}. The bits are
those of a code of whole lines (`analysis.ngrams`), so vocabularies compare. The gain from context
is what two pieces before save: order 1 minus order 3. Intervals are 95 % bootstrap intervals over
held-out lines, each drawn under all tokenizers, sizes and orders at once. The paper has neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pandas as pd

from reproduction.analysis.ngrams import ORDERS
from reproduction.analysis.stats import estimate, resampled_weights
from reproduction.paper.forest import MARKS, forest
from reproduction.paper.formats import Show, decimal, plus_minus
from reproduction.paper.inputs import read_panels
from reproduction.paper.style import Files, tokenizer_styles
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError

_BITS = [f"bits_{order}" for order in range(1, ORDERS + 1)]
GAIN = "gain"
_CONTEXT = 3  # the order whose gain over order 1 is that from context


@dataclass(frozen=True)
class LineBits:
    """What a tokenizer's n-grams need for held-out lines.

    characters: float64[lines]. bits: lines estimated from, ascending -> float64[orders, lines].
    """

    characters: np.ndarray
    bits: Mapping[int, np.ndarray]

    def rate(self, lines: int, order: int) -> float:
        """Return the bits per character of all held-out lines."""
        return float(self.bits[lines][order - 1].sum() / self.characters.sum())

    def sample(self, lines: int) -> int:
        """Return the size of the largest sample of at most so many lines, or of the smallest."""
        return max((size for size in self.bits if size <= lines), default=min(self.bits))


Panels = Mapping[str, Mapping[str, LineBits]]


def read_ngrams(paths: Mapping[str, Mapping[str, Files]]) -> dict[str, dict[str, LineBits]]:
    """Read what `measure_ngrams` gave: title of a language -> label of a tokenizer -> file.

    Raises:
        UserError: a file is missing or damaged, or two in a language are of other lines.
    """
    panels = read_panels(paths, _read)
    for title, panel in panels.items():
        first, *rest = panel.values()
        if any(not np.array_equal(one.characters, first.characters) for one in rest):
            raise UserError(
                f"n-grams of {title} predicted other held-out lines than one another; delete the "
                "folder analysis/LANGUAGE/ngrams and run again"
            )
    return panels


def _read(path: Files) -> LineBits:
    frame = read_parquet(path, ["lines", "line", "characters", *_BITS]).sort_values("line")
    sizes = {size: part for size, part in frame.groupby("lines")}
    characters = next(iter(sizes.values()))["characters"].to_numpy(float)
    return LineBits(characters, {size: part[_BITS].to_numpy().T for size, part in sizes.items()})


# --- statistics


def summarise_ngrams(panels: Panels, *, baseline: str, seed: int) -> pd.DataFrame:
    """Return a row for each language, tokenizer and number of lines to estimate from.

    bits_1 to bits_5 (a character, by order) and gain (bits_1 - bits_3), each with `_low` and
    `_high`, and with the `_difference` from `baseline` on the same lines with its own interval.
    baseline: label of BPE. seed: of the bootstrap.

    Raises:
        UserError: there is nothing to compare.
    """
    _require_comparison(panels, baseline)
    rows = []
    for title, panel in panels.items():
        weights = resampled_weights(len(panel[baseline].characters), seed=seed)
        for label, own in panel.items():
            row = {"language": title, "tokenizer": label}
            other = None if label == baseline else panel[baseline]
            rows += [row | _of_size(own, other, size, weights) for size in own.bits]
    return pd.DataFrame(rows)


def _of_size(
    own: LineBits, baseline: LineBits | None, size: int, weights: np.ndarray
) -> dict[str, float]:
    ours = _rates(own.bits[size], own.characters, weights)
    row = {"lines": size, "heldout_lines": len(own.characters), **_estimates(ours, "")}
    if baseline is not None:
        theirs = _rates(baseline.bits[size], own.characters, weights)
        row |= _estimates({name: ours[name] - theirs[name] for name in ours}, "_difference")
    return row


def _require_comparison(panels: Panels, baseline: str) -> None:
    if not panels or any(baseline not in panel or len(panel) < 2 for panel in panels.values()):
        raise UserError(
            "config keys tokenizers, analysis.ngram_lines and language_settings: n-grams need bpe, "
            "another tokenizer, a number of lines and held-out lines (heldout_lines)"
        )


def _rates(bits: np.ndarray, characters: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return bits per character by order, and the gain: float64[1 + resamples] each."""
    rates = (weights @ bits.T / (weights @ characters)[:, None]).T
    return {**dict(zip(_BITS, rates, strict=True)), GAIN: rates[0] - rates[_CONTEXT - 1]}


def _estimates(rates: Mapping[str, np.ndarray], suffix: str) -> dict[str, float]:
    row = {}
    for name, values in rates.items():
        found = estimate(values)
        full = f"{name}{suffix}"
        row |= {full: found.value, f"{full}_low": found.low, f"{full}_high": found.high}
    return row


# --- table


def table_ngrams(
    panels: Panels,
    *,
    baseline: str,
    seed: int,
    notes: Sequence[str] = (),
) -> Table:
    """Return bits per character of every tokenizer by order, differences from BPE, and the gain.

    The table shows the most lines to estimate from, and the differences at order 3 for all sizes;
    `data` has all. baseline: label of BPE. seed: of the bootstrap. notes: sentences that end the
    note.
    """
    data = summarise_ngrams(panels, baseline=baseline, seed=seed)
    shown = [_shown(rows) for _, rows in data.groupby(["language", "tokenizer"], sort=False)]
    columns = _columns(sorted(data["lines"].unique()), baseline)
    blocks: dict[str, list[list[str]]] = {}
    for row in shown:
        cells = [show(row, name) for *_, name, show in columns]
        blocks.setdefault(row["language"], []).append([row["language"], row["tokenizer"], *cells])
    return Table(
        ["Language", "Tokenizer", *((group, name) for group, name, _, _ in columns)],
        blocks.values(),
        data,
        opening=1,
        note=[_note(data, baseline), *notes],
    )


def _shown(rows: pd.DataFrame) -> dict[str, object]:
    """Return what is shown of a tokenizer: the most lines, and order 3 with every size."""
    records = rows.to_dict("records")
    name = f"bits_{_CONTEXT}_difference"
    ends = ("", "_low", "_high")
    sizes = {f"{one['lines']}{end}": one.get(f"{name}{end}") for one in records for end in ends}
    return {**records[-1], **sizes}


def _columns(sizes: Sequence[int], baseline: str) -> list[tuple[str, str, str, Show]]:
    """Return group, column, field of the row and how it is printed."""
    orders, minus = "Bits per character by order", f"Order {_CONTEXT} minus {baseline}"
    return [
        *((orders, name.removeprefix("bits_"), name, decimal(".3f")) for name in _BITS),
        *((minus, f"{size:,} lines", str(size), plus_minus("+.3f")) for size in sizes),
        (f"Order {ORDERS}", f"minus {baseline}", f"{_BITS[-1]}_difference", plus_minus("+.3f")),
        ("Gain from context", "", GAIN, decimal(".3f")),
        ("Gain from context", f"minus {baseline}", f"{GAIN}_difference", plus_minus("+.3f")),
    ]


def _note(data: pd.DataFrame, baseline: str) -> str:
    most = data.groupby("language", sort=False)["lines"].max()
    held = data.groupby("language", sort=False)["heldout_lines"].max()
    read = "; ".join(f"{name} {held[name]:,} after {most[name]:,}" for name in most.index)
    return (
        "Modified Kneser-Ney n-grams of pieces: bits of whole held-out lines with their ends, a "
        f"character. Held-out lines, and lines estimated from if nothing else is said: {read}. "
        f"±: half of the 95 % bootstrap interval over lines of the difference from {baseline} on "
        f"the same lines. Gain from context: order 1 minus order {_CONTEXT}. The same number of "
        "pieces is less text where a vocabulary has more pieces a word: compare orders, too. Each "
        "character of an unknown piece costs 20.1 bits beside the piece."
    )


# --- figure

# field -> panel, unit, sign that has the better at the right
_PANELS = {
    f"bits_{_CONTEXT}_difference": (f"Order {_CONTEXT}", "bits per character, fewer →", -1),
    f"{_BITS[-1]}_difference": (f"Order {ORDERS}", "bits per character, fewer →", -1),
    f"{GAIN}_difference": (
        "Gain from context",
        f"bits per character,\norder 1 − order {_CONTEXT}, more →",  # noqa: RUF001
        1,
    ),
}


def figure_ngrams(panels: Panels, *, baseline: str, seed: int, **files: Files) -> None:
    """Draw each tokenizer's difference from BPE: a row a tokenizer, a mark a size; right is better.

    The mark of the most lines to estimate from is filled; lines are 95 % intervals. baseline: label
    of BPE. seed: of the bootstrap. files: pdf, png and optionally style.
    """
    data = summarise_ngrams(panels, baseline=baseline, seed=seed)
    data = data[data["tokenizer"] != baseline]
    most = data.groupby("language", sort=False)["lines"].transform("max")
    sizes = sorted(data.loc[data["lines"] < most, "lines"].unique())
    named = [f"{size:,} lines" for size in sizes]
    largest = f"all, {' and '.join(f'{size:,}' for size in dict.fromkeys(most))}"
    group = data["lines"].where(data["lines"] < most).map(lambda size: _size_name(size, largest))
    styles = tokenizer_styles(next(iter(panels.values())))
    marks = [
        pd.DataFrame(
            {
                "strip": data["language"],
                "panel": panel,
                "unit": unit,
                "row": data["tokenizer"],
                "group": group,
                "x": sign * data[field],
                "low": sign * data[f"{field}_low"],
                "high": sign * data[f"{field}_high"],
                "filled": data["lines"] == most,
                "colour": [styles[label].colour for label in data["tokenizer"]],
                "marker": group.map(dict(zip([*named, largest], cycle(MARKS), strict=False))),
            }
        )
        for field, (panel, unit, sign) in _PANELS.items()
    ]
    forest(pd.concat(marks), **files)


def _size_name(size: float, largest: str) -> str:
    return largest if pd.isna(size) else f"{size:,.0f} lines"
