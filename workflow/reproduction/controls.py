"""Controls of SaGe: the vocabulary that it starts from, pruned without a look at contexts.

Each control ends at the same size as SaGe and keeps single characters, as SaGe does. What SaGe
shares with it needs no contexts. `prune_random` shows what any pruning does; the others count:

- `frequency`: the least frequent pieces go.
- `extra_tokens`: those whose removal adds the fewest tokens go. This is near the loss of the
  printed algorithm when all pairs cost the same.
- `largest_share_swallowed` (method `swallowed`): those of which one merge took the largest share
  go, as in PickyBPE (Chizhov et al. 2024, "BPE Gets Picky", its intersection over self), which
  prunes while it merges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.files import Columns
from sagevocab.pieces import check_singles, prunable
from sagevocab.pruning.loss import count_tokens
from sagevocab.segmentation.decoder import Decoder, build_merges, build_trie

# bool[pieces], those left -> float64[pieces]: the lowest go first.
Scores = Callable[[np.ndarray], np.ndarray]
Merge = tuple[str, str]


def prune_random(pieces: Sequence[str], vocab_size: int, seed: int) -> tuple[list[str], Columns]:
    """Prune pieces drawn at random, each of the prunable ones equally likely.

    Returns the pieces left, in their order, and columns of the pruned ones, in the order in which
    they were drawn: iteration (0), order, piece.

    Raises:
        UserError: there are more single characters than `vocab_size`.
    """
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(prunable(pieces)))
    order = np.empty(len(pieces))
    order[drawn] = np.arange(len(drawn))
    return prune_lowest(pieces, vocab_size, lambda alive: order)


def prune_lowest(
    pieces: Sequence[str], vocab_size: int, scores: Scores, batch: int | None = None
) -> tuple[list[str], Columns]:
    """Prune the pieces of lowest score, `batch` at a time, with new scores before every batch.

    Of pieces with equal scores those with the higher number go first, as BPE merged them later.

    Args:
        pieces: the initial vocabulary.
        vocab_size: pieces left in the end.
        scores: of the pieces, in the vocabulary that is left.
        batch: pieces of a batch; None ranks them once.

    Returns the pieces left, in their order, and columns of the pruned ones, in the order in which
    they went: iteration (the batch, from 0), order, piece.

    Raises:
        UserError: there are more single characters than `vocab_size`.
    """
    check_singles(pieces, vocab_size)
    may_go, numbers = np.array(prunable(pieces)), np.arange(len(pieces))
    alive, order = np.ones(len(pieces), dtype=bool), np.zeros(0, np.int64)
    batch = batch or max(1, len(pieces) - vocab_size)
    while (left := int(alive.sum()) - vocab_size) > 0:
        ranked = np.lexsort((-numbers, np.where(may_go & alive, scores(alive), np.inf)))
        lowest = ranked[: min(batch, left)]
        order, alive[lowest] = np.append(order, lowest), False
    return (
        [pieces[number] for number in np.flatnonzero(alive)],
        {
            "iteration": np.arange(len(order)) // batch,
            "order": np.arange(len(order)),
            "piece": [pieces[number] for number in order],
        },
    )


# --- scores


def frequency(corpus: WordCorpus, pieces: Sequence[str]) -> Scores:
    """Return how often each piece is a token under greedy segmentation."""
    return _tokens(corpus, Decoder.greedy(corpus.types, build_trie(pieces)))


def extra_tokens(corpus: WordCorpus, pieces: Sequence[str]) -> Scores:
    """Return how many tokens the corpus gains under greedy segmentation without each piece."""
    decoder = Decoder.greedy(corpus.types, build_trie(pieces))
    everything = np.array(prunable(pieces))

    def scores(alive: np.ndarray) -> np.ndarray:
        first, ablated, begins, ends, new_offsets, _ = decoder.ablate(
            alive, everything & alive, decoder.segment(alive)
        )
        gained = np.diff(new_offsets) - (ends - begins)
        times = np.repeat(corpus.counts, np.diff(first))
        return np.bincount(ablated, gained * times, minlength=len(pieces))

    return scores


def largest_share_swallowed(
    corpus: WordCorpus, pieces: Sequence[str], merges: Sequence[Merge]
) -> Scores:
    """Return minus the largest share of a piece's tokens that one merge took, when it was done.

    So what a merge took most of goes first. Pieces are numbered in the order of the merges that
    made them. A piece that merges took nothing of has the score 0.
    """
    decoder = Decoder.merging(corpus.types, build_merges(pieces, merges))
    whole, part, words = decoder.parts()
    times = corpus.counts[words]
    everything = np.ones(len(pieces), dtype=bool)
    made = np.bincount(part, times, len(pieces)) + _tokens(corpus, decoder)(everything)
    # A row a piece and merge that took it, in the order of the merges.
    keys, where = np.unique(part * len(pieces) + whole, return_inverse=True)
    taken = np.bincount(where, times)
    owner = keys // len(pieces)
    before = np.cumsum(taken) - taken
    before -= before[np.searchsorted(owner, owner)]
    shares = np.zeros(len(pieces))
    np.maximum.at(shares, owner, taken / (made[owner] - before))
    return lambda alive: -shares


def _tokens(corpus: WordCorpus, decoder: Decoder) -> Scores:
    """Return how often each piece is a token of the corpus."""
    return lambda alive: count_tokens(decoder, alive, corpus.counts)


# By the method of a tokenizer. `swallowed` needs BPE's merges beside text and pieces.
SCORES: Mapping[str, Callable[..., Scores]] = {
    "frequency": frequency,
    "extra_tokens": extra_tokens,
    "swallowed": largest_share_swallowed,
}
