"""Where tokens of a text give way to others when a piece is taken away, block by block, compiled.

An item is a word and a piece among its tokens; a place is what the items of one piece come to that
are near each other in a line. Only lines with a changed word type are looked at, and in them only
pieces with an item near a change: the losses of all others are what they were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sagevocab.vocab.compiled import compiled
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


class Block(NamedTuple):
    """Some lines: types int32[words]; up to which word each goes, and its number in the corpus."""

    types: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray


# An item is a word of a block and a piece in it: the line, the word, which of the view's ablations,
# and the piece's next item in the line, or -1.
LINE, WORD, ABLATION, NEXT = range(4)


@compiled
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


@compiled
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


@compiled
def token_starts(types, tokens):
    """Return int64[words + 1]: where the tokens of each word of a block begin."""
    starts = np.zeros(len(types) + 1, np.int64)
    for word in range(len(types)):
        length = tokens.offsets[types[word] + 1] - tokens.offsets[types[word]]
        starts[word + 1] = starts[word] + length
    return starts


@compiled
def write_tokens(types, tokens, starts):
    """Return the tokens of a block."""
    written = np.empty(starts[-1], np.int32)
    for word in range(len(types)):
        source = tokens.offsets[types[word]]
        for at in range(starts[word], starts[word + 1]):
            written[at] = tokens.ids[source + at - starts[word]]
    return written


@compiled
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


@compiled
def count_openings(block, starts, tokens, sample, sign, opening):
    """Count the lines that begin with a piece and count for its loss."""
    begin = 0
    for line in range(len(block.ends)):
        if starts[begin] < starts[block.ends[line]]:
            piece = tokens[starts[begin]]
            if piece < len(opening) and counts_for(sample, piece, block.numbers[line]):
                opening[piece] += sign
        begin = block.ends[line]


@compiled
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


@compiled
def line_words(ends, line):
    """Return where the words of a line begin and end in its block."""
    return ends[line - 1] if line > 0 else 0, ends[line]


@compiled
def mark_pieces(types, begin, end, near, first, pieces, number, marked):
    """Mark, with the line's number, the pieces of words that are near a change."""
    for word in range(begin, end):
        if near[word]:
            for at in range(first[types[word]], first[types[word] + 1]):
                marked[pieces[at]] = number


@compiled
def count_items(items, pieces, starts, tokens, sign, occurrences, lines):
    """Count the tokens of the items' pieces, and the lines that hold them."""
    for item in range(len(items)):
        piece, word = pieces[items[item, ABLATION]], items[item, WORD]
        lines[piece] += sign * (items[item, NEXT] < 0)
        for at in range(starts[word], starts[word + 1]):
            occurrences[piece] += sign * (tokens[at] == piece)


@compiled
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


@compiled
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
