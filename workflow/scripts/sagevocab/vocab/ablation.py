"""Ablation losses: how much Equation 1 grows when one piece leaves the vocabulary.

    loss_t = L(V without t, C) - L(V, C)        (paper, Section 3, Algorithm 3)

exactly, for every piece of interest in one pass over the corpus: `kernels` walks the lines,
`decoding` knows each word type's tokens with and without a piece, and here the work is shared out,
summed and read in one of three ways (`READINGS`).

Asked again after pieces have left, it corrects the sums it has, in the lines and types that show a
piece that is gone; the sums are of whole numbers, so that these are the same as sums taken afresh.
Any number of threads gives the same bytes for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sagevocab.errors import UserError
from sagevocab.vocab import kernels, places
from sagevocab.vocab.decoding import (
    Decoder,
    GreedyDecoder,
    MergeDecoder,
    build_merges,
    build_trie,
    code_points,
    list_within,
    merge_words,
)
from sagevocab.vocab.pairs import Scores, make_scores
from sagevocab.vocab.sampling import HIGHEST, Sample, count_lines, sample_keys, sample_limits
from sagevocab.vocab.settings import READINGS as READINGS
from sagevocab.vocab.views import TOKENS, View, follow, make_view, no_tokens
from sagevocab.vocab.words import WordCorpus

_PARTS = 64  # of the corpus, for threads to share
_CACHE_BYTES = 2 << 30


@dataclass(frozen=True)
class Objective:
    """Which `loss_t` is meant.

    window: W of Equation 1, in tokens to each side.
    reading: one of `READINGS`.
    lines: at most so many lines count for a piece, a seeded sample of the lines that the mean is
        over; None for all. A total is over all.
    seed: of that sample.
    """

    window: int = 5
    reading: str = "total"
    lines: int | None = None
    seed: int = 0


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
        return GreedyDecoder(code_points(words), build_trie(pieces))
    if merges is None:
        raise UserError("sage.decoder: merges needs an initial vocabulary with merges; use greedy")
    return MergeDecoder(merge_words(words, build_merges(pieces, merges)))


class AblationLosses:
    """Ablation losses of any part of a full vocabulary over one corpus.

    Pieces go by their number in the full vocabulary, and masks say which of them are left.
    """

    def __init__(
        self,
        corpus: WordCorpus,
        pieces: Sequence[str],
        decoder: Decoder,
        objective: Objective,
        *,
        threads: int = 1,
        cache_bytes: int = _CACHE_BYTES,
    ) -> None:
        """Prepare the corpus.

        decoder: made for `corpus.types` and `pieces`.
        cache_bytes: the most memory that pair losses may take; changes no byte of the outcome.
        """
        self._corpus = corpus
        self._decoder = decoder
        self._objective = objective
        self._threads = threads
        self._n_pieces = len(pieces)
        self._cache_bytes = cache_bytes
        self._parts = _split(corpus)
        characters = _longest_line(corpus, self._parts)  # no line has more tokens
        self._line_pairs = characters * min(objective.window, characters)
        self._scores: Scores | None = None
        self._last: _Taken | None = None
        self._rank = self._rank_by_frequency()
        self._order = np.argsort(self._rank[:-1])
        keys = sample_keys(self._n_pieces, objective.seed)[self._order]
        self._sample = Sample(keys, np.full(self._n_pieces, HIGHEST))
        if objective.reading == "mean_string_lines":
            self._string_lines = self._count_string_lines(pieces)

    def use_embeddings(self, target: np.ndarray, context: np.ndarray) -> None:
        """Take E_T and E_C (float[pieces, dimensions]) for the passes that follow."""
        self._scores = self._last = None  # their memory is free before it is taken again
        self._scores = make_scores(
            target[self._order], context[self._order], self._cache_bytes, self._line_pairs
        )

    def total(self, alive: np.ndarray) -> float:
        """Return L(V, C), Equation 1, for the pieces that are `alive` (bool[pieces])."""
        tokens = make_view(self._decoder, alive, np.zeros_like(alive), self._rank).tokens
        window, scores = self._objective.window, self._embeddings()
        with ThreadPoolExecutor(self._threads) as pool:
            losses = pool.map(
                lambda lines: kernels.total_loss(lines, tokens, window, scores), self._parts
            )
            return sum(losses)

    def losses(self, alive: np.ndarray, wanted: np.ndarray) -> Losses:
        """Return the losses of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. A piece without occurrences has loss 0.
        """
        last = self._last
        if last is None or (wanted & ~last.wanted).any() or (alive & ~last.alive).any():
            view = make_view(self._decoder, alive, wanted, self._rank)
            types = len(self._corpus.types)
            before, news = no_tokens(types), np.full(types, TOKENS)
            sums = kernels.Sums(*np.zeros((5, self._n_pieces), np.int64))
        else:
            before, sums = last.view, last.sums
            gone = last.alive & ~alive
            view, news = follow(before, gone, self._decoder, alive, wanted, self._rank)
        sums = self._correct(sums, news, before, view, wanted)
        if not self._sampled_by_token():
            self._last = _Taken(alive.copy(), wanted.copy(), view, sums)
        return self._read(sums, wanted)

    def _correct(
        self, sums: kernels.Sums, news: np.ndarray, before: View, after: View, wanted: np.ndarray
    ) -> kernels.Sums:
        """Correct sums from one view to another, the corpus shared out among the threads."""
        scores, window, sample = self._embeddings(), self._objective.window, self._sample_of(after)
        by_rank, parts = wanted[self._order], list(self._parts)

        def work(_: int) -> kernels.Sums:
            mine = kernels.Sums(*np.zeros((5, self._n_pieces), np.int64))
            while parts:
                try:
                    lines = parts.pop()
                except IndexError:  # another thread took the last one
                    break
                kernels.ablate_lines(
                    lines, news, before, after, by_rank, window, scores, sample, mine
                )
            return mine

        with ThreadPoolExecutor(self._threads) as pool:
            shares = [sums, *pool.map(work, range(self._threads))]
        return kernels.carried(kernels.Sums(*map(sum, zip(*shares, strict=True))))

    def _read(self, sums: kernels.Sums, wanted: np.ndarray) -> Losses:
        """Read the sums, which are by rank, as losses of the pieces that are wanted."""
        loss = (sums.high * 2.0**32 + sums.low) / self._embeddings().one
        values = (loss, sums.occurrences, sums.lines, sums.opening)
        loss, occurrences, lines, opening = (
            np.where(wanted, value[self._rank[:-1]], value.dtype.type(0)) for value in values
        )
        if self._objective.reading == "total":
            return Losses(loss, occurrences, lines, opening)
        over = self._string_lines if self._objective.reading == "mean_string_lines" else lines
        if self._objective.lines is not None:
            over = np.minimum(over, self._objective.lines)
        return Losses(loss / np.maximum(over, 1), occurrences, lines, opening)

    def _rank_by_frequency(self) -> np.ndarray:
        """Number pieces anew by frequency: int32[pieces + 1], at -1 the number of UNCOVERED."""
        ids, offsets = self._decoder.segment(np.ones(self._n_pieces, dtype=bool))
        weights = np.repeat(self._corpus.counts, np.diff(offsets))
        counts = np.bincount(ids[ids >= 0], weights[ids >= 0], minlength=self._n_pieces)
        rank = np.full(self._n_pieces + 1, self._n_pieces, dtype=np.int32)
        rank[np.argsort(-counts, kind="stable")] = np.arange(self._n_pieces)
        return rank

    def _count_string_lines(self, pieces: Sequence[str]) -> np.ndarray:
        """Count the lines that hold each piece as a string; draw the sample from them."""
        first, within = list_within(self._corpus.types, build_trie(pieces))
        within = self._rank[within]
        holding = count_lines(_whole(self._corpus), first, within, self._n_pieces)
        if self._objective.lines is not None:
            self._sample = self._draw(first, within, holding)
        return holding[self._rank[:-1]]

    def _sampled_by_token(self) -> bool:
        """Tell whether the lines that count change with the tokens: then sums are taken afresh."""
        return self._objective.lines is not None and self._objective.reading == "mean_piece_lines"

    def _sample_of(self, view: View) -> Sample:
        if not self._sampled_by_token():
            return self._sample
        first, pieces = view.ablations.first, view.ablations.pieces
        holding = count_lines(_whole(self._corpus), first, pieces, self._n_pieces)
        return self._draw(first, pieces, holding)

    def _draw(self, first: np.ndarray, pieces: np.ndarray, holding: np.ndarray) -> Sample:
        keys, n = self._sample.keys, self._objective.lines
        return Sample(keys, sample_limits(_whole(self._corpus), first, pieces, holding, keys, n))

    def _embeddings(self) -> Scores:
        if self._scores is None:
            raise ValueError("use_embeddings comes before the first pass")
        return self._scores


@dataclass(frozen=True)
class _Taken:
    """Sums that were taken, of which pieces, and for which vocabulary and view."""

    alive: np.ndarray
    wanted: np.ndarray
    view: View
    sums: kernels.Sums


def lowest_first(loss: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Order piece numbers by ascending loss (float64[vocabulary]), ties to the higher number."""
    return pieces[np.lexsort((-pieces, loss[pieces]))]


def _whole(corpus: WordCorpus) -> places.Lines:
    return places.Lines(corpus.tokens, corpus.line_offsets, 0)


def _split(corpus: WordCorpus) -> list[places.Lines]:
    """Split the corpus at line ends into parts of about as many words."""
    offsets = corpus.line_offsets
    ends = np.searchsorted(offsets, np.linspace(0, offsets[-1], _PARTS + 1).astype(np.int64))
    return [
        places.Lines(corpus.tokens, offsets[first : last + 1], int(first))
        for first, last in zip(ends[:-1], ends[1:], strict=True)
        if last > first
    ]


def _longest_line(corpus: WordCorpus, parts: Sequence[places.Lines]) -> int:
    """Return the number of characters of the longest line, 1 if there is none."""
    lengths, longest = np.array([len(word) for word in corpus.types], dtype=np.int64), 1
    for _, offsets, _ in parts:
        ends = np.cumsum(lengths[corpus.tokens[offsets[0] : offsets[-1]]])
        ends = np.concatenate([[0], ends])[offsets - offsets[0]]
        longest = max(longest, int(np.diff(ends).max()))
    return longest
