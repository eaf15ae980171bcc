"""How word types become tokens: greedy longest match, or byte-pair merges.

Both are a walk along a list of choices, made once for each word with the full vocabulary. A choice
is a piece that may be the next token. If the piece is in the vocabulary it is taken, and the walk
continues behind it; else the next choice is tried. So pieces can leave without anything being built
again: `alive` (bool[pieces]) says which are left, and an ablation leaves out one more.

- Greedy (paper, Section 3): at each character, the pieces that begin there, the longest first.
- Merges: the tree by which the full list of merges joins the word, a piece before the two that it
  was merged from. A piece that has left falls apart, as with sentencepiece's `set_vocabulary`.

Pieces go by their number in the full vocabulary; a character without a piece is UNCOVERED.

Compiled functions call only functions of this file and get only arrays and the tuples of this file,
because Numba looks at this file alone to tell whether its cache is still good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from sagevocab.numba_cache import provide_cache

provide_cache()

UNCOVERED = -1
_NOTHING = -2  # the piece to leave out where none is: no piece has this number
_CODE_BITS = 21  # a Unicode code point has at most 21 bits

Runs = tuple[np.ndarray, np.ndarray]  # values one after another, int64[runs + 1] offsets into them


class Table(NamedTuple):
    """Open addressing: `keys` int64[2^n], -1 where free, and their `values` int32[2^n]."""

    keys: np.ndarray
    values: np.ndarray


class Trie(NamedTuple):
    """Pieces by their characters. Node 0 is the root.

    edges: (node, character) -> child node. ends: int32[nodes], the piece that ends there or -1.
    """

    edges: Table
    ends: np.ndarray


class Merges(NamedTuple):
    """Byte-pair merges over piece numbers.

    characters: int32[], the piece of a code point, or -1.
    ranks: (left piece, right piece) -> rank. merged: int32[merges], the piece a merge makes.
    """

    characters: np.ndarray
    ranks: Table
    merged: np.ndarray


class Decoder:
    """The choices of a fixed list of word types, to be segmented with any part of a vocabulary."""

    def __init__(self, pieces: np.ndarray, skips: np.ndarray, offsets: np.ndarray) -> None:
        """Take the choices of all words, one after another.

        Args:
            pieces: int32, the piece of each choice, or UNCOVERED.
            skips: int32, how many choices on the walk goes if the piece is taken; 1 where nothing
                shorter is left to try.
            offsets: int64[words + 1], where the choices of each word begin.
        """
        self._pieces, self._skips, self._offsets = pieces, skips, offsets

    @classmethod
    def greedy(cls, words: Sequence[str], trie: Trie) -> Decoder:
        """Match from the left, the longest piece first."""
        return cls(*_match_words(*_code_points(words), trie))

    @classmethod
    def merging(cls, words: Sequence[str], merges: Merges) -> Decoder:
        """Merge each word once, with the full list of merges."""
        codes, offsets = _code_points(words)
        characters = np.append(merges.characters, np.int32(UNCOVERED))
        leaves = characters[np.minimum(codes, len(merges.characters))]
        return cls(*_merge_words(leaves, offsets, merges.ranks, merges.merged))

    def renumbered(self, numbers: np.ndarray) -> Decoder:
        """Return the same decoder with other piece numbers (int32[pieces])."""
        numbers = np.append(numbers, np.int32(UNCOVERED))
        return Decoder(numbers[self._pieces], self._skips, self._offsets)

    def segment(self, alive: np.ndarray) -> Runs:
        """Segment every type with the pieces `alive`: int32 tokens, offsets by type."""
        return _walk_words(self._pieces, self._skips, self._offsets, alive)

    def ablate(self, alive: np.ndarray, wanted: np.ndarray, tokens: Runs) -> tuple:
        """Segment every type without each piece in its `tokens` that is `wanted` (bool[pieces]).

        Returns the fields of `kernels.View` from `first` on.
        """
        first, pieces = list_distinct(*tokens, wanted)
        choices = self._pieces, self._skips, self._offsets
        return first, pieces, *_walk_ablations(*choices, alive, first, pieces, *tokens)

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """List the two parts of every merge in every type, if the decoder merges.

        Returns int64 arrays of as many: the piece that was made, a part of it, the type's number.
        """
        made = np.flatnonzero(self._skips > 1)
        left = made + 1
        right = left + self._skips[left]
        types = np.searchsorted(self._offsets, made, side="right") - 1
        pieces = self._pieces.astype(np.int64)
        parts = np.concatenate([pieces[left], pieces[right]])
        return np.tile(pieces[made], 2), parts, np.tile(types, 2)

    def pieces_within(self, n_pieces: int) -> Runs:
        """List the distinct pieces among the choices of each type: int32 pieces, offsets by type.

        If the decoder is greedy, these are the pieces that the type holds as strings.
        """
        first, pieces = list_distinct(self._pieces, self._offsets, np.ones(n_pieces, dtype=bool))
        return pieces, first


def build_trie(pieces: Sequence[str]) -> Trie:
    """Build the trie of `pieces`, numbered by their order."""
    codes, offsets = _code_points(pieces)
    edges = _empty_table(len(codes))
    ends = np.full(len(codes) + 1, UNCOVERED, dtype=np.int32)
    nodes = _fill_trie(codes, offsets, edges, ends)
    return Trie(edges, ends[:nodes])


def longest_matches(words: Sequence[str], trie: Trie) -> Runs:
    """Segment words greedily, once, with all pieces: int32 tokens, offsets by word.

    What `Decoder.greedy` gives with every piece alive, but without the choices inside tokens.
    """
    return _cut_words(*_code_points(words), trie)


def build_merges(pieces: Sequence[str], merges: Sequence[tuple[str, str]]) -> Merges:
    """Number `merges` by the order of `pieces`, the full vocabulary.

    Raises:
        ValueError: a merge has a part, or makes a string, that is not among `pieces`.
    """
    numbers = {piece: number for number, piece in enumerate(pieces)}
    single = {ord(piece): number for piece, number in numbers.items() if len(piece) == 1}
    characters = np.full(max(single, default=0) + 1, UNCOVERED, dtype=np.int32)
    characters[list(single)] = list(single.values())
    try:
        triples = [(numbers[a], numbers[b], numbers[a + b]) for a, b in merges]
    except KeyError as error:
        raise ValueError(f"a merge needs the piece {error}, which the vocabulary lacks") from None
    left, right, merged = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    ranks = _empty_table(len(triples))
    _fill_table(ranks, left << 32 | right)
    return Merges(characters, ranks, merged.astype(np.int32))


def _code_points(strings: Sequence[str]) -> Runs:
    codes = np.frombuffer("".join(strings).encode("utf-32-le"), dtype=np.int32)
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    return codes, np.concatenate(([0], np.cumsum(lengths)))


def _empty_table(entries: int) -> Table:
    capacity = 1 << (2 * entries + 1).bit_length()
    return Table(np.full(capacity, -1, dtype=np.int64), np.zeros(capacity, dtype=np.int32))


@njit(cache=True, nogil=True)
def _slot(keys, key):
    """Return where `key` stands in the table, or the free slot where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _fill_table(table, keys):
    """Give each key its position as value; the first of equal keys wins."""
    for value in range(len(keys)):
        slot = _slot(table.keys, keys[value])
        if table.keys[slot] == -1:
            table.keys[slot] = keys[value]
            table.values[slot] = value


