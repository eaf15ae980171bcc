"""Ablation losses over lines of tokens, compiled. To be read against Equation 1 of the paper.

    L(V, C) = - sum over lines, targets i, contexts j with 0 < |i - j| <= W of
              log sigma(E_T[x_i] . E_C[x_j])

Each unordered pair of positions counts from both sides, so a line is a sum over pairs i < j of
`pair_loss`. Taking a piece away puts other tokens in some places (see `places`). A pair changes if
its span meets such a place, and only then: the ablation loss of a line is the sum, over its places,
of the pairs that meet the new tokens, less those that met the old ones.

Functions take a block of lines, which fits the processor's cache: for each array that a compiled
function is handed, Numba counts references with a lock; line by line that would cost more than the
pairs do. For the same reason the loops over pairs look into the cache themselves, and call `fill`
only for a pair that is not there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sagevocab.vocab.compiled import compiled
from sagevocab.vocab.pairs import LOSS_BITS, LOSS_MASK, fill, pair_number
from sagevocab.vocab.places import (
    BEGIN,
    END,
    FIRST,
    LAST,
    LINE_END,
    LINE_START,
    LOSS,
    PIECE,
    START,
    STOP,
    changed_lines,
    count_items,
    count_openings,
    find_near,
    join_items,
    list_items,
    next_block,
    token_starts,
    write_places,
    write_tokens,
)


class Sums(NamedTuple):
    """What is summed by piece, int64: the loss is high * 2^32 + low units.

    occurrences: its tokens. lines: those that hold such a token. opening: lines that count for its
    loss and begin with it.
    """

    high: np.ndarray
    low: np.ndarray
    occurrences: np.ndarray
    lines: np.ndarray
    opening: np.ndarray


class Pairs(NamedTuple):
    """Pairs of tokens within the window, in a block: losses[i, d - 1] is that of (i, i + d).

    ahead[i], behind[i]: the sums of those whose left, right token stands before i.
    """

    losses: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray


@compiled
def sum_pairs(tokens, ends, window, scores):
    """Look up the pairs of every line; line k is up to ends[k]."""
    cache, bits = scores.cache, scores.bits
    inside = (np.uint64(1) << bits) - np.uint64(1)
    losses = np.empty((len(tokens), window), np.int64)
    ahead, behind = np.zeros(len(tokens) + 1, np.int64), np.zeros(len(tokens) + 1, np.int64)
    begin = 0
    for end in ends:
        for i in range(begin, end):
            for j in range(i + 1, min(i + window + 1, end)):
                pair = pair_number(tokens[i], tokens[j])
                entry = cache[pair & inside]
                if entry >> LOSS_BITS != (pair >> bits) + np.uint64(1):
                    entry = fill(scores, tokens[i], tokens[j])
                losses[i, j - i - 1] = np.int64(entry & LOSS_MASK)
                ahead[i + 1] += np.int64(entry & LOSS_MASK)
                behind[j + 1] += np.int64(entry & LOSS_MASK)
        begin = end
    for i in range(len(tokens)):
        ahead[i + 1] += ahead[i]
        behind[i + 1] += behind[i]
    return Pairs(losses, ahead, behind)


@compiled
def sum_old_pairs(places, tokens, window, pairs, scores):
    """Set each place's loss to what the pairs of old tokens add to it.

    Those that met the old tokens go. Of those, a pair from before the place to behind it comes back
    if the new tokens leave it in the window: if they are fewer than the old ones, others come in.
    """
    losses, ahead, behind = pairs
    for place in range(len(places)):
        start, stop, end = places[place, START], places[place, STOP], places[place, LINE_END]
        new = places[place, LAST] - places[place, FIRST]
        reach = window - (new - (stop - start))  # two tokens so far apart will be W apart
        loss = behind[start] - ahead[stop]
        for i in range(max(places[place, LINE_START], stop - reach), start):
            for j in range(stop, min(end, i + reach + 1)):
                if j - i <= window:
                    loss += losses[i, j - i - 1]
                else:
                    loss += np.int64(fill(scores, tokens[i], tokens[j]) & LOSS_MASK)
        places[place, LOSS] = loss


@compiled
def sum_new_pairs(places, tokens, window, scores):
    """Add to each place's loss the pairs that meet its new tokens."""
    cache, bits = scores.cache, scores.bits
    inside = (np.uint64(1) << bits) - np.uint64(1)
    for place in range(len(places)):
        loss, first = places[place, LOSS], places[place, FIRST]
        for i in range(first, places[place, LAST]):
            # Left of the place, then right of i: two new tokens pair once, from the left one.
            skip = i + 1 - first
            left = max(places[place, BEGIN], min(i - window, first))
            for at in range(left, min(i + window + 1, places[place, END]) - skip):
                j = at + skip * (at >= first)
                pair = pair_number(tokens[i], tokens[j])
                entry = cache[pair & inside]
                if entry >> LOSS_BITS != (pair >> bits) + np.uint64(1):
                    entry = fill(scores, tokens[i], tokens[j])
                loss += np.int64(entry & LOSS_MASK)
        places[place, LOSS] = loss


