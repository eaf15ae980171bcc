"""Statistics of piece lists alone: what one vocabulary holds and another does not.

Lengths are in characters. The word-start mark `▁` is not counted unless asked for, because the
paper does not say which it did: both conventions are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from sagevocab.analysis.stats import Interval, proportion_interval
from sagevocab.vocab.pieces import WORD_START


class Share(float):
    """A share of pieces: a float that knows what it was counted from (nan of nothing).

    hits, total: number of pieces that have the property, and of all pieces asked.
    """

    hits: int
    total: int

    def __new__(cls, hits: int, total: int) -> Share:
        """Return hits / total."""
        share = super().__new__(cls, hits / total if total else float("nan"))
        share.hits, share.total = hits, total
        return share

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return Wilson's interval of the share."""
        return proportion_interval(self.hits, self.total, confidence)

    @classmethod
    def of(cls, answers: Iterable[bool]) -> Share:
        """Return the share of true answers."""
        counted = [bool(answer) for answer in answers]
        return cls(sum(counted), len(counted))


def only_in(first: Sequence[str], second: Collection[str]) -> list[str]:
    """Return the pieces of `first` that `second` lacks, in the order of `first`."""
    others = set(second)
    return [piece for piece in first if piece not in others]


def is_subset(small: Iterable[str], large: Iterable[str]) -> bool:
    """Whether `large` holds every piece of `small` (the paper: BPE 16 k within BPE 20 k)."""
    return set(small) <= set(large)


def share_in(pieces: Iterable[str], vocabulary: Iterable[str]) -> Share:
    """Return the share of `pieces` that stand in `vocabulary` (discarded pieces in BPE's)."""
    known = set(vocabulary)
    return Share.of(piece in known for piece in pieces)


def piece_length(piece: str, count_word_start: bool = False) -> int:
    """Return the length of a piece in characters, with or without its `▁`."""
    marked = piece.startswith(WORD_START) and not count_word_start
    return len(piece) - len(WORD_START) if marked else len(piece)


def length_histogram(pieces: Iterable[str], count_word_start: bool = False) -> pd.Series:
    """Return the number of pieces by length in characters: every length up to the largest.

    The piece `▁` has length 0 where the mark is not counted. Source: paper, Figure 2.
    """
    lengths = pd.Series([piece_length(piece, count_word_start) for piece in pieces], dtype=int)
    counts = lengths.value_counts()
    first = min(1, int(lengths.min())) if len(lengths) else 1
    index = pd.RangeIndex(first, int(lengths.max()) + 1 if len(lengths) else first, name="length")
    return counts.reindex(index, fill_value=0).astype(int).rename("pieces")


def word_initial_share(pieces: Iterable[str]) -> Share:
    """Return the share of pieces that start a word (paper: 83 % SaGe-only, 22 % BPE-only)."""
    return Share.of(piece.startswith(WORD_START) for piece in pieces)


def share_of_length(
    pieces: Iterable[str], low: int, high: int | None = None, count_word_start: bool = False
) -> Share:
    """Return the share of pieces of `low` to `high` characters, both included; no `high`: above.

    Source: paper, Section 4, "Token Length": 56 % of BPE-only pieces have 2 or 3 characters, 55 %
    of SaGe-only pieces 5 or more.
    """
    top = float("inf") if high is None else high
    return Share.of(low <= piece_length(piece, count_word_start) <= top for piece in pieces)


def substring_share(pieces: Iterable[str], vocabulary: Iterable[str]) -> Share:
    """Return the share of `pieces` that are proper substrings of a piece of `vocabulary`.

    `▁` is a character like others here: `▁th` is a substring of `▁the`, `th` of both.
    """
    parts = {part for piece in vocabulary for part in _proper_substrings(piece)}
    return Share.of(piece in parts for piece in pieces)


def frequency_differences(first: pd.Series, second: pd.Series) -> pd.DataFrame:
    """Return first, second, difference (first - second) by piece, from high to low difference.

    first, second: counts by piece on one corpus under two tokenizers; a piece that a vocabulary
    lacks has count 0. Ties stand by piece. Source: paper, Table "Tokens with high difference".
    """
    frame = pd.DataFrame({"first": first, "second": second}).fillna(0).astype("int64")
    frame["difference"] = frame["first"] - frame["second"]
    frame.index.name = "piece"
    frame = frame.sort_index()
    return frame.sort_values("difference", ascending=False, kind="stable")


def direction(piece: str, first: pd.Series, second: pd.Series) -> int:
    """Return 1 if a piece is more frequent in `first`, -1 if in `second`, 0 if it is in neither.

    Spelled with or without `▁` as given: `ing` is not `▁ing`.
    """
    difference = int(first.get(piece, 0)) - int(second.get(piece, 0))
    return (difference > 0) - (difference < 0)


def _proper_substrings(piece: str) -> Iterable[str]:
    size = len(piece)
    for start in range(size):
        for stop in range(start + 1, size + 1):
            if stop - start < size:
                yield piece[start:stop]
