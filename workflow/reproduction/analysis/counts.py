"""Count pieces, subwords per word and distinct neighbours of a segmented corpus.

These are the measurements behind the paper's Section 4: token frequency, subword fertility and
contextual exponence. Everything follows from the segmentation of each word type and the sequence
of type ids, so the token sequence is never in memory.

`Counts` are totals of a corpus, `LineTotals` the same by line, for intervals and tests over lines.

An uncovered character (UNK) holds a position of its line and counts among the subwords of its
word. It is no piece: it has no frequency and no neighbours, and is no neighbour of any piece.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pandas as pd

from reproduction.parquet import read_parquet, write_parquet
from sagevocab.segmentation import counts as counting
from sagevocab.segmentation.counts import Counts, SegmentedCorpus, count_line_tokens

NEIGHBOUR_BYTES = 1 << 30
WORD_BITS = 64

# A piece that occurs n times has a ratio of neighbours to frequency that is a multiple of 1 / n,
# and near the largest one whatever its contexts: rare pieces give the ratio's distribution a comb,
# and its mean the size of the text. From ten occurrences on, a bin of `figure_ratio` is five steps
# wide or more.
FEWEST_OCCURRENCES = 10


class LineTotals(SegmentedCorpus):
    """Totals by line of one tokenizer on one corpus: int64[lines], in the corpus's order.

    Words of a line are not independent of each other, nor is a line under two tokenizers: lines
    are the units that a resample may draw and a test may exchange.
    """

    @property
    def words(self) -> np.ndarray:
        """Words of each line, whatever the tokenizer."""
        return np.diff(self.line_offsets)

    @property
    def tokens(self) -> np.ndarray:
        """Tokens of each line."""
        return count_line_tokens(self)

    def words_with(self, fewest: int, most: int | None = None) -> np.ndarray:
        """Words of `fewest` to `most` subwords; no `most`: of `fewest` and more."""
        lengths, top = self.lengths, np.inf if most is None else most
        return self._by_line((lengths >= fewest) & (lengths <= top))

    def histogram(self, longest: int) -> np.ndarray:
        """Words by subwords: int32[lines, longest], for 1, 2, ..., `longest` or more.

        A word without tokens (an external tokenizer may give none) is in no column.
        """
        bins = np.minimum(self.lengths, longest) - 1
        return _histogram_by_line(bins, longest, self.types, self.line_offsets)

    def occurrences(self, pieces: Collection[str]) -> np.ndarray:
        """Tokens that are one of `pieces`; a piece that the vocabulary lacks has none."""
        wanted = set(pieces)
        chosen = np.array([piece in wanted for piece in self.pieces] + [False])
        # Place -1, the last, is the uncovered character's.
        before = np.concatenate(([0], np.cumsum(chosen[self.flat])))
        return self._by_line(np.diff(before[self.offsets]))

    def _by_line(self, values: np.ndarray) -> np.ndarray:
        return counting.sum_by_line(values.astype(np.int64), self.types, self.line_offsets)


# --- neighbours


def count_neighbours(
    corpus: SegmentedCorpus,
    windows: Sequence[int],
    *,
    threads: int = 1,
    budget: int = NEIGHBOUR_BYTES,
) -> np.ndarray:
    """Count the distinct pieces within each window of every piece: int64 (windows, pieces).

    The relation "stands within the window of" is a V x V bit matrix per window. Its rows are dealt
    out to blocks. One thread alone fills a block, in a pass over the corpus, so threads never meet
    and no order matters. The blocks that are in work fit into `budget` bytes together.
    """
    size, radii = len(corpus.pieces), np.asarray(windows, dtype=np.int64)
    row_words = -(-size // WORD_BITS)
    matrix_bytes = len(radii) * size * row_words * WORD_BITS // 8
    blocks = max(threads, -(-threads * matrix_bytes // budget))
    distinct = np.zeros((len(radii), size), dtype=np.int64)
    longest = count_line_tokens(corpus).max(initial=0)

    def count_block(block: int) -> None:
        members = np.arange(block, size, blocks)
        rows = np.full(size + 1, -1, dtype=np.int32)  # the last place is the uncovered character's
        rows[members] = np.arange(len(members))
        bits = np.zeros((len(radii), len(members), row_words), dtype=np.uint64)
        line = np.empty(longest, dtype=np.int32)
        text = corpus.types, corpus.line_offsets, corpus.flat, corpus.offsets
        _mark_neighbours(*text, radii, rows, line, bits)
        distinct[:, members] = np.bitwise_count(bits).sum(axis=2, dtype=np.int64)

    with ThreadPoolExecutor(max_workers=threads) as pool:
        list(pool.map(count_block, range(min(blocks, size))))
    return distinct


# --- counts as tables and files


def tables_of(
    counts: Counts, windows: Sequence[int] = (), distinct: np.ndarray | None = None
) -> dict[str, pd.DataFrame]:
    """Return the counts of a corpus as tables.

    windows, distinct: of `count_neighbours`.

    frequencies: piece, count; every piece of the vocabulary, in id order.
    fertility: subwords, words; corpus words (occurrences) by their number of subwords, 1 to the
        largest seen. Words without a token, which an external tokenizer may give, have a row too.
    neighbours: piece, window, distinct, count; a row per window and piece, with its frequency.
    lines: words, tokens; a row per line of the corpus, in its order.
    """
    pieces = pd.Index(counts.pieces, dtype=object)
    if distinct is None:
        distinct = np.zeros((0, len(pieces)), dtype=np.int64)
    first = 0 if counts.fertility[0] else 1
    return {
        "frequencies": pd.DataFrame({"piece": pieces, "count": counts.frequencies}),
        "fertility": pd.DataFrame(
            {
                "subwords": np.arange(first, len(counts.fertility)),
                "words": counts.fertility[first:],
            }
        ),
        "neighbours": pd.DataFrame(
            {
                "piece": np.tile(pieces, len(windows)),
                "window": np.repeat(np.asarray(windows, dtype=np.int32), len(pieces)),
                "distinct": distinct.reshape(-1),
                "count": np.tile(counts.frequencies, len(windows)),
            }
        ),
        "lines": pd.DataFrame({"words": counts.words, "tokens": counts.tokens}),
    }


def write_counts(
    counts: Counts, folder: Path, windows: Sequence[int], distinct: np.ndarray
) -> None:
    """Write the tables of `tables_of` to a folder as parquet, by their names."""
    for name, table in tables_of(counts, windows, distinct).items():
        write_parquet(folder / f"{name}.parquet", table)


def read_frequencies(path: Path | str) -> pd.Series:
    """Return the count of every piece, indexed by piece, in id order."""
    frame = read_parquet(path, ["piece", "count"])
    return frame.set_index("piece")["count"]


def read_fertility(path: Path | str) -> pd.Series:
    """Return corpus words (occurrences), indexed by their number of subwords (1, 2, ...)."""
    frame = read_parquet(path, ["subwords", "words"])
    return frame.set_index("subwords")["words"]


def read_neighbours(path: Path | str) -> pd.DataFrame:
    """Return piece, window, distinct, count: one row per window and piece."""
    return read_parquet(path, ["piece", "window", "distinct", "count"])


def read_lines(path: Path | str) -> pd.DataFrame:
    """Return words, tokens: one row per line of the corpus, the same lines for each tokenizer."""
    return read_parquet(path, ["words", "tokens"])


def rank_neighbours(neighbours: pd.DataFrame, window: int) -> pd.Series:
    """Return the distinct neighbours of every piece within `window`, from high to low.

    Ties are in id order. Source: paper, Section 4, "Contextual Exponence", the ranked chart.
    """
    rows = neighbours[neighbours["window"] == window]
    return rows.set_index("piece")["distinct"].sort_values(ascending=False, kind="stable")


def neighbour_ratio(neighbours: pd.DataFrame, window: int) -> pd.Series:
    """Return distinct neighbours / frequency by piece, of pieces of `FEWEST_OCCURRENCES` or more.

    Source: paper, Section 4, "Contextual Exponence", the normalized analysis.
    """
    rows = neighbours[
        (neighbours["window"] == window) & (neighbours["count"] >= FEWEST_OCCURRENCES)
    ]
    rows = rows.set_index("piece")
    return (rows["distinct"] / rows["count"]).rename("ratio")


# --- kernels


@numba.njit(cache=True, nogil=True)
def _mark_neighbours(types, line_offsets, flat, offsets, radii, rows, line, bits):
    """Set bits[window, rows[piece], neighbour] for the pieces that have a row.

    line: room for the tokens of the longest line.
    """
    for number in range(len(line_offsets) - 1):
        length = 0
        for kind in types[line_offsets[number] : line_offsets[number + 1]]:
            for position in range(offsets[kind], offsets[kind + 1]):
                line[length] = flat[position]
                length += 1
        for position in range(length):
            row = rows[line[position]]
            if row >= 0:
                for window in range(len(radii)):
                    low = max(0, position - radii[window])
                    high = min(length, position + radii[window] + 1)
                    _mark_window(line, position, low, high, bits[window, row])


@numba.njit(cache=True, nogil=True, inline="always")
def _mark_window(tokens, position, low, high, row):
    for other in range(low, high):
        neighbour = tokens[other]
        if other != position and neighbour >= 0:
            row[neighbour >> 6] |= np.uint64(1) << np.uint64(neighbour & 63)


@numba.njit(cache=True)
def _histogram_by_line(bins, n_bins, types, line_offsets):
    counts = np.zeros((len(line_offsets) - 1, n_bins), dtype=np.int32)
    for line in range(len(counts)):
        for position in range(line_offsets[line], line_offsets[line + 1]):
            column = bins[types[position]]
            if column >= 0:
                counts[line, column] += 1
    return counts