@njit(cache=True, nogil=True)
def _longest(offsets):
    """Return the length of the longest run; at least 1."""
    longest = 1
    for run in range(len(offsets) - 1):
        longest = max(longest, offsets[run + 1] - offsets[run])
    return longest


# --- greedy longest match


@njit(cache=True, nogil=True)
def _fill_trie(codes, offsets, edges, ends):
    nodes = 1
    for piece in range(len(offsets) - 1):
        node = 0
        for at in range(offsets[piece], offsets[piece + 1]):
            key = np.int64(node) << _CODE_BITS | codes[at]
            slot = _slot(edges.keys, key)
            if edges.keys[slot] == -1:
                edges.keys[slot] = key
                edges.values[slot] = nodes
                nodes += 1
            node = edges.values[slot]
        ends[node] = piece
    return nodes


@njit(cache=True, nogil=True)
def _match_words(codes, offsets, trie):
    """Return the greedy choices of every word, see `Decoder`."""
    first = np.zeros(len(codes) + 1, np.int64)  # by character, where the choices there begin
    longest = _longest(offsets)
    found, lengths = np.empty(longest, np.int32), np.empty(longest, np.int32)
    pieces, skips = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for word in range(len(offsets) - 1):
        for at in range(offsets[word], offsets[word + 1]):
            n = _match(codes[at : offsets[word + 1]], trie, found, lengths)
            if first[at] + n > len(pieces):
                pieces = np.concatenate((pieces, np.empty_like(pieces)))
                skips = np.concatenate((skips, np.empty_like(skips)))
            first[at + 1] = first[at] + n
            pieces[first[at] : first[at + 1]] = found[:n][::-1]
            skips[first[at] : first[at + 1]] = lengths[:n][::-1]
    for at in range(len(codes)):
        for choice in range(first[at], first[at + 1]):  # from characters to choices
            skips[choice] = first[at + skips[choice]] - choice
    return pieces[: first[-1]].copy(), skips[: first[-1]].copy(), first[offsets]


