"""Ablation losses over lines of tokens, compiled. To be read against Equation 1 of the paper.

    L(V, C) = - sum over lines, targets i, contexts j with 0 < |i - j| <= W of
              log sigma(E_T[x_i] . E_C[x_j])

Each unordered pair of positions counts from both sides, so a line is a sum over pairs i < j of
`pair_loss`. Taking a piece away puts other tokens in some places. A pair changes only if its span
meets such a place: the ablation loss of a line is the sum, over its places, of the pairs that meet
the new tokens, less those that met the old ones.

`sum_pairs`, `sum_old_pairs` and `sum_new_pairs` are Equation 1; the rest finds the places.

Functions take a block of lines, which fits the processor's cache: for each array that a compiled
function is handed, Numba counts references with a lock; line by line that would cost more than the
pairs do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sagevocab.vocab.pairs import LOSS_BITS, LOSS_MASK, fill, pair_number
from sagevocab.vocab.sampling import counts_for
from sagevocab.vocab.views import TOKENS

_BLOCK = 2048  # words

# Columns of a place: the piece taken away; where its old tokens start and stop in the block, and
# where their line does; its first item; where, among the new tokens of places, the W tokens of the
# line before it begin, its own begin and end, and the W tokens behind it end; its loss, in units.
PIECE, START, STOP, LINE_START, LINE_END, ITEM, BEGIN, FIRST, LAST, END, LOSS = range(11)
PLACE_COLUMNS = 11


class Lines(NamedTuple):
    """A stretch of the corpus: `types` int32[words], `offsets` int64[lines + 1] into it.

    number: the number of the first of these lines in the corpus.
    """

    types: np.ndarray
    offsets: np.ndarray
    number: int


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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def add_losses(places, sign, high, low):
    """Add each place's loss, `sign` times, to that of its piece."""
    for place in range(len(places)):
        piece = places[place, PIECE]
        total = low[piece] + sign * places[place, LOSS]
        high[piece] += total >> 32
        low[piece] = total & 0xFFFFFFFF


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


class Block(NamedTuple):
    """Some lines: types int32[words]; up to which word each goes, and its number in the corpus."""

    types: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray


# An item is a word of a block and a piece in it: the line, the word, which of the view's ablations,
# and the piece's next item in the line, or -1.
LINE, WORD, ABLATION, NEXT = range(4)


@njit(cache=True, nogil=True)
def changed_lines(lines, changed):
    """Return which lines hold a changed type."""
    found, n = np.empty(len(lines.offsets) - 1, np.int64), 0
    for line in range(len(found)):
        for at in range(lines.offsets[line], lines.offsets[line + 1]):
            if changed[lines.types[at]]:
                found[n] = line
                n += 1
                break
    return found[:n]


@njit(cache=True, nogil=True)
def next_block(lines, numbers, begin):
    """Return the block of the lines from numbers[begin] on, and where the next one begins."""
    ends, words, stop = np.empty(len(numbers) - begin, np.int64), 0, begin
    while stop < len(numbers) and (words < _BLOCK or stop == begin):
        words += lines.offsets[numbers[stop] + 1] - lines.offsets[numbers[stop]]
        ends[stop - begin] = words
        stop += 1
    types, at = np.empty(words, np.int32), 0
    for line in numbers[begin:stop]:
        for source in range(lines.offsets[line], lines.offsets[line + 1]):
            types[at] = lines.types[source]
            at += 1
    return Block(types, ends[: stop - begin], lines.number + numbers[begin:stop]), stop


@njit(cache=True, nogil=True)
def token_starts(types, tokens):
    """Return int64[words + 1]: where the tokens of each word of a block begin."""
    starts = np.zeros(len(types) + 1, np.int64)
    for word in range(len(types)):
        length = tokens.offsets[types[word] + 1] - tokens.offsets[types[word]]
        starts[word + 1] = starts[word] + length
    return starts


@njit(cache=True, nogil=True)
def write_tokens(types, tokens, starts):
    """Return the tokens of a block."""
    written = np.empty(starts[-1], np.int32)
    for word in range(len(types)):
        source = tokens.offsets[types[word]]
        for at in range(starts[word], starts[word + 1]):
            written[at] = tokens.ids[source + at - starts[word]]
    return written


@njit(cache=True, nogil=True)
def find_near(block, changed, starts, window, near):
    """Mark the words whose ablations may differ: changed ones, and those near other tokens."""
    begin = 0
    for end in block.ends:
        reach = starts[begin]
        for word in range(begin, end):
            near[word] |= starts[word] < reach or changed[block.types[word]] > 0
            if changed[block.types[word]] == TOKENS:
                reach = starts[word + 1] + window
        reach = starts[end]
        for word in range(end - 1, begin - 1, -1):
            near[word] |= starts[word + 1] > reach
            if changed[block.types[word]] == TOKENS:
                reach = starts[word] - window
        begin = end


@njit(cache=True, nogil=True)
def count_openings(block, starts, tokens, sample, sign, opening):
    """Count the lines that begin with a piece and count for its loss."""
    begin = 0
    for line in range(len(block.ends)):
        if starts[begin] < starts[block.ends[line]]:
            piece = tokens[starts[begin]]
            if piece < len(opening) and counts_for(sample, piece, block.numbers[line]):
                opening[piece] += sign
        begin = block.ends[line]


