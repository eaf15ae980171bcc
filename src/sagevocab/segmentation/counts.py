"""Count pieces and subwords per word of a segmented corpus.

Everything follows from the segmentation of each word type and the sequence of type ids, so the
token sequence is never in memory. An uncovered character (UNK) holds a position of its line and
counts among the subwords of its word. It is not a piece: it has no frequency.
"""

from __future__ import annotations

import logging
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


@dataclass(frozen=True)
class Counts:
    """The counts of one corpus under one segmenter.

    pieces: those of the vocabulary, in id order.
    frequencies: int64[pieces], how often each occurs.
    fertility: int64[most + 1], corpus words (occurrences) of 0, 1, ... subwords, to the most seen.
        Only an external tokenizer gives a word none.
    words, tokens: int32[lines], of each line of the corpus, in its order.
    unknown: tokens that are uncovered characters.
    """

    pieces: list[str]
    frequencies: np.ndarray
    fertility: np.ndarray
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


def count_corpus(segmented: SegmentedCorpus) -> Counts:
    """Count frequencies, fertility and line lengths of a corpus.

    Source: paper, Section 4, "Token Frequency", "Subword Fertility".
    """
    frequencies, unknown = count_pieces(segmented)
    tokens = count_line_tokens(segmented)
    log.info("%d words are %d tokens, %d unknown", len(segmented.types), tokens.sum(), unknown)
    return Counts(
        pieces=segmented.pieces,
        frequencies=frequencies,
        fertility=count_fertility(segmented),
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


@numba.njit(cache=True, nogil=True)
def sum_by_line(lengths, types, line_offsets):
    """Return for each line the sum of a value of its word types."""
    sums = np.zeros(len(line_offsets) - 1, dtype=np.int64)
    for line in range(len(sums)):
        for position in range(line_offsets[line], line_offsets[line + 1]):
            sums[line] += lengths[types[position]]
    return sums
