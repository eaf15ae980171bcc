"""The loss of Equation 1, and how much it grows when one piece leaves the vocabulary.

    L(V, C) = - sum over lines, targets i, contexts j with 0 < |i - j| <= W of
              log sigma(E_T[x_i] . E_C[x_j])                    (paper, Equation 1)
    loss_t  = L(V without t, C) - L(V, C)                       (paper, Section 3, Algorithm 3)

`AblationLosses` takes loss_t exactly, for every piece t of interest in one pass over the corpus.
`LineSums` takes the sums over lines; they are read in one of three ways (`settings.READINGS`).

A *view* says how V segments each word type, and how V without each piece t does (`Decoder`);
`kernels` walks the lines; here they are shared out among threads.

After pieces have left, `LineSums` corrects the sums it has, those of the last ranking of all pieces
or of the last update: only lines with a word type that showed a piece that is gone have changed.
All sums are of whole numbers, so that neither this nor the number of threads, nor how lines are
shared out, changes a byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import UserError
from sagevocab.pruning import kernels
from sagevocab.pruning.kernels import Lines, Sample, Scores, Sums, View
from sagevocab.segmentation.counts import count_ids, sum_by_line
from sagevocab.segmentation.decoder import Decoder, build_merges, build_trie, list_distinct
from sagevocab.settings import SageSettings

_CACHE_BYTES = 1 << 30  # twice as many take longer to clear than they save
_TABLE_BYTES = 5 << 28  # of the losses of all pairs: up to 25,900 pieces
# A table is filled faster than a cache if the text has more pairs than one in so many of the table.
_PAIRS_FOR_ONE = 32


@dataclass(frozen=True)
class Losses:
    """Outcome of one pass, by piece number; 0 for pieces that were not asked for.

    loss: float64. occurrences: int64, tokens. lines: int64, lines that hold the token.
    opening: int64, of the lines that count for a piece, those whose first token it is.
    """

    loss: np.ndarray
    occurrences: np.ndarray
    lines: np.ndarray
    opening: np.ndarray


def make_decoder(
    name: str,
    words: Sequence[str],
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None = None,
) -> Decoder:
    """Make the decoder `name` for word types and a full vocabulary.

    Raises:
        UserError: there is no such decoder, or `merges` are wanted and not given.
    """
    if name == "greedy":
        return Decoder.greedy(words, build_trie(pieces))
    if merges is None:
        raise UserError("sage.decoder: merges needs an initial vocabulary with merges; use greedy")
    return Decoder.merging(words, build_merges(pieces, merges))


class AblationLosses:
    """Ablation losses of any part of a full vocabulary over one corpus.

    Outside, pieces go by their number in the full vocabulary, and masks say which of them are left.
    Inside they go by rank of frequency, so that those most met lie together in memory.
    """

    def __init__(
        self,
        corpus: WordCorpus,
        pieces: Sequence[str],
        decoder: Decoder,
        settings: SageSettings,
        *,
        cache_bytes: int = _CACHE_BYTES,
        table: bool | None = None,
    ) -> None:
        """Prepare the corpus.

        Threads, cache and table change no byte of the outcome.

        Args:
            corpus: whose lines count.
            pieces: of the vocabulary.
            decoder: made for `corpus.types` and `pieces`.
            settings: of which loss, loss_lines, window, seed and threads are read.
            cache_bytes: the most memory that a cache of pair losses may take.
            table: whether all pairs are tabled instead; None for whichever is faster.
        """
        self._reading, self._threads = settings.loss, settings.threads
        self._most = None if settings.loss_lines == "all" else settings.loss_lines  # lines
        self._cache_bytes = cache_bytes
        pairs = (len(pieces) + 1) * (len(pieces) + 2) // 2
        of_text = len(corpus.tokens) * settings.window * _PAIRS_FOR_ONE
        fits = 4 * pairs <= _TABLE_BYTES and pairs <= of_text
        self._table = fits if table is None else table
        self._n_pieces = len(pieces)
        self._whole = Lines(corpus.tokens, corpus.line_offsets, 0)
        characters = _longest_line(self._whole, corpus.types)  # no line has more tokens
        self._line_pairs = characters * min(settings.window, characters)
        self._one: float | None = None
        self._order = _by_frequency(corpus, decoder, len(pieces))  # int64[rank], a piece's number
        self._rank = np.argsort(self._order).astype(np.int32)
        self._decoder = decoder.renumbered(self._rank)
        self._keys = kernels.sample_keys(len(pieces), settings.seed)[self._order]
        self._limits = np.full(len(pieces), kernels.HIGHEST)
        if self._reading == "mean_string_lines":
            self._string_lines = self._count_string_lines(corpus, pieces)
        parts = self._whole, self._decoder, self._keys, settings.window
        self._sums = LineSums(*parts, self._threads)

    def use_embeddings(self, target: np.ndarray, context: np.ndarray) -> None:
        """Take E_T and E_C (float[pieces, dimensions]) for the passes that follow."""
        self._sums.use_scores(None)  # their memory is free before it is taken again
        scores = kernels.make_scores(
            target[self._order], context[self._order], self._cache_bytes, self._line_pairs,
            table=self._table, threads=self._threads,
        )  # fmt: skip
        self._one = float(scores.one)
        self._sums.use_scores(scores)

    def losses(self, alive: np.ndarray, wanted: np.ndarray) -> Losses:
        """Return the losses of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. A piece without occurrences has loss 0.
        """
        if self._one is None:
            raise ValueError("use_embeddings comes before the first pass")
        alive, wanted = alive[self._order], wanted[self._order]
        limits = self._limits
        if self._most is not None and self._reading == "mean_piece_lines":
            first, pieces = list_distinct(*self._decoder.segment(alive), wanted)
            limits = self._draw(pieces, first)
        return self._read(self._sums.take(alive, wanted, limits), wanted)

    def _read(self, sums: Sums, wanted: np.ndarray) -> Losses:
        """Read the sums as losses of the pieces that are wanted."""
        loss = (sums.high * 2.0**32 + sums.low) / self._one
        values = (loss, sums.occurrences, sums.lines, sums.opening)
        loss, occurrences, lines, opening = (
            np.where(wanted, value, value.dtype.type(0))[self._rank] for value in values
        )
        if self._reading == "total":
            return Losses(loss, occurrences, lines, opening)
        over = self._string_lines if self._reading == "mean_string_lines" else lines
        if self._most is not None:
            over = np.minimum(over, self._most)
        return Losses(loss / np.maximum(over, 1), occurrences, lines, opening)

    def _count_string_lines(self, corpus: WordCorpus, pieces: Sequence[str]) -> np.ndarray:
        """Count the lines that hold each piece as a string; draw the sample from them."""
        strings = Decoder.greedy(corpus.types, build_trie(pieces)).renumbered(self._rank)
        within, first = strings.pieces_within(self._n_pieces)
        if self._most is not None:
            self._limits = self._draw(within, first)
        return self._count_lines(first, within)[self._rank]

    def _draw(self, pieces: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Draw each piece's sample from the lines with a word type that lists it; its limits."""
        holding = self._count_lines(first, pieces)
        drawn = self._keys, self._most
        return kernels.sample_limits(self._whole, first, pieces, holding, *drawn)

    def _count_lines(self, first: np.ndarray, pieces: np.ndarray) -> np.ndarray:
        return count_lines(self._whole, first, pieces, self._n_pieces, self._threads)


