"""Compiled segmentation of word types: greedy longest match and byte-pair merges.

Both decoders can leave pieces out without being rebuilt: a mask says which pieces of the full
vocabulary are `alive`, and an ablation takes one more away. A segmentation is a run of piece
numbers in the full vocabulary; a character that no piece covers is UNCOVERED.

Greedy walks a trie of the full vocabulary and keeps the longest piece that is alive. Merges are
applied once, with the full list; that leaves a tree a word, and a piece that is not alive falls
apart into the two it was merged from, which is what sentencepiece's `set_vocabulary` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from sagevocab.vocab.compiled import compiled

UNCOVERED = -1
_NOTHING = -2  # the piece an unablated segmentation goes without: no piece has this number
_CODE_BITS = 21  # a Unicode code point has at most 21 bits


class Segmentation(NamedTuple):
    """Tokens of every word type: `ids` int32, `offsets` int64[types + 1]."""

    ids: np.ndarray
    offsets: np.ndarray


class Ablations(NamedTuple):
    """For every word type, and each piece of interest in it, what changes without that piece.

    first: int64[types + 1], where the ablations of a type begin.
    pieces: int32[ablations], the piece that is taken away.
    begins, ends: int32[ablations], from where to where the type's tokens change.
    offsets: int64[ablations + 1] into ids. ids: int32, the tokens that stand there instead.
    """

    first: np.ndarray
    pieces: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray
    ids: np.ndarray


class Decoder(Protocol):
    """A way to segment a fixed list of word types with any part of a full vocabulary."""

    def segment(self, alive: np.ndarray) -> Segmentation:
        """Segment every type with the pieces that are `alive` (bool[pieces])."""
        ...

    def ablate(self, alive: np.ndarray, wanted: np.ndarray, tokens: Segmentation) -> Ablations:
        """Segment every type without each piece in its `tokens` that is `wanted` (bool[pieces])."""
        ...

    def only(self, types: np.ndarray) -> Decoder:
        """Return a decoder for some of the word types (int64, in ascending order)."""
        ...


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


class GreedyDecoder:
    """Longest match from the left inside each word (paper, Section 3)."""

    def __init__(self, words: tuple[np.ndarray, np.ndarray], trie: Trie) -> None:
        """Take the `code_points` of word types, and the full vocabulary."""
        self._words = words
        self._trie = trie

    def only(self, types: np.ndarray) -> GreedyDecoder:
        """Return a decoder for some of the word types."""
        return GreedyDecoder(take_runs(*self._words, types), self._trie)

    def segment(self, alive: np.ndarray) -> Segmentation:
        """Segment every type with the pieces that are `alive` (bool[pieces])."""
        return Segmentation(*_greedy_words(*self._words, self._trie, alive))

    def ablate(self, alive: np.ndarray, wanted: np.ndarray, tokens: Segmentation) -> Ablations:
        """Segment every type anew without each piece in its `tokens` that is `wanted`."""
        first, owners, pieces = _list_ablations(tokens.ids, tokens.offsets, wanted)
        changes = _greedy_ablations(*self._words, self._trie, alive, owners, pieces, tokens)
        return Ablations(first, pieces, *changes)


class MergeDecoder:
    """Byte-pair merges in rank order; then pieces that are not alive fall apart."""

    def __init__(self, trees: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Take the `merge_words` of word types."""
        self._trees = trees

    def only(self, types: np.ndarray) -> MergeDecoder:
        """Return a decoder for some of the word types."""
        pieces, sizes, offsets = self._trees
        pieces, ends = take_runs(pieces, offsets, types)
        return MergeDecoder((pieces, take_runs(sizes, offsets, types)[0], ends))

    def segment(self, alive: np.ndarray) -> Segmentation:
        """Segment every type with the pieces that are `alive` (bool[pieces])."""
        return Segmentation(*_unfold_words(*self._trees, alive))

    def ablate(self, alive: np.ndarray, wanted: np.ndarray, tokens: Segmentation) -> Ablations:
        """Let each piece in a type's `tokens` that is `wanted` fall apart."""
        first, owners, pieces = _list_ablations(tokens.ids, tokens.offsets, wanted)
        changes = _unfold_ablations(*self._trees, alive, owners, pieces, tokens)
        return Ablations(first, pieces, *changes)


