"""The loss as a code: how many bits a text grows by when a piece leaves the vocabulary.

A text is a sequence of symbols: its tokens, and a mark that ends each line and begins the next. A
bigram (x, y) that occurs c times costs, each occurrence being left out where it is predicted,

    -c log2 of (max(c - 1 - D, 0) + D T U) / max(N - 1, 1)                               bits

N is how often x is a context; T, how many different symbols follow x, at least 1; U, the share of
the different bigrams that end in y, at least half of one; D is 3/4. The text costs the sum over its
bigrams. loss_t is what it costs without piece t less what it costs with it: every word that holds t
is cut again, so the counts change, c and N. T and U stay those of the text with t. A bigram that
the text did not have costs by the same formula, one that it has no more costs nothing.

The loss `bigram_code` is this. The loss `unigram_code` is the same with one context for all: N is
the number of symbols, and D T U is D for all that occur. So it counts and looks at no context; what
the two choose differently is due to the neighbours of a piece.

Costs of bigrams and contexts are rounded to whole units (2^-24 bits) and then added: the same in
any order and for any number of threads.

Compiled functions call only functions of this file and get only arrays and the tuples of this file,
because Numba looks at this file alone to tell whether its cache is still good.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from sagevocab.corpus.words import WordCorpus
from sagevocab.numba_cache import provide_cache
from sagevocab.pruning.kernels import Lines
from sagevocab.pruning.loss import Losses, count_lines
from sagevocab.segmentation import counts as counting
from sagevocab.segmentation.decoder import Decoder

provide_cache()

_DISCOUNT = 0.75  # D
_LEAST_SHARE = 0.5  # of a bigram, that end in a symbol
_ONE = 2.0**24  # a bit, in units
_PART = 64  # pieces that a thread takes at a time


class CodeLosses:
    """Code losses of any part of a full vocabulary over one corpus; see above.

    As `AblationLosses` is used, so is this.
    """

    def __init__(
        self,
        corpus: WordCorpus,
        n_pieces: int,
        decoder: Decoder,
        *,
        bigrams: bool = True,
        threads: int = 1,
    ) -> None:
        """Prepare the corpus.

        Args:
            corpus: whose lines count.
            n_pieces: of the full vocabulary.
            decoder: made for `corpus.types` and its pieces.
            bigrams: whether the symbol before predicts a symbol; False for the code of single
                symbols.
            threads: that work at once; they change no byte.
        """
        self._n_pieces, self._decoder, self._threads = n_pieces, decoder, threads
        self._counts = corpus.counts
        self._lines = Lines(corpus.tokens, corpus.line_offsets, 0)
        self._after, self._before = _neighbours(corpus)
        symbols = np.arange(n_pieces + 2, dtype=np.int64)
        self._context_of = symbols if bigrams else np.zeros_like(symbols)

    def use_embeddings(self, target: np.ndarray, context: np.ndarray) -> None:
        """Take no notice of embeddings."""

    def losses(self, alive: np.ndarray, wanted: np.ndarray) -> Losses:
        """Return the losses, in bits, of the pieces that are `wanted`, in the vocabulary `alive`.

        Both are bool[pieces]. A piece without occurrences has loss 0; `opening` is 0.
        """
        tokens = self._decoder.segment(alive)
        first, pieces, *changes = self._decoder.ablate(alive, wanted, tokens)
        cut = self._cut(tokens, first, changes)
        code = _code_of(cut, self._counts, self._after, self._context_of)
        ablations = _by_piece(first, pieces, self._n_pieces)
        growth = np.zeros(self._n_pieces, np.int64)

        def work(part: np.ndarray) -> None:
            arguments = ablations, cut, self._counts, self._after, self._before, code
            _grow(part, *arguments, growth)

        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, _parts(np.unique(pieces))))
        occurrences = counting.count_ids(*tokens, self._counts, self._n_pieces)[:-1]
        occurrences[~wanted] = 0
        lines = count_lines(self._lines, first, pieces, self._n_pieces, self._threads)
        return Losses(growth / _ONE, occurrences, lines, np.zeros_like(lines))

    def _cut(self, tokens: tuple, first: np.ndarray, changes: list[np.ndarray]) -> _Cut:
        """Return how words are cut, with the mark as one more word type."""
        (ids, offsets), (begins, ends, new_offsets, new_tokens) = tokens, changes
        unknown, mark = self._n_pieces, self._n_pieces + 1
        ids = np.append(np.where(ids < 0, unknown, ids), mark)
        return _Cut(
            ids,
            np.append(offsets, len(ids)),
            begins,
            ends,
            new_offsets,
            np.where(new_tokens < 0, unknown, new_tokens),
        )


def _parts(pieces: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(pieces), _PART):
        yield pieces[start : start + _PART]


class _Neighbours(NamedTuple):
    """The word types on one side of each type; the mark of lines is the last type.

    offsets: int64[types + 1], where those of each begin. types: int64. times: int64, how often each
    stands there.
    """

    offsets: np.ndarray
    types: np.ndarray
    times: np.ndarray


def _neighbours(corpus: WordCorpus) -> tuple[_Neighbours, _Neighbours]:
    """Return what follows each word type, and what stands before it."""
    n_types = len(corpus.types) + 1
    stream = np.insert(corpus.tokens.astype(np.int64), corpus.line_offsets, n_types - 1)
    pairs, times = np.unique(stream[:-1] * n_types + stream[1:], return_counts=True)
    left, right = np.divmod(pairs, n_types)
    by_right = np.argsort(right, kind="stable")
    return (
        _Neighbours(_offsets(left, n_types), right, times),
        _Neighbours(_offsets(right, n_types), left[by_right], times[by_right]),
    )


def _offsets(runs: np.ndarray, n_runs: int) -> np.ndarray:
    """Return where each run begins, of entries that are sorted by the number of their run."""
    return np.concatenate(([0], np.cumsum(np.bincount(runs, minlength=n_runs))))


class _Cut(NamedTuple):
    """How word types are cut into symbols, and how they are without each piece.

    Symbols are pieces, then what no piece covers, then the mark, which is the last type. tokens:
    of the types. offsets: int64[types + 1]. Ablations, each of a piece and a type: begins, ends,
    from where to where the type's tokens change; new_offsets, new_tokens: into what.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    new_offsets: np.ndarray
    new_tokens: np.ndarray


