"""Equation 1 and its ablations over lines of tokens, compiled. To be read against the paper.

    L(V, C) = - sum over lines, targets i, contexts j with 0 < |i - j| <= W of
              log sigma(E_T[x_i] . E_C[x_j])

Each unordered pair of positions counts from both sides, so a line is a sum over pairs i < j of
`pair_loss`. Taking a piece away re-segments every word that holds it. A pair changes only if its
span meets such a word: further pairs keep their tokens and their distance. So the ablation loss of
a line is the sum of `pairs_meeting` after, minus the same before, over the changed words. A span
that meets two of them is counted with the first.

Sums run in a fixed order in float64, and each caller hands over whole lines: results depend on
neither threads nor machine load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)  # a limit that every line's hash keeps to


class Scores(NamedTuple):
    """The embeddings, and a table of the pair losses met so far.

    table: float64[V (V + 1) / 2], the lower triangle by rows, 0 where not yet met; or empty, then
        nothing is kept. Threads share it: whoever writes an entry writes the same bytes.
    target, context: float64[V, d], E_T and E_C.
    """

    table: np.ndarray
    target: np.ndarray
    context: np.ndarray


class Lines(NamedTuple):
    """A stretch of the corpus: `types` int32[words], `offsets` int64[lines + 1] into it.

    number: the number of the first of these lines in the corpus.
    """

    types: np.ndarray
    offsets: np.ndarray
    number: int


class Sample(NamedTuple):
    """Which lines count for a piece: those whose hash under its key is not above its limit."""

    keys: np.ndarray
    limits: np.ndarray


@njit(cache=True, nogil=True)
def pair_loss(target, context, x, y):
    """Return -log sigma(E_T[x] . E_C[y]) - log sigma(E_T[y] . E_C[x]), without overflow."""
    there = back = 0.0
    for k in range(target.shape[1]):
        there += target[x, k] * context[y, k]
        back += context[x, k] * target[y, k]
    a, b = np.exp(-abs(there)), np.exp(-abs(back))
    return max(-there, 0.0) + max(-back, 0.0) + np.log1p(a + b + a * b)


@njit(cache=True, nogil=True)
def pairs_meeting(tokens, first, start, stop, end, window, scores):
    """Sum the pairs of tokens[first:end] whose span meets the word tokens[start:stop].

    The table is looked up here and not in a function of its own: for each array that a function
    is handed, Numba counts references with a lock, which costs several times the look-up.
    """
    table, target, context = scores
    loss = 0.0
    for i in range(max(first, start - window), stop):
        for j in range(max(start, i + 1), min(end, i + window + 1)):
            low, high = min(tokens[i], tokens[j]), max(tokens[i], tokens[j])
            if low < 0:  # an uncovered character holds its position and takes part in no pair
                continue
            at = np.int64(high) * (high + 1) // 2 + low
            if len(table) == 0:
                loss += pair_loss(target, context, high, low)
                continue
            if table[at] == 0.0:
                table[at] = pair_loss(target, context, high, low)
            loss += table[at]
    return loss


@njit(cache=True, nogil=True)
def ablation_loss(line, starts, words, variants, following, item, ablations, window, scores, new):
    """Return L without a piece minus L with it, over one line.

    line: its tokens; word w is line[starts[w] : starts[w + 1]].
    item: the first word that holds the piece; `words`, `variants` (its tokens without the piece)
    and `following` (the next such item, or -1) are by item. new: scratch.
    """
    loss = 0.0
    end = starts[-1]
    counted = 0  # pairs that begin before it met the changed word before
    while item >= 0:
        start, stop = starts[words[item]], starts[words[item] + 1]
        first = max(counted, start - window)
        loss -= pairs_meeting(line, first, start, stop, end, window, scores)

        new_start = 0
        for at in range(first, start):
            new[new_start] = line[at]
            new_start += 1
        new_stop = new_start
        for at in range(ablations.offsets[variants[item]], ablations.offsets[variants[item] + 1]):
            new[new_stop] = ablations.ids[at]
            new_stop += 1
        item = following[item]
        new_end = write_right(line, starts, stop, words, variants, following, item,
                              ablations, new, new_stop, new_stop + window)  # fmt: skip
        loss += pairs_meeting(new, 0, new_start, new_stop, new_end, window, scores)
        counted = stop
    return loss


@njit(cache=True, nogil=True)
def write_right(line, starts, at, words, variants, following, item, ablations, new, n, room):
    """Write to new[n:room] what follows position `at`, without the piece; return where it ends."""
    while n < room and at < starts[-1]:
        if item < 0 or at < starts[words[item]]:
            new[n] = line[at]
            n, at = n + 1, at + 1
        else:
            a, b = ablations.offsets[variants[item]], ablations.offsets[variants[item] + 1]
            for piece in ablations.ids[a : min(b, a + room - n)]:
                new[n] = piece
                n += 1
            at = starts[words[item] + 1]
            item = following[item]
    return n


@njit(cache=True, nogil=True)
def ablate_lines(lines, tokens, ablations, scores, window, sample):
    """Sum, for every piece of `ablations`, its ablation loss over the lines that count for it.

    Returns, by piece: loss float64, its occurrences, the lines that hold it, and the lines that
    count for it and open with it (any piece of `tokens`), int64.
    """
    n_pieces = len(sample.keys)
    loss, occurrences = np.zeros(n_pieces), np.zeros(n_pieces, np.int64)
    holding, opening = np.zeros(n_pieces, np.int64), np.zeros(n_pieces, np.int64)
    longest, most_words = longest_line(lines, tokens)
    line, starts = np.empty(longest, np.int32), np.empty(most_words + 1, np.int64)
    words, variants = np.empty(longest, np.int64), np.empty(longest, np.int64)
    following = np.empty(longest, np.int64)
    new = np.empty(2 * window + longest_variant(ablations), np.int32)
    head = np.full(n_pieces, -1, np.int64)  # the first item of each piece in the line
    for number in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[number] : lines.offsets[number + 1]]
        write_line(types, tokens, line, starts)
        if line[0] >= 0 and counts(sample, line[0], lines.number + number):
            opening[line[0]] += 1
        items = list_items(types, ablations, words, variants, following, head)
        for item in range(items):
            piece = ablations.pieces[variants[item]]
            for at in range(starts[words[item]], starts[words[item] + 1]):
                occurrences[piece] += line[at] == piece
            if head[piece] < 0:
                continue  # done with an earlier item
            holding[piece] += 1
            if counts(sample, piece, lines.number + number):
                loss[piece] += ablation_loss(
                    line, starts[: len(types) + 1], words, variants, following, head[piece],
                    ablations, window, scores, new
                )  # fmt: skip
            head[piece] = -1
    return loss, occurrences, holding, opening


@njit(cache=True, nogil=True)
def list_items(types, ablations, words, variants, following, head):
    """List (word, variant) for each piece of interest in each word of a line; return how many.

    The items of a piece are chained from left to right, from `head[piece]` along `following`.
    """
    n = 0
    for word in range(len(types) - 1, -1, -1):
        for variant in range(ablations.first[types[word]], ablations.first[types[word] + 1]):
            piece = ablations.pieces[variant]
            words[n], variants[n], following[n] = word, variant, head[piece]
            head[piece] = n
            n += 1
    return n


@njit(cache=True, nogil=True)
def total_loss(lines, tokens, scores, window):
    """Return L(V, C), Equation 1, over `lines`."""
    longest, most_words = longest_line(lines, tokens)
    line, starts = np.empty(longest, np.int32), np.empty(most_words + 1, np.int64)
    loss = 0.0
    for number in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[number] : lines.offsets[number + 1]]
        n = write_line(types, tokens, line, starts)
        loss += pairs_meeting(line, 0, 0, n, n, window, scores)
    return loss


@njit(cache=True, nogil=True)
def write_line(types, tokens, line, starts):
    """Write the tokens of a line's words, and where each word starts; return their number."""
    n = 0
    for word in range(len(types)):
        starts[word] = n
        for at in range(tokens.offsets[types[word]], tokens.offsets[types[word] + 1]):
            line[n] = tokens.ids[at]
            n += 1
    starts[len(types)] = n
    return n