@njit(cache=True, nogil=True)
def list_items(block, near, ablations, other, wanted, seen):
    """List the items of wanted pieces that have one near a change, in this view or the other.

    From right to left, so that each can name the next one of its piece. seen: by piece, the line it
    was last marked in; the line it was last listed in; and its last item.
    """
    first, pieces = ablations.first, ablations.pieces
    marked, listed, last = seen[0], seen[1], seen[2]
    n = 0
    for kind in block.types:
        n += first[kind + 1] - first[kind]
    items, n = np.empty((n, 4), np.int64), 0
    for line in range(len(block.ends) - 1, -1, -1):
        begin, end = line_words(block.ends, line)
        number = block.numbers[line]
        mark_pieces(block.types, begin, end, near, first, pieces, number, marked)
        mark_pieces(block.types, begin, end, near, other.first, other.pieces, number, marked)
        for word in range(end - 1, begin - 1, -1):
            kind = block.types[word]
            for ablation in range(first[kind], first[kind + 1]):
                piece = pieces[ablation]
                if marked[piece] == number and wanted[piece]:
                    items[n, LINE], items[n, WORD], items[n, ABLATION] = line, word, ablation
                    items[n, NEXT] = last[piece] if listed[piece] == number else -1
                    listed[piece], last[piece] = number, n
                    n += 1
    return items[:n]


@njit(cache=True, nogil=True)
def line_words(ends, line):
    """Return where the words of a line begin and end in its block."""
    return ends[line - 1] if line > 0 else 0, ends[line]


@njit(cache=True, nogil=True)
def mark_pieces(types, begin, end, near, first, pieces, number, marked):
    """Mark, with the line's number, the pieces of words that are near a change."""
    for word in range(begin, end):
        if near[word]:
            for at in range(first[types[word]], first[types[word] + 1]):
                marked[pieces[at]] = number


@njit(cache=True, nogil=True)
def count_items(items, pieces, starts, tokens, sign, occurrences, lines):
    """Count the tokens of the items' pieces, and the lines that hold them."""
    for item in range(len(items)):
        piece, word = pieces[items[item, ABLATION]], items[item, WORD]
        lines[piece] += sign * (items[item, NEXT] < 0)
        for at in range(starts[word], starts[word + 1]):
            occurrences[piece] += sign * (tokens[at] == piece)


@njit(cache=True, nogil=True)
def join_items(block, items, ablations, starts, window, sample):
    """List the places of items, in lines that count for the piece.

    Items of one piece with fewer than W tokens between them share a place, with these tokens in it:
    so a pair meets one place of its piece at most.
    """
    begins, ends = ablations.begins, ablations.ends
    places, n = np.empty((len(items), PLACE_COLUMNS), np.int64), 0
    joined = np.zeros(len(items), np.bool_)
    for item in range(len(items) - 1, -1, -1):
        line, ablation = items[item, LINE], items[item, ABLATION]
        piece = ablations.pieces[ablation]
        if joined[item] or not counts_for(sample, piece, block.numbers[line]):
            continue
        first_word, end_word = line_words(block.ends, line)
        places[n, LINE_START], places[n, LINE_END] = starts[first_word], starts[end_word]
        start = stop = starts[items[item, WORD]] + begins[ablation]
        places[n, PIECE], places[n, ITEM], places[n, START] = piece, item, start
        while item >= 0 and start < stop + window:
            stop = starts[items[item, WORD]] + ends[items[item, ABLATION]]
            joined[item], item = True, items[item, NEXT]
            if item >= 0:
                start = starts[items[item, WORD]] + begins[items[item, ABLATION]]
        places[n, STOP] = stop
        n += 1
    return places[:n]


@njit(cache=True, nogil=True)
def write_places(places, items, ablations, starts, tokens, window):
    """Write, for every place, the tokens around it and in it without the piece; return them."""
    begins, ends = ablations.begins, ablations.ends
    offsets, ids = ablations.offsets, ablations.ids
    room = 3 * window * len(items)
    for item in range(len(items)):
        room += offsets[items[item, ABLATION] + 1] - offsets[items[item, ABLATION]]
    new, at = np.empty(room, np.int32), 0
    for place in range(len(places)):
        stop, item = places[place, START], places[place, ITEM]
        places[place, BEGIN] = at
        for source in range(max(places[place, LINE_START], stop - window), stop):
            new[at] = tokens[source]
            at += 1
        places[place, FIRST] = at
        while stop < places[place, STOP]:
            ablation, word_start = items[item, ABLATION], starts[items[item, WORD]]
            for source in range(stop, word_start + begins[ablation]):
                new[at] = tokens[source]
                at += 1
            for source in range(offsets[ablation], offsets[ablation + 1]):
                new[at] = ids[source]
                at += 1
            stop, item = word_start + ends[ablation], items[item, NEXT]
        places[place, LAST] = at
        for source in range(stop, min(places[place, LINE_END], stop + window)):
            new[at] = tokens[source]
            at += 1
        places[place, END] = at
    return new
