"""Count pieces, subwords per word and distinct neighbours of a segmented corpus.

Everything follows from the segmentation of each word type and the sequence of type ids, so the
token sequence is never in memory. An uncovered character (UNK) holds a position of its line and
counts among the subwords of its word. It is not a piece: it has no frequency and no neighbours.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba
import numpy as np

from sagevocab.numba_cache import provide_cache

if TYPE_CHECKING:
    from sagevocab.corpus.words import WordCorpus
    from sagevocab.segmentation.segmenter import Segmenter

log = logging.getLogger(__name__)

provide_cache()

NEIGHBOUR_BYTES = 1 << 30
WORD_BITS = 64


@dataclass(frozen=True)
class Counts:
    """The counts of one corpus under one segmenter.

    pieces: those of the vocabulary, in id order.
    frequencies: int64[pieces], how often each occurs.
    fertility: int64[most + 1], corpus words (occurrences) of 0, 1, ... subwords, to the most seen.
        Only an external tokenizer gives a word none.
    windows: int32[windows].
    neighbours: int64[windows, pieces], the distinct pieces that occur within that many positions
        on either side of a piece in the same line.
    words, tokens: int32[lines], of each line of the corpus, in its order.
    unknown: tokens that are uncovered characters.
    """

    pieces: list[str]
    frequencies: np.ndarray
    fertility: np.ndarray
    windows: np.ndarray
    neighbours: np.ndarray
    words: np.ndarray
    tokens: np.ndarray
    unknown: int


class SegmentedCorpus:
    """A corpus as the segmentation of its word types and the sequence of their ids.

    flat: int32, piece ids of all types one after another, -1 for UNK.
    offsets: int64, type `t` is `flat[offsets[t]:offsets[t + 1]]`.
    types: int32, the corpus as type ids; line_offsets: int64, its lines.
    lengths: int64, the number of subwords of every type; type_counts: int64, its occurrences.
    """

    def __init__(self, corpus: WordCorpus, segmenter: Segmenter) -> None:
        """Segment every word type once."""
        self.pieces = list(segmenter.pieces)
        self.flat, self.offsets = segmenter.segment_words(corpus.types)
        self.types, self.line_offsets = corpus.tokens, corpus.line_offsets
        self.lengths, self.type_counts = np.diff(self.offsets), corpus.counts


def count_corpus(
    corpus: WordCorpus,
    segmenter: Segmenter,
    windows: Sequence[int] = (5, 2),
    *,
    threads: int = 1,
) -> Counts:
    """Count frequencies, fertility, distinct neighbours and line lengths of a corpus.

    The result is the same for any number of threads.
    Source: paper, Section 4, "Token Frequency", "Subword Fertility", "Contextual Exponence".
    """
    segmented = SegmentedCorpus(corpus, segmenter)
    frequencies, unknown = count_pieces(segmented)
    tokens = count_line_tokens(segmented)
    log.info("%d words are %d tokens, %d unknown", len(corpus.tokens), tokens.sum(), unknown)
    return Counts(
        pieces=segmented.pieces,
        frequencies=frequencies,
        fertility=count_fertility(segmented),
        windows=np.asarray(windows, dtype=np.int32),
        neighbours=count_neighbours(segmented, windows, threads=threads),
        words=np.diff(segmented.line_offsets).astype(np.int32),
        tokens=tokens.astype(np.int32),
        unknown=unknown,
    )


def count_pieces(corpus: SegmentedCorpus) -> tuple[np.ndarray, int]:
    """Return the frequency of every piece (int64, id order) and the number of UNK tokens."""
    totals = count_ids(corpus.flat, corpus.offsets, corpus.type_counts, len(corpus.pieces))
    return totals[:-1], int(totals[-1])


@numba.njit(cache=True)
def count_ids(flat, offsets, type_counts, size):
    """Return how many tokens have each id below `size`, and in the last place those that are UNK.

    flat, offsets, type_counts: as in `SegmentedCorpus`. Returns int64[size + 1].
    """
    totals = np.zeros(size + 1, dtype=np.int64)  # -1, of UNK, is its last place
    for number in range(len(type_counts)):
        for place in range(offsets[number], offsets[number + 1]):
            totals[flat[place]] += type_counts[number]
    return totals


def count_fertility(corpus: SegmentedCorpus) -> np.ndarray:
    """Return corpus words (occurrences) of 0, 1, ... subwords, to the most seen: int64."""
    totals = np.zeros(int(corpus.lengths.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(totals, corpus.lengths, corpus.type_counts)
    return totals


def count_line_tokens(corpus: SegmentedCorpus) -> np.ndarray:
    """Return the number of tokens of every line, int64."""
    return sum_by_line(corpus.lengths, corpus.types, corpus.line_offsets)


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


@numba.njit(cache=True, nogil=True)
def sum_by_line(lengths, types, line_offsets):
    """Return for each line the sum of a value of its word types."""
    sums = np.zeros(len(line_offsets) - 1, dtype=np.int64)
    for line in range(len(sums)):
        for position in range(line_offsets[line], line_offsets[line + 1]):
            sums[line] += lengths[types[position]]
    return sums


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