class _Ablations(NamedTuple):
    """The ablations of each piece: offsets int64[pieces + 1]; numbers, and types, of each."""

    offsets: np.ndarray
    numbers: np.ndarray
    types: np.ndarray


def _by_piece(first: np.ndarray, pieces: np.ndarray, n_pieces: int) -> _Ablations:
    """List ablations by piece; first, pieces: those of each type."""
    numbers = np.argsort(pieces, kind="stable")
    types = np.repeat(np.arange(len(first) - 1), np.diff(first))
    return _Ablations(_offsets(pieces, n_pieces), numbers, types[numbers])


class _Table(NamedTuple):
    """Numbers by key, in open addressing: keys int64[2^n], -1 where free, and values int64."""

    keys: np.ndarray
    values: np.ndarray


class _Code(NamedTuple):
    """What the cost of a bigram depends on.

    bigrams: how often each occurs, by `_key`. contexts: int64[symbols], N. context_of:
    int64[symbols], under which symbol's number a symbol is a context. freed: float64[symbols], D T
    of a context. shares: float64[symbols], U of what is predicted.
    """

    bigrams: _Table
    contexts: np.ndarray
    context_of: np.ndarray
    freed: np.ndarray
    shares: np.ndarray


def _code_of(cut: _Cut, counts: np.ndarray, after: _Neighbours, context_of: np.ndarray) -> _Code:
    """Count the bigrams of a text; counts: int64[types], how often it has each word type."""
    bigrams = _Table(*_count_bigrams(cut, counts, after, context_of))
    used = bigrams.keys >= 0
    symbols = len(context_of)
    left, right = np.divmod(bigrams.keys[used], symbols)
    contexts = np.zeros(symbols, np.int64)
    np.add.at(contexts, left, bigrams.values[used])
    followers = np.bincount(left, minlength=symbols)
    share = np.maximum(np.bincount(right, minlength=symbols), _LEAST_SHARE) / len(right)
    return _Code(bigrams, contexts, context_of, _DISCOUNT * np.maximum(followers, 1), share)