@compiled
def add_losses(places, sign, high, low):
    """Add each place's loss, `sign` times, to that of its piece."""
    for place in range(len(places)):
        piece = places[place, PIECE]
        total = low[piece] + sign * places[place, LOSS]
        high[piece] += total >> 32
        low[piece] = total & 0xFFFFFFFF


@compiled
def ablate_lines(lines, changed, before, after, wanted, window, scores, sample, sums):
    """Correct `sums` of the pieces that are `wanted`: from those of the view before to those after.

    changed: int8[types], what is new about a type: see `views`. From a view of no tokens and sums
    of 0, with the tokens of all types new, they are taken afresh.
    """
    numbers, begin = changed_lines(lines, changed), 0
    seen = np.full((2, 3, len(wanted)), -1, np.int64)
    while begin < len(numbers):
        block, begin = next_block(lines, numbers, begin)
        old_starts = token_starts(block.types, before.tokens)
        new_starts = token_starts(block.types, after.tokens)
        near = np.zeros(len(block.types), np.bool_)
        find_near(block, changed, old_starts, window, near)
        find_near(block, changed, new_starts, window, near)
        sign = -1
        for view, other, starts in ((before, after, old_starts), (after, before, new_starts)):
            tokens = write_tokens(block.types, view.tokens, starts)
            items = list_items(
                block, near, view.ablations, other.ablations, wanted, seen[max(sign, 0)]
            )
            pieces = view.ablations.pieces
            count_items(items, pieces, starts, tokens, sign, sums.occurrences, sums.lines)
            count_openings(block, starts, tokens, sample, sign, sums.opening)
            places = join_items(block, items, view.ablations, starts, window, sample)
            new = write_places(places, items, view.ablations, starts, tokens, window)
            pairs = sum_pairs(tokens, starts[block.ends], window, scores)
            sum_old_pairs(places, tokens, window, pairs, scores)
            sum_new_pairs(places, new, window, scores)
            add_losses(places, sign, sums.high, sums.low)
            sign = 1


def carried(sums: Sums) -> Sums:
    """Return sums with what their low words hold beyond 32 bits carried to the high ones."""
    return sums._replace(high=sums.high + (sums.low >> 32), low=sums.low & 0xFFFFFFFF)


@compiled
def total_loss(lines, tokens, window, scores):
    """Return L(V, C), Equation 1, over `lines`."""
    numbers, begin, loss = np.arange(len(lines.offsets) - 1), 0, 0.0
    while begin < len(numbers):
        block, begin = next_block(lines, numbers, begin)
        starts = token_starts(block.types, tokens)
        pairs = sum_pairs(
            write_tokens(block.types, tokens, starts), starts[block.ends], window, scores
        )
        by_token = pairs.ahead[1:] - pairs.ahead[:-1]  # a long block's sum may not fit 64 bits
        loss += by_token.astype(np.float64).sum()
    return loss / scores.one
