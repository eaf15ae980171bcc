"""What a tokenizer makes of each line of a corpus, for intervals and tests over lines.

Words of one line are not independent of each other, nor is a line under two tokenizers; lines are
the units that a resample may draw and a test may exchange. Every number here is a function of the
word type, summed over the words of a line.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numba
import numpy as np

from sagevocab.vocab.segment import Segmenter
from sagevocab.vocab.words import WordCorpus


class LineTotals:
    """Totals by line of one tokenizer on one corpus: int32[lines], in the corpus's order.

    An uncovered character counts among the subwords of its word, but it is no piece.
    """

    def __init__(self, corpus: WordCorpus, segmenter: Segmenter) -> None:
        """Segment every word type once."""
        self._corpus = corpus
        self._pieces = list(segmenter.pieces)
        self._flat, self._offsets = segmenter.segment_words(corpus.types)

    @property
    def words(self) -> np.ndarray:
        """Words of each line, whatever the tokenizer."""
        return np.diff(self._corpus.line_offsets).astype(np.int32)

    @property
    def tokens(self) -> np.ndarray:
        """Tokens of each line."""
        return self._by_line(self._subwords)

    def words_with(self, fewest: int, most: int | None = None) -> np.ndarray:
        """Words of `fewest` to `most` subwords; no `most`: of `fewest` and more."""
        top = np.iinfo(np.int32).max if most is None else most
        return self._by_line((self._subwords >= fewest) & (self._subwords <= top))

    def histogram(self, longest: int) -> np.ndarray:
        """Words by subwords: int32[lines, longest], columns 1, 2, ..., `longest` and more.

        A word that a foreign tokenizer makes nothing of is in no column.
        """
        bins = np.minimum(self._subwords, longest) - 1
        return _histogram_by_line(bins, longest, self._corpus.tokens, self._corpus.line_offsets)

    def occurrences(self, pieces: Collection[str]) -> np.ndarray:
        """Tokens that are one of `pieces`; a piece that the vocabulary lacks has none."""
        wanted = set(pieces)
        chosen = np.array([piece in wanted for piece in self._pieces] + [False])
        # Place -1, the last, is the uncovered character's.
        before = np.concatenate(([0], np.cumsum(chosen[self._flat])))
        return self._by_line(np.diff(before[self._offsets]))

    @cached_property
    def _subwords(self) -> np.ndarray:
        return np.diff(self._offsets).astype(np.int32)

    def _by_line(self, values: np.ndarray) -> np.ndarray:
        return _sum_by_line(values.astype(np.int32), self._corpus.tokens, self._corpus.line_offsets)


@numba.njit(cache=True)
def _sum_by_line(values, tokens, line_offsets):
    sums = np.zeros(len(line_offsets) - 1, dtype=np.int32)
    for line in range(len(sums)):
        total = 0
        for position in range(line_offsets[line], line_offsets[line + 1]):
            total += values[tokens[position]]
        sums[line] = total
    return sums


@numba.njit(cache=True)
def _histogram_by_line(bins, n_bins, tokens, line_offsets):
    counts = np.zeros((len(line_offsets) - 1, n_bins), dtype=np.int32)
    for line in range(len(counts)):
        for position in range(line_offsets[line], line_offsets[line + 1]):
            column = bins[tokens[position]]
            if column >= 0:
                counts[line, column] += 1
    return counts