# As in `segmentation.decoder`: Numba looks at one file to tell whether what it kept is still good.
@njit(cache=True, nogil=True)
def _slot(keys, key):
    """Return where `key` stands in a table, or the free slot where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _add(table, key, value):
    """Add to the number of a key; return whether the key is new."""
    slot = _slot(table.keys, key)
    is_new = table.keys[slot] == -1
    table.keys[slot] = key
    table.values[slot] += value
    return is_new


@njit(cache=True, nogil=True)
def _empty(entries):
    """Return a table with room for so many entries."""
    capacity = 16
    while capacity < 2 * entries:
        capacity *= 2
    return _Table(np.full(capacity, -1, np.int64), np.zeros(capacity, np.int64))


@njit(cache=True, nogil=True)
def _key(context_of, x, y):
    """Return the key of a bigram."""
    return context_of[x] * len(context_of) + y


@njit(cache=True, nogil=True)
def _count_bigrams(cut, counts, after, context_of):
    """Return how often the text has each bigram, as a table."""
    tokens, offsets = cut.tokens, cut.offsets
    table, entries = _empty(1 << 10), 0
    for word in range(len(offsets) - 1):
        room = entries + offsets[word + 1] - offsets[word]
        room += after.offsets[word + 1] - after.offsets[word]
        if 2 * room > len(table.keys):
            table = _moved(table, 2 * room)
        for at in range(offsets[word], offsets[word + 1] - 1):
            entries += _add(table, _key(context_of, tokens[at], tokens[at + 1]), counts[word])
        last = tokens[offsets[word + 1] - 1]
        for pair in range(after.offsets[word], after.offsets[word + 1]):
            first = tokens[offsets[after.types[pair]]]
            entries += _add(table, _key(context_of, last, first), after.times[pair])
    return table


@njit(cache=True, nogil=True)
def _moved(table, entries):
    """Return the same entries in a table with room for more."""
    larger = _empty(entries)
    for slot in range(len(table.keys)):
        if table.keys[slot] >= 0:
            _add(larger, table.keys[slot], table.values[slot])
    return larger


# --- what changes without a piece


@njit(cache=True, nogil=True)
def _grow(pieces, ablations, cut, counts, after, before, code, growth):
    """Set the growth of each of `pieces`, in units."""
    ablation_of = np.full(len(cut.offsets) - 1, -1, np.int64)  # of each type, the piece's
    of_context = np.zeros(len(code.contexts), np.int64)
    for piece in pieces:
        begin, end = ablations.offsets[piece], ablations.offsets[piece + 1]
        numbers, types = ablations.numbers[begin:end], ablations.types[begin:end]
        ablation_of[types] = numbers
        changes = _empty(_most_changes(numbers, types, cut, after, before))
        for k in range(len(numbers)):
            number, word = numbers[k], types[k]
            _change_within(changes, number, word, counts[word], cut, code.context_of)
            if _meets_end(cut, number, word):
                _change_after(changes, number, word, cut, after, ablation_of, code.context_of)
            if cut.begins[number] == 0:
                _change_before(changes, number, word, cut, before, ablation_of, code.context_of)
        growth[piece] = _growth(changes, code, of_context)
        ablation_of[types] = -1


@njit(cache=True, nogil=True)
def _meets_end(cut, number, word):
    """Return whether an ablation changes the last token of its type."""
    return cut.ends[number] == cut.offsets[word + 1] - cut.offsets[word]


@njit(cache=True, nogil=True)
def _most_changes(numbers, types, cut, after, before):
    """Return how many bigrams may change at most."""
    most = 0
    for k in range(len(numbers)):
        number, word = numbers[k], types[k]
        most += cut.ends[number] - cut.begins[number] + 2
        most += cut.new_offsets[number + 1] - cut.new_offsets[number]
        if _meets_end(cut, number, word):
            most += 2 * (after.offsets[word + 1] - after.offsets[word])
        if cut.begins[number] == 0:
            most += 2 * (before.offsets[word + 1] - before.offsets[word])
    return most


@njit(cache=True, nogil=True)
def _change_within(changes, number, word, times, cut, context_of):
    """Replace the bigrams inside a word type."""
    tokens, start, stop = cut.tokens, cut.offsets[word], cut.offsets[word + 1]
    begin, end = start + cut.begins[number], start + cut.ends[number]
    for at in range(max(begin - 1, start), min(end, stop - 1)):
        _add(changes, _key(context_of, tokens[at], tokens[at + 1]), -times)
    first, last = cut.new_offsets[number], cut.new_offsets[number + 1]
    if begin > start:
        _add(changes, _key(context_of, tokens[begin - 1], cut.new_tokens[first]), times)
    for at in range(first, last - 1):
        _add(changes, _key(context_of, cut.new_tokens[at], cut.new_tokens[at + 1]), times)
    if end < stop:
        _add(changes, _key(context_of, cut.new_tokens[last - 1], tokens[end]), times)


@njit(cache=True, nogil=True)
def _change_after(changes, number, word, cut, after, ablation_of, context_of):
    """Replace the bigrams of a type's last token and what follows, which may change, too."""
    old_last = cut.tokens[cut.offsets[word + 1] - 1]
    new_last = cut.new_tokens[cut.new_offsets[number + 1] - 1]
    for pair in range(after.offsets[word], after.offsets[word + 1]):
        other, times = after.types[pair], after.times[pair]
        old_first = new_first = cut.tokens[cut.offsets[other]]
        of_other = ablation_of[other]
        if of_other >= 0 and cut.begins[of_other] == 0:
            new_first = cut.new_tokens[cut.new_offsets[of_other]]
        _add(changes, _key(context_of, old_last, old_first), -times)
        _add(changes, _key(context_of, new_last, new_first), times)


