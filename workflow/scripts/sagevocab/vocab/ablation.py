"""Ablation losses: how much Equation 1 grows when one piece leaves the vocabulary.

    loss_t = L(V without t, C) - L(V, C)        (paper, Section 3, Algorithm 3)

exactly, for every piece of interest in one pass over the corpus: `kernels` walks the lines,
`decoding` knows each word type's tokens with and without a piece, and here the work is shared out,
summed and read in one of three ways (`READINGS`).

Lines are split into a fixed number of parts and sums are taken in their order, in float64: any
number of threads gives the same bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sagevocab.errors import UserError
from sagevocab.vocab import kernels
from sagevocab.vocab.decoding import (
    UNCOVERED,
    Ablations,
    Decoder,
    GreedyDecoder,
    MergeDecoder,
    Segmentation,
    build_merges,
    build_trie,
    list_within,
)
from sagevocab.vocab.words import WordCorpus

log = logging.getLogger(__name__)

DECODERS = ("greedy", "merges")
READINGS = ("total", "mean_piece_lines", "mean_string_lines")
_PARTS = 64  # of the corpus, whatever the number of threads
_TABLE_BYTES = 4 << 30


@dataclass(frozen=True)
class Objective:
    """Which `loss_t` is meant.

    window: W of Equation 1, in tokens to each side.
    reading: `total` over the corpus; `mean_piece_lines`, per line that holds the token;
        `mean_string_lines`, per line that holds the piece as a string, whether or not as a token
        (lines where it is no token count 0).
    lines: at most so many lines count for a piece, a seeded sample of the lines that the mean is
        over; None for all. A total is over all.
    seed: of that sample.
    """

    window: int = 5
    reading: str = "total"
    lines: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UserError: a value is out of bounds, or a total is asked for over a sample.
        """
        if self.reading not in READINGS:
            names = ", ".join(READINGS)
            raise UserError(f"sage.loss: {self.reading!r} is unknown; choose one of {names}")
        if self.window < 1:
            raise UserError(f"sage.window: {self.window} is too small; use 1 or more")
        if self.lines is not None and self.lines < 1:
            raise UserError(f"sage.loss_lines: {self.lines} is too small; use 1 or more, or all")
        if self.lines is not None and self.reading == "total":
            raise UserError("sage.loss_lines: a total is over all lines; use all, or a mean loss")


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
        return GreedyDecoder(words, build_trie(pieces))
    if name != "merges":
        raise UserError(f"sage.decoder: {name!r} is unknown; choose one of {', '.join(DECODERS)}")
    if merges is None:
        raise UserError("sage.decoder: merges needs an initial vocabulary with merges; use greedy")
    return MergeDecoder(words, build_merges(pieces, merges))


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
        table_bytes: int = _TABLE_BYTES,
    ) -> None:
        """Prepare the corpus.

        decoder: made for `corpus.types` and `pieces`.
        table_bytes: the most memory that a table of pair losses may take; without it, they are
            computed whenever they are met, which is some times slower and gives the same bytes.
        """
        self._corpus = corpus
        self._decoder = decoder
        self._objective = objective
        self._threads = threads
        self._n_pieces = len(pieces)
        self._table_bytes = table_bytes
        self._parts = _split(corpus)
        self._scores: kernels.Scores | None = None
        self._rank = self._rank_by_frequency()
        everything = np.full(self._n_pieces, kernels.HIGHEST)
        keys = sample_keys(self._n_pieces, objective.seed)[np.argsort(self._rank[:-1])]
        self._sample = kernels.Sample(keys, everything)
        if objective.reading == "mean_string_lines":
            self._string_lines = self._count_string_lines(pieces)

    def use_embeddings(self, target: np.ndarray, context: np.ndarray) -> None:
        """Take E_T and E_C (float[pieces, dimensions]) for the passes that follow."""
        order = np.argsort(self._rank[:-1])
        target, context = (np.ascontiguousarray(m[order], np.float64) for m in (target, context))
        entries = self._n_pieces * (self._n_pieces + 1) // 2
        if 8 * entries > self._table_bytes:
            log.info("%d pieces: pair losses are computed as they are met", self._n_pieces)
            entries = 0
        self._scores = kernels.Scores(np.zeros(entries), target, context)

    def total(self, alive: np.ndarray) -> float:
        """Return L(V, C), Equation 1, for the pieces that are `alive` (bool[pieces])."""
        tokens = self._ranked(self._decoder.segment(alive))
        window = self._objective.window
        scores = self._embeddings()
        return sum(
            self._map(lambda lines: kernels.total_loss(lines, tokens, scores, window), self._parts)
        )

    def losses(self, alive: np.ndarray, wanted: np.ndarray) -> Losses:
        """Return the losses of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. A piece without occurrences has loss 0.
        """
        segmentation = self._decoder.segment(alive)
        ablations = self._decoder.ablate(alive, wanted, segmentation)
        tokens = self._ranked(segmentation)
        ablations = Ablations(
            ablations.first,
            self._rank[ablations.pieces],
            ablations.offsets,
            self._rank[ablations.ids],
        )
        sample = self._sample_of(ablations)
        scores, window = self._embeddings(), self._objective.window
        parts = self._map(
            lambda lines: kernels.ablate_lines(lines, tokens, ablations, scores, window, sample),
            self._parts,
        )
        sums = [np.add.reduce(part)[self._rank[:-1]] for part in zip(*parts, strict=True)]
        return self._read(Losses(*sums))

    def _read(self, sums: Losses) -> Losses:
        if self._objective.reading == "total":
            return sums
        over = sums.lines
        if self._objective.reading == "mean_string_lines":
            over = self._string_lines
        if self._objective.lines is not None:
            over = np.minimum(over, self._objective.lines)
        return Losses(sums.loss / np.maximum(over, 1), sums.occurrences, sums.lines, sums.opening)

    def _rank_by_frequency(self) -> np.ndarray:
        """Number pieces anew by frequency, so that the pairs most read lie together in the table.

        int32[pieces + 1]: the last entry keeps UNCOVERED (-1) what it is.
        """
        ids, offsets = self._decoder.segment(np.ones(self._n_pieces, dtype=bool))
        weights = np.repeat(self._corpus.counts, np.diff(offsets))
        counts = np.bincount(ids[ids >= 0], weights[ids >= 0], minlength=self._n_pieces)
        rank = np.full(self._n_pieces + 1, UNCOVERED, dtype=np.int32)
        rank[np.argsort(-counts, kind="stable")] = np.arange(self._n_pieces)
        return rank

    def _ranked(self, tokens: Segmentation) -> Segmentation:
        return Segmentation(self._rank[tokens.ids], tokens.offsets)

    def _count_string_lines(self, pieces: Sequence[str]) -> np.ndarray:
        """Count the lines that hold each piece as a string; draw the sample from them."""
        first, within = list_within(self._corpus.types, build_trie(pieces))
        within = self._rank[within]
        whole = _whole(self._corpus)
        holding = kernels.count_lines(whole, first, within, self._n_pieces)
        if self._objective.lines is not None:
            self._sample = self._draw(first, within, holding)
        return holding[self._rank[:-1]]

    def _sample_of(self, ablations: Ablations) -> kernels.Sample:
        if self._objective.lines is None or self._objective.reading != "mean_piece_lines":
            return self._sample
        whole = _whole(self._corpus)
        holding = kernels.count_lines(whole, ablations.first, ablations.pieces, self._n_pieces)
        return self._draw(ablations.first, ablations.pieces, holding)

    def _draw(self, first: np.ndarray, pieces: np.ndarray, holding: np.ndarray) -> kernels.Sample:
        keys, n = self._sample.keys, self._objective.lines
        limits = kernels.sample_limits(_whole(self._corpus), first, pieces, holding, keys, n)
        return kernels.Sample(keys, limits)

    def _embeddings(self) -> kernels.Scores:
        if self._scores is None:
            raise ValueError("use_embeddings comes before the first pass")
        return self._scores

    def _map(self, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(work, parts))


def lowest_first(loss: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Order piece numbers by ascending loss (float64[vocabulary]), ties to the higher number."""
    return pieces[np.lexsort((-pieces, loss[pieces]))]


def sample_keys(n_pieces: int, seed: int) -> np.ndarray:
    """Return each piece's key to `kernels.line_hash`, uint64: lines of low hash come first."""
    return np.random.default_rng(seed).integers(0, 1 << 64, n_pieces, dtype=np.uint64)


def _whole(corpus: WordCorpus) -> kernels.Lines:
    return kernels.Lines(corpus.tokens, corpus.line_offsets, 0)


def _split(corpus: WordCorpus) -> list[kernels.Lines]:
    """Split the corpus at line ends into parts of about as many words."""
    offsets = corpus.line_offsets
    ends = np.searchsorted(offsets, np.linspace(0, offsets[-1], _PARTS + 1).astype(np.int64))
    return [
        kernels.Lines(corpus.tokens, offsets[first : last + 1], int(first))
        for first, last in zip(ends[:-1], ends[1:], strict=True)
        if last > first
    ]
