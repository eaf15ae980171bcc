"""Which lines count for a piece's loss: all of them, or a seeded sample of those that hold it.

Each piece has a key, and hashes every line's number under it. The n lines of lowest hash are its
sample: drawn piece by piece, without a list of each piece's lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sagevocab.vocab.compiled import compiled

HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)  # a limit that every line's hash keeps to


class Sample(NamedTuple):
    """Which lines count for a piece: those whose hash under its key is not above its limit."""

    keys: np.ndarray
    limits: np.ndarray


def sample_keys(n_pieces: int, seed: int) -> np.ndarray:
    """Return each piece's key to `line_hash`, uint64: lines of low hash come first."""
    return np.random.default_rng(seed).integers(0, 1 << 64, n_pieces, dtype=np.uint64)


@compiled
def counts_for(sample, piece, line):
    """Tell whether a line counts for a piece."""
    return line_hash(sample.keys[piece], line) <= sample.limits[piece]


@compiled
def line_hash(key, line):
    """Mix a piece's key and a line's number (splitmix64's finaliser: no two lines collide)."""
    x = key ^ np.uint64(line)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def distinct_pieces(types, first, pieces, number, seen, found):
    """List in `found` the distinct pieces of a line's word types; return how many.

    Type t lists pieces[first[t] : first[t + 1]]. seen: by piece, the last line it was found in.
    """
    n = 0
    for word in types:
        for piece in pieces[first[word] : first[word + 1]]:
            if seen[piece] != number:
                seen[piece] = number
                found[n] = piece
                n += 1
    return n


@compiled
def count_lines(lines, first, pieces, n_pieces):
    """Count, for every piece, the lines with a word type that lists it (as `distinct_pieces`)."""
    holding = np.zeros(n_pieces, np.int64)
    seen, found = np.full(n_pieces, -1, np.int64), np.empty(n_pieces, np.int64)
    for number in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[number] : lines.offsets[number + 1]]
        for k in range(distinct_pieces(types, first, pieces, number, seen, found)):
            holding[found[k]] += 1
    return holding


@compiled
def sample_limits(lines, first, pieces, holding, keys, n):
    """Return, for every piece, the n-th lowest hash among the lines `count_lines` counted.

    A piece of at most n such lines has the highest limit there is: all its lines count. The others
    keep their n lowest hashes in a heap each, the highest of them on top.
    """
    limits = np.full(len(keys), HIGHEST)
    begin = np.zeros(len(keys) + 1, np.int64)
    for piece in range(len(keys)):
        begin[piece + 1] = begin[piece] + n * (holding[piece] > n)
    heaps = np.full(begin[-1], HIGHEST)
    seen, found = np.full(len(keys), -1, np.int64), np.empty(len(keys), np.int64)
    for number in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[number] : lines.offsets[number + 1]]
        for k in range(distinct_pieces(types, first, pieces, number, seen, found)):
            piece = found[k]
            if holding[piece] > n:
                heap = heaps[begin[piece] : begin[piece + 1]]
                replace_highest(heap, line_hash(keys[piece], lines.number + number))
                limits[piece] = heap[0]
    return limits


@compiled
def replace_highest(heap, value):
    """Put `value` into a heap in place of the highest, unless it is higher still."""
    if value >= heap[0]:
        return
    at, child = 0, 1
    while child < len(heap):
        if child + 1 < len(heap) and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = value