class TokensPerLine:
    """How many tokens are a piece for each line in which its string stands: a count, not a loss.

    With BPE's merges a piece that leaves becomes the two that it was merged from: one token more
    for each of its own. If every pair cost the same, `mean_string_lines` would come down to this
    quotient. It is low for a piece whose string mostly stands inside longer tokens.
    """

    def __init__(
        self, corpus: WordCorpus, pieces: Sequence[str], decoder: Decoder, *, threads: int = 1
    ) -> None:
        """Count the lines; decoder: made for `corpus.types` and `pieces`."""
        self._counts, self._decoder = corpus.counts, decoder
        within, first = Decoder.greedy(corpus.types, build_trie(pieces)).pieces_within(len(pieces))
        lines = Lines(corpus.tokens, corpus.line_offsets, 0)
        self._lines = count_lines(lines, first, within, len(pieces), threads)

    def use_embeddings(self, target: np.ndarray, context: np.ndarray) -> None:
        """Take no notice of embeddings; as `AblationLosses` is used, so is this."""

    def losses(self, alive: np.ndarray, wanted: np.ndarray) -> Losses:
        """Return the quotients of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. A string that no line holds has 0. `lines` are those that hold the
        string; `opening` is 0.
        """
        tokens = count_tokens(self._decoder, alive, self._counts)
        tokens, lines = (np.where(wanted, values, 0) for values in (tokens, self._lines))
        return Losses(tokens / np.maximum(lines, 1), tokens, lines, np.zeros_like(tokens))


