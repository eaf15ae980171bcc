"""Equation 1 and its ablations over lines of tokens, compiled. To be read against the paper.

    L(V, C) = - sum over lines, targets i, contexts j with 0 < |i - j| <= W of
              log sigma(E_T[x_i] . E_C[x_j])

Each unordered pair of positions counts from both sides, so a line is a sum over pairs i < j of
`pair_loss`. Taking a piece away re-segments every word that holds it. A pair changes only if its
span meets such a word: all others keep their tokens and their distance. So the ablation loss of a
line is a sum over its changed words, of the pairs that meet the word afterwards, minus those that
met it before. A pair that meets two changed words is counted with the first.

Sums run in a fixed order in float64, and each caller hands over whole lines: results depend on
neither threads nor machine load.

Functions that loop over pairs or tokens call none that takes arrays: for each array that is handed
on, Numba counts references with a lock, which costs more than the pairs of a word together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)  # a limit that every line's hash keeps to

# Columns of an item: a word of a line that holds a piece of interest; where the word's tokens
# without the piece start and stop; the next item of the piece to the right, or -1.
PIECE, WORD, START, STOP, NEXT = range(5)


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
def sum_spans(tokens, spans, owners, n, window, scores, loss):
    """Add to the loss of owners[k] the pairs that meet its word after, less those before, k < n.

    spans: rows (begin, start, stop, end), 2 k before and 2 k + 1 after: of all pairs within
    tokens[begin:end], those whose span meets the word tokens[start:stop] count.
    """
    table, target, context = scores
    for k in range(n):
        difference = 0.0
        for row in range(2 * k, 2 * k + 2):
            begin, start, stop, end = spans[row, 0], spans[row, 1], spans[row, 2], spans[row, 3]
            pairs = 0.0
            for i in range(max(begin, start - window), stop):
                x = np.int64(tokens[i])
                for j in range(max(start, i + 1), min(end, i + window + 1)):
                    y = np.int64(tokens[j])
                    low, high = min(x, y), max(x, y)
                    if low < 0:  # an uncovered character holds its position and is in no pair
                        continue
                    at = np.uint64(high * (high + 1) // 2 + low)  # unsigned: not from the end
                    if len(table) == 0:
                        pairs += pair_loss(target, context, high, low)
                        continue
                    if table[at] == 0.0:
                        table[at] = pair_loss(target, context, high, low)
                    pairs += table[at]
            difference = pairs - difference
        loss[owners[k]] += difference


@njit(cache=True, nogil=True)
def write_spans(tokens, starts, words, items, n_items, head, number, sample, window, spans, owners):
    """Write the spans of each word that each piece of interest changes; return how many.

    tokens: the line, whose word w starts at starts[w]; then the items' variants, then room, where
    the tokens around each changed word are written as they are without the piece.
    """
    keys, limits = sample
    end, at, n = starts[words], items[n_items - 1, STOP], 0
    for k in range(n_items):
        piece = items[k, PIECE]
        item, head[piece] = head[piece], -1  # so that the piece's further items find it done
        if line_hash(keys[piece], number) > limits[piece]:
            continue
        counted = 0  # a pair that begins before this met the changed word before
        while item >= 0:
            word = items[item, WORD]
            first = max(counted, starts[word] - window)
            counted = starts[word + 1]
            spans[2 * n, 0], spans[2 * n, 1] = first, starts[word]
            spans[2 * n, 2], spans[2 * n, 3] = counted, end
            spans[2 * n + 1, 0], spans[2 * n + 1, 1] = at, at + starts[word] - first
            for source in range(first, starts[word]):
                tokens[at] = tokens[source]
                at += 1
            room = at + items[item, STOP] - items[item, START] + window
            spans[2 * n + 1, 2] = room - window
            following = item
            item = items[item, NEXT]
            while word < words and at < room:  # the word and, to the end of the window, the others
                a, b = starts[word], starts[word + 1]
                if following >= 0 and items[following, WORD] == word:
                    a, b = items[following, START], items[following, STOP]
                    following = items[following, NEXT]
                for source in range(a, min(b, a + room - at)):
                    tokens[at] = tokens[source]
                    at += 1
                word += 1
            spans[2 * n + 1, 3] = at
            owners[n] = piece
            n += 1
    return n


@njit(cache=True, nogil=True)
def list_items(types, ablations, tokens, starts, items, head, occurrences, holding):
    """List the items of a line and write their variants behind its tokens; return how many.

    The items of a piece are chained from left to right, from `head[piece]` on.
    """
    first, pieces, offsets, ids = ablations
    at, n = starts[len(types)], 0
    for word in range(len(types) - 1, -1, -1):
        for variant in range(first[types[word]], first[types[word] + 1]):
            piece = pieces[variant]
            for source in range(starts[word], starts[word + 1]):
                occurrences[piece] += tokens[source] == piece
            holding[piece] += head[piece] < 0
            items[n, PIECE], items[n, WORD], items[n, NEXT] = piece, word, head[piece]
            items[n, START] = at
            for source in range(offsets[variant], offsets[variant + 1]):
                tokens[at] = ids[source]
                at += 1
            items[n, STOP] = at
            head[piece] = n
            n += 1
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
    head = np.full(n_pieces, -1, np.int64)
    longest, most_words = longest_line(lines, tokens)
    starts = np.empty(most_words + 1, np.int64)
    items, owners = np.empty((longest, 5), np.int64), np.empty(longest, np.int64)
    spans = np.empty((2 * longest, 4), np.int64)
    room = longest * (1 + 2 * longest_variant(ablations) + 2 * window)
    line = np.empty(room, np.int32)
    for k in range(len(lines.offsets) - 1):
        number = lines.number + k
        types = lines.types[lines.offsets[k] : lines.offsets[k + 1]]
        write_line(types, tokens, line, starts)
        opener = line[0]
        if opener >= 0 and line_hash(sample.keys[opener], number) <= sample.limits[opener]:
            opening[opener] += 1
        n = list_items(types, ablations, line, starts, items, head, occurrences, holding)
        if n > 0:
            words = len(types)
            n = write_spans(
                line, starts, words, items, n, head, number, sample, window, spans, owners
            )
            sum_spans(line, spans, owners, n, window, scores, loss)
    return loss, occurrences, holding, opening


@njit(cache=True, nogil=True)
def total_loss(lines, tokens, scores, window):
    """Return L(V, C), Equation 1, over `lines`: each is a word that was not there before."""
    longest, most_words = longest_line(lines, tokens)
    line, starts = np.empty(longest, np.int32), np.empty(most_words + 1, np.int64)
    loss, owners, spans = np.zeros(1), np.zeros(1, np.int64), np.zeros((2, 4), np.int64)
    for k in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[k] : lines.offsets[k + 1]]
        spans[1, 2] = spans[1, 3] = write_line(types, tokens, line, starts)
        sum_spans(line, spans, owners, 1, window, scores, loss)
    return loss[0]


@njit(cache=True, nogil=True)
def write_line(types, tokens, line, starts):
    """Write the tokens of a line's words, and where each word starts; return their number."""
    ids, offsets = tokens
    n = 0
    for word in range(len(types)):
        starts[word] = n
        for at in range(offsets[types[word]], offsets[types[word] + 1]):
            line[n] = ids[at]
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
