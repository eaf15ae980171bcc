"""Losses of pairs of pieces, in fixed point, computed once and then looked up.

A pair loss is rounded once, to a whole number of units (2^-40 for embeddings and lines of usual
length). From there on sums are of whole numbers: exact, the same in any order and for any number of
threads, and the same whether a sum is taken afresh or corrected step by step.

The cache has a fixed size, whatever that of the vocabulary: the next pair that belongs in a place
takes it over. Up to some 23,000 pieces each pair has its own place. An entry says which pair it is
beside its loss, in one word of 64 bits: threads share the cache without a lock, because each reads
a whole entry, and whoever writes an entry writes the same one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sagevocab.vocab.compiled import compiled

PAIR_BITS = 16  # of an entry: which pair it is, 0 for none; the bits below are its loss
LOSS_BITS = np.uint64(64 - PAIR_BITS)
LOSS_MASK = np.uint64((1 << (64 - PAIR_BITS)) - 1)
_FRACTION_BITS = 40  # of a loss; fewer where one may pass 2^8, or a line of them 2^22
_LINE_BITS = 62  # of a line's loss, in 64 bits: it stays clear of the sign


class Scores(NamedTuple):
    """The embeddings of pieces 0 to V - 1, and a cache of pair losses.

    cache: uint64[2^bits]. target, context: float[V, d], E_T and E_C. one: a loss of 1, in units.
    """

    cache: np.ndarray
    bits: np.uint64
    target: np.ndarray
    context: np.ndarray
    one: float


def make_scores(
    target: np.ndarray, context: np.ndarray, cache_bytes: int, line_pairs: int = 1
) -> Scores:
    """Take E_T and E_C of pieces numbered by falling frequency, and make an empty cache.

    cache_bytes: the most memory that the cache may take. A small one is slow, and changes no byte
    of the outcome. line_pairs: the most pairs that a line may have.
    """
    target, context = (np.ascontiguousarray(matrix) for matrix in (target, context))
    pairs = (len(target) + 1) * (len(target) + 2) // 2
    bits = min(max(cache_bytes // 8, 1).bit_length() - 1, pairs.bit_length())
    bits = max(bits, pairs.bit_length() - PAIR_BITS + 1)
    squares = (np.square(matrix, dtype=np.float64).sum(1).max() for matrix in (target, context))
    largest = 2 * (np.sqrt(np.prod(list(squares))) + 1)  # -log sigma(-x) < x + 1
    of_pair, of_line = (int(np.ceil(np.log2(most))) for most in (largest, largest * line_pairs))
    fraction = min(_FRACTION_BITS, 64 - PAIR_BITS - of_pair, _LINE_BITS - of_line)
    return Scores(np.zeros(1 << bits, np.uint64), np.uint64(bits), target, context, 2.0**fraction)


@compiled
def pair_number(x, y):
    """Number the unordered pairs of pieces: those of frequent pieces come first."""
    low, high = min(np.int64(x), np.int64(y)), max(np.int64(x), np.int64(y))
    return np.uint64((high * (high + 1) >> 1) + low)


@compiled
def pair_loss(target, context, x, y):
    """Return -log sigma(E_T[x] . E_C[y]) - log sigma(E_T[y] . E_C[x]), without overflow."""
    there = back = 0.0
    for k in range(target.shape[1]):
        there += np.float64(target[x, k]) * np.float64(context[y, k])
        back += np.float64(context[x, k]) * np.float64(target[y, k])
    a, b = np.exp(-abs(there)), np.exp(-abs(back))
    return max(-there, 0.0) + max(-back, 0.0) + np.log1p(a + b + a * b)


@compiled
def fill(scores, x, y):
    """Return the entry of a pair, computed if need be; an uncovered character (V) loses nothing."""
    pair = pair_number(x, y)
    place = pair & ((np.uint64(1) << scores.bits) - np.uint64(1))
    mark = (pair >> scores.bits) + np.uint64(1)
    if scores.cache[place] >> LOSS_BITS != mark:
        loss = 0.0
        if max(x, y) < len(scores.target):
            loss = pair_loss(scores.target, scores.context, max(x, y), min(x, y))
        scores.cache[place] = mark << LOSS_BITS | np.uint64(loss * scores.one + 0.5)
    return scores.cache[place]