@njit(cache=True, nogil=True)
def _change_before(changes, number, word, cut, before, ablation_of, context_of):
    """Replace the bigrams of a type's first token and what stands before, if that does not change.

    If it does, `_change_after` replaces them.
    """
    old_first = cut.tokens[cut.offsets[word]]
    new_first = cut.new_tokens[cut.new_offsets[number]]
    for pair in range(before.offsets[word], before.offsets[word + 1]):
        other, times = before.types[pair], before.times[pair]
        of_other = ablation_of[other]
        if of_other >= 0 and _meets_end(cut, of_other, other):
            continue
        last = cut.tokens[cut.offsets[other + 1] - 1]
        _add(changes, _key(context_of, last, old_first), -times)
        _add(changes, _key(context_of, last, new_first), times)


# --- what the changes cost


@njit(cache=True, nogil=True)
def _growth(changes, code, of_context):
    """Return what changes of counts cost, in units; of_context: int64[symbols], of zeros."""
    symbols, growth = len(code.contexts), 0
    for slot in range(len(changes.keys)):
        key, change = changes.keys[slot], changes.values[slot]
        if key < 0 or change == 0:
            continue
        context = key // symbols
        of_context[context] += change
        count = code.bigrams.values[_slot(code.bigrams.keys, key)]  # 0 in a free slot
        lower = code.freed[context] * code.shares[key - context * symbols]
        growth += _of_bigram(count + change, lower) - _of_bigram(count, lower)
    for slot in range(len(changes.keys)):
        context = changes.keys[slot] // symbols
        if context >= 0 and of_context[context] != 0:
            count = code.contexts[context]
            growth += _of_context(count + of_context[context]) - _of_context(count)
            of_context[context] = 0
    return growth


@njit(cache=True, nogil=True)
def _of_bigram(count, lower):
    """Return -c log2 of (max(c - 1 - D, 0) + D T U), in units; lower: D T U."""
    if count == 0:
        return 0
    return _units(-count * _log2(max(count - 1 - _DISCOUNT, 0.0) + lower))


@njit(cache=True, nogil=True)
def _of_context(count):
    """Return N log2 of max(N - 1, 1), in units."""
    return _units(count * _log2(float(max(count - 1, 1))))


@njit(cache=True, nogil=True)
def _units(bits):
    return np.int64(math.floor(bits * _ONE + 0.5))


_SQRT_HALF, _TWICE_LOG2_E = math.sqrt(0.5), 2 / math.log(2)
_SERIES = tuple(1 / (2 * k + 1) for k in range(11, -1, -1))  # of the area tangent


@njit(cache=True, nogil=True)
def _log2(x):
    """Return the binary logarithm of x > 0, by artanh: the same bits on any processor."""
    m, power = math.frexp(x)
    if m < _SQRT_HALF:
        m, power = 2 * m, power - 1
    s = (m - 1) / (m + 1)
    square, series = s * s, 0.0
    for coefficient in _SERIES:
        series = series * square + coefficient
    return power + _TWICE_LOG2_E * (s * series)
