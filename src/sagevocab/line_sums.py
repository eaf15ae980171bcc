"""The sums of an ablation pass over a stretch of the corpus.

A *view* says how V segments each word type, and how V without each piece t does (`decoding`);
`kernels` walks the lines; here they are shared out among threads.

Asked again after pieces have left, `LineSums` corrects the sums it has: only lines with a word type
that showed a piece that is gone have changed. All sums are of whole numbers, so that neither this
nor the number of threads, nor how lines are shared out, changes a byte.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sagevocab import kernels
from sagevocab.decoding import Decoder
from sagevocab.kernels import Lines, Sample, Scores, Sums, View

_PARTS = 64  # of the lines, for threads to share


class LineSums:
    """Sums over lines for any part of a full vocabulary, its pieces numbered by frequency."""

    def __init__(
        self, lines: Lines, decoder: Decoder, keys: np.ndarray, window: int, threads: int = 1
    ) -> None:
        """Take the lines.

        decoder: of their word types. keys: uint64[pieces], see `kernels.Sample`. window: W of
        Equation 1.
        """
        self._parts = split(lines)
        self._decoder, self._keys, self._window = decoder, keys, window
        self._threads = threads
        self._scores: Scores | None = None
        self._last: _Taken | None = None

    def use_scores(self, scores: Scores | None) -> None:
        """Take the pair losses for the passes that follow; None frees the memory of the last."""
        if scores is not self._scores:
            self._scores, self._last = scores, None

    def take(self, alive: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> Sums:
        """Return the sums of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. limits: uint64[pieces], which lines count, see `kernels.Sample`.
        """
        tokens = self._decoder.segment(alive)
        view = View(*tokens, *self._decoder.ablate(alive, wanted, tokens))
        last, n_types = self._last, len(view.offsets) - 1
        if last is None or not last.can_be_corrected(alive, wanted, limits):
            before, changed = _no_tokens(n_types), np.full(n_types, kernels.TOKENS)
            sums = kernels.zero_sums(len(self._keys))
        else:
            before, sums = last.view, last.sums
            changed = kernels.find_changed(before, last.alive & ~alive, wanted)
        sums = self._correct(sums, changed, before, view, wanted, Sample(self._keys, limits))
        self._last = _Taken(alive, wanted, limits, view, sums)
        return sums

    def _correct(
        self,
        sums: Sums,
        changed: np.ndarray,
        before: View,
        after: View,
        wanted: np.ndarray,
        sample: Sample,
    ) -> Sums:
        """Correct sums from one view to another, the lines shared out among the threads."""
        window, scores, parts = self._window, self._scores, iter(self._parts)

        def work(_: int) -> Sums:
            mine = kernels.zero_sums(len(wanted))
            for lines in parts:  # an iterator that all threads share
                kernels.ablate_lines(
                    lines, changed, before, after, wanted, window, scores, sample, mine
                )
            return mine

        with ThreadPoolExecutor(self._threads) as pool:
            return kernels.add_sums([sums, *pool.map(work, range(self._threads))])


@dataclass(frozen=True)
class _Taken:
    """Sums that were taken, of which pieces and lines, and for which vocabulary and view."""

    alive: np.ndarray
    wanted: np.ndarray
    limits: np.ndarray
    view: View
    sums: Sums

    def can_be_corrected(self, alive: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> bool:
        """Tell whether these sums are of those pieces and lines, and only pieces have left."""
        new = (wanted & ~self.wanted) | (alive & ~self.alive)
        return not new.any() and np.array_equal(limits, self.limits)


def split(lines: Lines, parts: int = _PARTS) -> list[Lines]:
    """Split lines into at most so many parts of about as many words."""
    offsets = lines.offsets
    bounds = np.linspace(offsets[0], offsets[-1], parts + 1).astype(np.int64)
    ends = np.searchsorted(offsets, bounds)
    return [
        Lines(lines.types, offsets[first : last + 1], lines.number + int(first))
        for first, last in zip(ends[:-1], ends[1:], strict=True)
        if last > first
    ]


def _no_tokens(types: int) -> View:
    """Return a view in which no word type has tokens."""
    nothing, offsets = np.zeros(0, np.int32), np.zeros(types + 1, np.int64)
    return View(nothing, offsets, offsets, nothing, nothing, nothing, offsets[:1], nothing)
