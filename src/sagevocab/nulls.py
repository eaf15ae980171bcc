"""Vocabularies that are pruned without looking at contexts: what SaGe has to be told from.

Both begin where SaGe begins, at the initial BPE vocabulary, end at the same size, and keep single
characters, as SaGe does. What SaGe shares with them comes from pruning, not from context.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sagevocab.decoding import UNCOVERED, Decoder, build_trie
from sagevocab.pieces import check_singles, is_single_character
from sagevocab.words import WordCorpus

_NEVER = np.iinfo(np.int64).max


def prune_random(
    pieces: Sequence[str], final_size: int, seed: int
) -> tuple[list[str], pd.DataFrame]:
    """Prune pieces drawn at random, each of the prunable ones equally likely.

    Returns the pieces left, in their order, and the pruned ones in the order in which they were
    drawn: iteration (0), order, piece.

    Raises:
        UserError: there are more single characters than `final_size`.
    """
    check_singles(pieces, final_size)
    prunable = [number for number, piece in enumerate(pieces) if not is_single_character(piece)]
    drawn = np.random.default_rng(seed).permutation(prunable)[: len(pieces) - final_size]
    return _without(pieces, drawn, np.zeros(len(drawn), np.int64))


def prune_least_frequent(
    corpus: WordCorpus, pieces: Sequence[str], final_size: int, batch: int
) -> tuple[list[str], pd.DataFrame]:
    """Prune the least frequent pieces under greedy segmentation, `batch` at a time, as SaGe does.

    Frequencies are counted again before every batch; of equally frequent pieces those with the
    higher number go first, as BPE merged them later. Returns what `prune_random` returns.

    Raises:
        UserError: there are more single characters than `final_size`.
    """
    check_singles(pieces, final_size)
    decoder = Decoder.greedy(corpus.types, build_trie(pieces))
    prunable = np.array([not is_single_character(piece) for piece in pieces])
    alive, numbers = np.ones(len(pieces), dtype=bool), np.arange(len(pieces))
    order, iterations = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while (left := int(alive.sum()) - final_size) > 0:
        counts = np.where(prunable & alive, _frequencies(corpus, decoder, alive), _NEVER)
        lowest = np.lexsort((-numbers, counts))[: min(batch, left)]
        iterations = np.append(iterations, np.full(len(lowest), len(order) // batch))
        order = np.append(order, lowest)
        alive[lowest] = False
    return _without(pieces, order, iterations)


def _frequencies(corpus: WordCorpus, decoder: Decoder, alive: np.ndarray) -> np.ndarray:
    """Return how often each piece occurs in the corpus, segmented with those alive: int64."""
    ids, offsets = decoder.segment(alive)
    times, covered = np.repeat(corpus.counts, np.diff(offsets)), ids != UNCOVERED
    return np.bincount(ids[covered], times[covered], len(alive)).astype(np.int64)


def _without(
    pieces: Sequence[str], pruned: np.ndarray, iterations: np.ndarray
) -> tuple[list[str], pd.DataFrame]:
    gone = set(pruned.tolist())
    left = [piece for number, piece in enumerate(pieces) if number not in gone]
    names = pd.Series([pieces[number] for number in pruned], dtype="str")
    columns = {"iteration": iterations, "order": np.arange(len(names)), "piece": names}
    return left, pd.DataFrame(columns)