@njit(cache=True, nogil=True)
def longest_line(lines, tokens):
    """Return the most tokens and the most words that any of `lines` has."""
    most = words = 0
    for number in range(len(lines.offsets) - 1):
        n = 0
        for at in range(lines.offsets[number], lines.offsets[number + 1]):
            n += tokens.offsets[lines.types[at] + 1] - tokens.offsets[lines.types[at]]
        most, words = max(most, n), max(words, lines.offsets[number + 1] - lines.offsets[number])
    return most, words


@njit(cache=True, nogil=True)
def longest_variant(ablations):
    """Return the most tokens that a word without a piece has."""
    most = 0
    for k in range(len(ablations.pieces)):
        most = max(most, ablations.offsets[k + 1] - ablations.offsets[k])
    return most


@njit(cache=True, nogil=True)
def line_hash(key, line):
    """Mix a piece's key and a line's number (splitmix64's finaliser: no two lines collide)."""
    x = key ^ np.uint64(line)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def counts(sample, piece, line):
    """Tell whether a line counts for a piece."""
    return line_hash(sample.keys[piece], line) <= sample.limits[piece]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def count_lines(lines, first, pieces, n_pieces):
    """Count, for every piece, the lines with a word type that lists it (as `distinct_pieces`)."""
    holding = np.zeros(n_pieces, np.int64)
    seen, found = np.full(n_pieces, -1, np.int64), np.empty(n_pieces, np.int64)
    for number in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[number] : lines.offsets[number + 1]]
        for k in range(distinct_pieces(types, first, pieces, number, seen, found)):
            holding[found[k]] += 1
    return holding


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