@njit(cache=True, nogil=True)
def _cut_words(codes, offsets, trie):
    """Return the longest matches of every word from the left, and int64[words + 1] offsets."""
    ids, ends = np.empty(len(codes), np.int32), np.zeros(len(offsets), np.int64)
    longest = _longest(offsets)
    found, lengths = np.empty(longest, np.int32), np.empty(longest, np.int32)
    at = 0
    for word in range(len(offsets) - 1):
        start, end = offsets[word], offsets[word + 1]
        while start < end:
            n = _match(codes[start:end], trie, found, lengths)
            ids[at] = found[n - 1]
            start += lengths[n - 1]
            at += 1
        ends[word + 1] = at
    return ids[:at].copy(), ends


@njit(cache=True, nogil=True)
def _match(codes, trie, found, lengths):
    """Find the pieces that `codes` begin with, the shortest first; return how many.

    The first is that of one character, or UNCOVERED.
    """
    found[0], lengths[0], n = UNCOVERED, 1, 1
    node = 0
    for at in range(len(codes)):
        key = np.int64(node) << _CODE_BITS | codes[at]
        slot = _slot(trie.edges.keys, key)
        if trie.edges.keys[slot] == -1:
            break
        node = trie.edges.values[slot]
        if at == 0:
            found[0] = trie.ends[node]
        elif trie.ends[node] >= 0:
            found[n], lengths[n] = trie.ends[node], at + 1
            n += 1
    return n


# --- byte-pair merges