def count_lines(
    lines: Lines, first: np.ndarray, pieces: np.ndarray, n_pieces: int, threads: int
) -> np.ndarray:
    """Count the lines of each piece, shared out among threads; see `kernels.count_lines`."""

    def work(part: Lines) -> np.ndarray:
        return kernels.count_lines(part, first, pieces, n_pieces)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(work, split(lines)), np.zeros(n_pieces, np.int64))


def count_tokens(decoder: Decoder, alive: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return how many tokens are each piece: int64[pieces].

    Args:
        decoder: of the word types.
        alive: bool[pieces], the vocabulary.
        counts: int64[word types], how often the text has each.
    """
    return count_ids(*decoder.segment(alive), counts, len(alive))[:-1]


def lowest_first(loss: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Order piece numbers by ascending loss (float64[vocabulary]), ties to the higher number."""
    return pieces[np.lexsort((-pieces, loss[pieces]))]


def _by_frequency(corpus: WordCorpus, decoder: Decoder, n_pieces: int) -> np.ndarray:
    """Order pieces by falling frequency under the full vocabulary."""
    counts = count_tokens(decoder, np.ones(n_pieces, dtype=bool), corpus.counts)
    return np.argsort(-counts, kind="stable")


def _longest_line(lines: Lines, words: Sequence[str]) -> int:
    """Return the number of characters of the longest line, 1 if there is none."""
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    return int(sum_by_line(lengths, lines.types, lines.offsets).max(initial=1))


# --- sums over lines

_PARTS = 64  # of the lines, for threads to share: so many at least
_PART = 1 << 20  # words of a part, about, at most


class LineSums:
    """Sums over lines for any part of a full vocabulary, its pieces numbered by frequency."""

    def __init__(
        self, lines: Lines, decoder: Decoder, keys: np.ndarray, window: int, threads: int = 1
    ) -> None:
        """Take the lines.

        Args:
            lines: of the corpus.
            decoder: of their word types.
            keys: uint64[pieces], see `kernels.Sample`.
            window: W of Equation 1.
            threads: that work at once.
        """
        self._parts = split(lines)
        self._decoder, self._keys, self._window = decoder, keys, window
        self._threads = threads
        self._scores: Scores | None = None
        self._kept: list[_Taken] = []  # the last ranking of all pieces, and the last of some

    def use_scores(self, scores: Scores | None) -> None:
        """Take the pair losses for the passes that follow; None frees the memory of the last."""
        if scores is not self._scores:
            self._scores, self._kept = scores, []

    def take(self, alive: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> Sums:
        """Return the sums of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. limits: uint64[pieces], which lines count, see `kernels.Sample`.
        """
        tokens = self._decoder.segment(alive)
        view = View(*tokens, *self._decoder.ablate(alive, wanted, tokens))
        fitting = [one for one in self._kept if one.can_be_corrected(alive, wanted, limits)]
        n_types = len(view.offsets) - 1
        if not fitting:
            before, changed = _no_tokens(n_types), np.full(n_types, kernels.TOKENS)
            sums = kernels.zero_sums(len(self._keys))
        else:
            last = fitting[-1]
            before, sums = last.view, last.sums
            changed = kernels.find_changed(before, last.alive & ~alive, wanted)
        sums = self._correct(sums, changed, before, view, wanted, Sample(self._keys, limits))
        # An update of some candidates leaves the ranking of all, which the next one corrects.
        wider = [one for one in fitting[:1] if (one.wanted & alive & ~wanted).any()]
        self._kept = [*wider, _Taken(alive, wanted, limits, view, sums)]
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


def split(lines: Lines) -> list[Lines]:
    """Split lines into parts of about as many words."""
    offsets = lines.offsets
    parts = max(_PARTS, int(offsets[-1] - offsets[0]) // _PART)
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