def merge_words(words: Sequence[str], merges: Merges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge every word once, with the full list of merges.

    Returns the forest of each word in preorder: pieces int32 and sizes int32 of its subtrees, and
    int64[words + 1] offsets.
    """
    codes, offsets = code_points(words)
    characters = np.append(merges.characters, np.int32(UNCOVERED))
    leaves = characters[np.minimum(codes, len(merges.characters))]
    return _merge_words(leaves, offsets, merges.ranks, merges.merged)


def code_points(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of `strings` in one array (int32), and int64 offsets into it."""
    codes = np.frombuffer("".join(strings).encode("utf-32-le"), dtype=np.int32)
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    return codes, np.concatenate(([0], np.cumsum(lengths)))


def build_trie(pieces: Sequence[str]) -> Trie:
    """Build the trie of `pieces`, numbered by their order."""
    codes, offsets = code_points(pieces)
    edges = _empty_table(len(codes))
    ends = np.full(len(codes) + 1, UNCOVERED, dtype=np.int32)
    nodes = _fill_trie(codes, offsets, edges, ends)
    return Trie(edges, ends[:nodes])


def list_within(words: Sequence[str], trie: Trie) -> tuple[np.ndarray, np.ndarray]:
    """List the distinct pieces that stand in each word as strings, tokens or not.

    Returns int64[words + 1], where a word's pieces begin, and these, int32.
    """
    return _list_within(*code_points(words), trie)


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


def _empty_table(entries: int) -> Table:
    capacity = 1 << (2 * entries + 1).bit_length()
    return Table(np.full(capacity, -1, dtype=np.int64), np.zeros(capacity, dtype=np.int32))


@compiled
def _slot(keys, key):
    """Return where `key` stands in the table, or the free slot where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def _fill_table(table, keys):
    """Give each key its position as value; the first of equal keys wins."""
    for value in range(len(keys)):
        slot = _slot(table.keys, keys[value])
        if table.keys[slot] == -1:
            table.keys[slot] = keys[value]
            table.values[slot] = value


@compiled
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


@compiled
def _greedy_word(word, trie, alive, without, out, at):
    """Write the greedy tokens of `word` to `out` from `at` on; return where they end."""
    start = 0
    while start < len(word):
        piece, stop = UNCOVERED, start + 1
        node = 0
        for position in range(start, len(word)):
            key = np.int64(node) << _CODE_BITS | word[position]
            slot = _slot(trie.edges.keys, key)
            if trie.edges.keys[slot] == -1:
                break
            node = trie.edges.values[slot]
            end = trie.ends[node]
            if end >= 0 and end != without and alive[end]:
                piece, stop = end, position + 1
        out[at] = piece
        at += 1
        start = stop
    return at


@compiled
def _greedy_words(codes, offsets, trie, alive):
    ids = np.empty(len(codes), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    at = 0
    for word in range(len(offsets) - 1):
        span = codes[offsets[word] : offsets[word + 1]]
        at = _greedy_word(span, trie, alive, _NOTHING, ids, at)
        ends[word + 1] = at
    return ids[:at].copy(), ends


@compiled
def _greedy_ablations(codes, offsets, trie, alive, owners, pieces, tokens):
    changes = _empty_changes(offsets, owners)
    begins, ends, places, ids = changes
    for k in range(len(owners)):
        span = codes[offsets[owners[k]] : offsets[owners[k] + 1]]
        at = _greedy_word(span, trie, alive, pieces[k], ids, places[k])
        _keep_change(k, owners[k], at, tokens, changes)
    return begins, ends, places, ids[: places[-1]].copy()


@compiled
def _empty_changes(offsets, owners):
    """Make room for `Ablations.begins, ends, offsets, ids`: no word has more tokens than parts."""
    room = 0
    for owner in owners:
        room += offsets[owner + 1] - offsets[owner]
    begins, ends = np.empty(len(owners), np.int32), np.empty(len(owners), np.int32)
    return begins, ends, np.zeros(len(owners) + 1, np.int64), np.empty(room, np.int32)


@compiled
def _keep_change(k, owner, end, tokens, changes):
    """Of the tokens of an ablation keep those that differ; they are ids[offsets[k] : end]."""
    begins, ends, offsets, ids = changes
    old, begin = tokens.ids[tokens.offsets[owner] : tokens.offsets[owner + 1]], offsets[k]
    same, length = 0, len(old)
    while old[same] == ids[begin + same]:
        same += 1
    while old[length - 1] == ids[end - 1]:
        length -= 1
        end -= 1
    for at in range(begin, end - same):
        ids[at] = ids[at + same]
    begins[k], ends[k], offsets[k + 1] = same, length, end - same


@compiled
def take_runs(values, offsets, which):
    """Return the runs values[offsets[w] : offsets[w + 1]] of `which`, and offsets into them."""
    ends = np.zeros(len(which) + 1, np.int64)
    for k in range(len(which)):
        ends[k + 1] = ends[k] + offsets[which[k] + 1] - offsets[which[k]]
    taken = np.empty(ends[-1], values.dtype)
    for k in range(len(which)):
        taken[ends[k] : ends[k + 1]] = values[offsets[which[k]] : offsets[which[k] + 1]]
    return taken, ends


@compiled
def put_runs(values, offsets, which, new_values, new_offsets):
    """Put new runs in the place of those of `which` (ascending); return values and offsets."""
    ends = np.zeros(len(offsets), np.int64)
    source = np.full(len(offsets) - 1, -1, np.int64)
    source[which] = np.arange(len(which))
    for run in range(len(offsets) - 1):
        k = source[run]
        length = offsets[run + 1] - offsets[run] if k < 0 else new_offsets[k + 1] - new_offsets[k]
        ends[run + 1] = ends[run] + length
    put = np.empty(ends[-1], values.dtype)
    for run in range(len(offsets) - 1):
        k = source[run]
        if k < 0:
            put[ends[run] : ends[run + 1]] = values[offsets[run] : offsets[run + 1]]
        else:
            put[ends[run] : ends[run + 1]] = new_values[new_offsets[k] : new_offsets[k + 1]]
    return put, ends


@compiled
def _list_within(codes, offsets, trie):
    first = np.zeros(len(offsets), np.int64)
    pieces = np.empty(len(codes), np.int32)
    seen = np.full(len(trie.ends), -1, np.int64)  # by node: a node is a string
    n = 0
    for word in range(len(offsets) - 1):
        for start in range(offsets[word], offsets[word + 1]):
            node = 0
            for at in range(start, offsets[word + 1]):
                key = np.int64(node) << _CODE_BITS | codes[at]
                slot = _slot(trie.edges.keys, key)
                if trie.edges.keys[slot] == -1:
                    break
                node = trie.edges.values[slot]
                if trie.ends[node] >= 0 and seen[node] != word:
                    seen[node] = word
                    if n == len(pieces):
                        pieces = np.concatenate((pieces, np.empty_like(pieces)))
                    pieces[n] = trie.ends[node]
                    n += 1
        first[word + 1] = n
    return first, pieces[:n].copy()


@compiled
def _list_ablations(ids, offsets, wanted):
    """List (type, piece) for the distinct wanted pieces of each type, by type."""
    first = np.zeros(len(offsets), np.int64)
    owners = np.empty(len(ids), np.int32)
    pieces = np.empty(len(ids), np.int32)
    n = 0
    for word in range(len(offsets) - 1):
        for at in range(offsets[word], offsets[word + 1]):
            piece = ids[at]
            if piece >= 0 and wanted[piece] and piece not in pieces[first[word] : n]:
                owners[n] = word
                pieces[n] = piece
                n += 1
        first[word + 1] = n
    return first, owners[:n].copy(), pieces[:n].copy()


@compiled
def _merge_words(leaves, offsets, ranks, merged):
    """Merge every word; return its forest in preorder: piece and size of each subtree, offsets.

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


@compiled
def _merge_word(leaves, ranks, merged):
    """Apply the merge of lowest rank, leftmost first, until none applies.

    Returns the binary forest: piece, left and right child of each node (a leaf has none, -1), and
    the nodes that are left, in order.
    """
    n = len(leaves)
    piece = np.empty(2 * n, np.int32)
    for i in range(n):
        piece[i] = leaves[i]
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


@compiled
def _lowest(rank, n):
    """Return where the lowest of the first n ranks is, the leftmost of equal ones; -1: nowhere."""
    best = -1
    for i in range(n):
        if rank[i] >= 0 and (best < 0 or rank[i] < rank[best]):
            best = i
    return best


@compiled
def _rank(ranks, left, right):
    if left < 0 or right < 0:
        return -1
    key = np.int64(left) << 32 | np.int64(right)
    slot = _slot(ranks.keys, key)
    return ranks.values[slot] if ranks.keys[slot] == key else -1


@compiled
def _write_preorder(piece, left, right, roots, pieces, sizes, at):
    """Append the forest below `roots` to `pieces` and `sizes` from `at` on; return its end."""
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


@compiled
def _unfold_word(pieces, sizes, alive, without, out, at):
    """Write the topmost usable pieces of a forest to `out` from `at` on; return where they end."""
    node = 0
    while node < len(pieces):
        piece, leaf = pieces[node], sizes[node] == 1
        usable = piece >= 0 and piece != without and alive[piece]
        if usable or leaf:
            out[at] = piece if usable else UNCOVERED
            at += 1
            node += sizes[node]
        else:
            node += 1  # in preorder the parts of a piece follow it
    return at


@compiled
def _unfold_words(pieces, sizes, offsets, alive):
    ids = np.empty(len(pieces), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    at = 0
    for word in range(len(offsets) - 1):
        a, b = offsets[word], offsets[word + 1]
        at = _unfold_word(pieces[a:b], sizes[a:b], alive, _NOTHING, ids, at)
        ends[word + 1] = at
    return ids[:at].copy(), ends


@compiled
def _unfold_ablations(pieces, sizes, offsets, alive, owners, ablated, tokens):
    changes = _empty_changes(offsets, owners)
    begins, ends, places, ids = changes
    for k in range(len(owners)):
        a, b = offsets[owners[k]], offsets[owners[k] + 1]
        at = _unfold_word(pieces[a:b], sizes[a:b], alive, ablated[k], ids, places[k])
        _keep_change(k, owners[k], at, tokens, changes)
    return begins, ends, places, ids[: places[-1]].copy()