@njit(cache=True, nogil=True)
def _merge_words(leaves, offsets, ranks, merged):
    """Return the choices of every word, see `Decoder`: its merge trees, parents before parts.

    leaves: int32[characters], the piece of each character or UNCOVERED.
    """
    pieces = np.empty(2 * len(leaves), np.int32)
    sizes = np.empty(2 * len(leaves), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    at = 0
    for word in range(len(offsets) - 1):
        span = leaves[offsets[word] : offsets[word + 1]]
        node_piece, left, right, roots = _merge_word(span, ranks, merged)
        at = _write_preorder(node_piece, left, right, roots, pieces, sizes, at)
        ends[word + 1] = at
    return pieces[:at].copy(), sizes[:at].copy(), ends


@njit(cache=True, nogil=True)
def _merge_word(leaves, ranks, merged):
    """Apply the merge of lowest rank, leftmost first, until none applies.

    Returns binary trees: the piece, left and right child of each node (-1 for those of a leaf), and
    the roots, in order.
    """
    n = len(leaves)
    piece = np.empty(2 * n, np.int32)
    piece[:n] = leaves
    left = np.full(2 * n, -1, np.int32)
    right = np.full(2 * n, -1, np.int32)
    roots = np.arange(n)
    rank = np.full(n, -1, np.int64)  # of the merge of roots[i] with roots[i + 1]; -1: none
    for i in range(n - 1):
        rank[i] = _rank(ranks, leaves[i], leaves[i + 1])
    live, nodes = n, n
    best = _lowest(rank, live - 1)
    while best >= 0:
        piece[nodes], left[nodes], right[nodes] = merged[rank[best]], roots[best], roots[best + 1]
        roots[best] = nodes
        nodes += 1
        live -= 1
        for i in range(best + 1, live):
            roots[i], rank[i] = roots[i + 1], rank[i + 1]
        for i in range(max(best - 1, 0), min(best + 1, live - 1)):  # the new piece's neighbours
            rank[i] = _rank(ranks, piece[roots[i]], piece[roots[i + 1]])
        best = _lowest(rank, live - 1)
    return piece[:nodes], left, right, roots[:live]


@njit(cache=True, nogil=True)
def _lowest(rank, n):
    """Return where the lowest of the first n ranks is, the leftmost of equal ones; -1: nowhere."""
    best = -1
    for i in range(n):
        if rank[i] >= 0 and (best < 0 or rank[i] < rank[best]):
            best = i
    return best


@njit(cache=True, nogil=True)
def _rank(ranks, left, right):
    if left < 0 or right < 0:
        return -1
    key = np.int64(left) << 32 | np.int64(right)
    slot = _slot(ranks.keys, key)
    return ranks.values[slot] if ranks.keys[slot] == key else -1


@njit(cache=True, nogil=True)
def _write_preorder(piece, left, right, roots, pieces, sizes, at):
    """Append the trees below `roots` to `pieces` and `sizes` from `at` on; return their end."""
    size = np.ones(len(piece), np.int32)
    for node in range(len(piece)):  # children have lower numbers than their parents
        if left[node] >= 0:
            size[node] += size[left[node]] + size[right[node]]
    stack = np.empty(len(piece), np.int64)
    for root in roots:
        stack[0] = root
        depth = 1
        while depth:
            depth -= 1
            node = stack[depth]
            pieces[at], sizes[at] = piece[node], size[node]
            at += 1
            if left[node] >= 0:
                stack[depth], stack[depth + 1] = right[node], left[node]
                depth += 2
    return at


# --- walks along the choices


@njit(cache=True, nogil=True)
def _walk(pieces, skips, alive, without, out, at):
    """Write the tokens of a word to `out` from `at` on, while there is room; return their end."""
    choice = 0
    while choice < len(pieces) and at < len(out):
        piece, skip = pieces[choice], skips[choice]
        usable = piece >= 0 and piece != without and alive[piece]
        if usable or skip == 1:
            out[at] = piece if usable else UNCOVERED
            at += 1
            choice += skip
        else:
            choice += 1
    return at


@njit(cache=True, nogil=True)
def _walk_words(pieces, skips, offsets, alive):
    ids = np.empty(len(pieces), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    at = 0
    for word in range(len(offsets) - 1):
        a, b = offsets[word], offsets[word + 1]
        at = _walk(pieces[a:b], skips[a:b], alive, _NOTHING, ids, at)
        ends[word + 1] = at
    return ids[:at].copy(), ends


@njit(cache=True, nogil=True)
def _walk_ablations(pieces, skips, offsets, alive, first, ablated, ids, starts):
    """Segment each word without each of its `ablated` pieces; keep where its tokens change.

    Words are walked twice, to count first: the room that their tokens could take at most is many
    times the text in scripts without spaces. Returns begins, ends, new_offsets and new_tokens, see
    `kernels.View`.
    """
    longest = _longest(offsets)
    walked = np.empty(longest, np.int32)
    begins, ends = np.empty(len(ablated), np.int32), np.empty(len(ablated), np.int32)
    new_offsets = np.zeros(len(ablated) + 1, np.int64)
    for word in range(len(offsets) - 1):
        a, b, old = offsets[word], offsets[word + 1], ids[starts[word] : starts[word + 1]]
        for k in range(first[word], first[word + 1]):
            n = _walk(pieces[a:b], skips[a:b], alive, ablated[k], walked, 0)
            begins[k], ends[k], changed = _trim(old, walked[:n])
            new_offsets[k + 1] = new_offsets[k] + changed
    new = np.empty(new_offsets[-1], np.int32)
    for word in range(len(offsets) - 1):
        a, b = offsets[word], offsets[word + 1]
        for k in range(first[word], first[word + 1]):
            n = begins[k] + new_offsets[k + 1] - new_offsets[k]
            _walk(pieces[a:b], skips[a:b], alive, ablated[k], walked[:n], 0)
            new[new_offsets[k] : new_offsets[k + 1]] = walked[begins[k] : n]
    return begins, ends, new_offsets, new


@njit(cache=True, nogil=True)
def _trim(old, new):
    """Leave out the tokens at either end that `old` and `new` have in common.

    Returns from where to where `old` changes, and how many tokens of `new` are there then.
    """
    same, old_end, new_end = 0, len(old), len(new)
    while old[same] == new[same]:
        same += 1
    while old[old_end - 1] == new[new_end - 1]:
        old_end -= 1
        new_end -= 1
    return same, old_end, new_end - same


@njit(cache=True, nogil=True)
def list_distinct(ids, offsets, wanted):
    """List the distinct pieces of each run of ids that are `wanted` (bool[pieces]).

    Returns int64[runs + 1], where those of each run begin, and these, int32.
    """
    first = np.zeros(len(offsets), np.int64)
    pieces = np.empty(len(ids), np.int32)
    seen = np.full(len(wanted), -1, np.int64)
    n = 0
    for run in range(len(offsets) - 1):
        for at in range(offsets[run], offsets[run + 1]):
            piece = ids[at]
            if piece >= 0 and wanted[piece] and seen[piece] != run:
                seen[piece] = run
                pieces[n] = piece
                n += 1
        first[run + 1] = n
    return first, pieces[:n].copy()
