"""Ablation losses over lines of tokens, compiled. To be read against Equation 1 of the paper:

    L(V, C) = - sum over lines, targets i, contexts j with 0 < |i - j| <= W of
              log sigma(E_T[x_i] . E_C[x_j])

Each unordered pair of positions counts from both sides, so a line's loss is a sum of `pair_loss`
over i < j. A pair loss is taken in float32 and rounded to a whole number of units (2^-27, unless
vectors are long). From there on all sums are of whole numbers: the same in any order, for any
number of threads, and whether a sum is computed anew or corrected. For a text that is long enough
the losses of all pairs are tabled before (`_all_pairs`); for others they are taken as pairs come.

`ablate_lines` adds up loss_t = L(V without t, C) - L(V, C) for all pieces t at once. Without t,
other tokens stand in some places of a line. A pair changes only if its span meets such a place: so
loss_t is a sum over places, the pairs that meet the new tokens less those that met the old ones.

Two words are used throughout. An *item* is a word of a line and a piece t among its tokens. A
*place* is where tokens change without t: one item, or several of one piece that are close together.

Compiled functions call only functions of this file and get only arrays and the tuples of this file,
because Numba looks at this file alone to tell whether its cache is still good. They take a block of
lines at a time, one that fits the processor's cache: Numba counts references to each array that is
handed over, with a lock; line by line that would cost more than the pairs do. For the same reason
pairs are listed first, and then looked up together (`_look_up`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sagevocab.numba_cache import provide_cache

provide_cache()

_BLOCK = 2048  # words
_PLACES = 512  # whose new pairs are listed at a time


class Lines(NamedTuple):
    """A stretch of the corpus: word types int32[words], offsets int64[lines + 1] into them.

    number: the number of the first of these lines in the corpus.
    """

    types: np.ndarray
    offsets: np.ndarray
    number: int


class View(NamedTuple):
    """How the vocabulary V segments each word type, and how V without each piece t of interest.

    tokens: int32. offsets: int64[types + 1], where the tokens of each type begin.
    first: int64[types + 1], where the ablations of each type begin, one for each piece t.
    pieces: int32[ablations], t. begins, ends: int32[ablations], from where to where the type's
    tokens change. new_offsets: int64[ablations + 1]. new_tokens: int32, what is there then.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    first: np.ndarray
    pieces: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    new_offsets: np.ndarray
    new_tokens: np.ndarray


class Sums(NamedTuple):
    """What is summed by piece, int64. The loss is high * 2^32 + low units.

    occurrences: the piece's tokens. lines: those that hold such a token. opening: of the lines that
    count for its loss, those that begin with it.
    """

    high: np.ndarray
    low: np.ndarray
    occurrences: np.ndarray
    lines: np.ndarray
    opening: np.ndarray


def zero_sums(n_pieces: int) -> Sums:
    """Return sums of nothing."""
    return Sums(*np.zeros((len(Sums._fields), n_pieces), np.int64))


def add_sums(shares: list[Sums]) -> Sums:
    """Add up what threads have summed."""
    total = Sums(*map(sum, zip(*shares, strict=True)))
    return total._replace(high=total.high + (total.low >> 32), low=total.low & 0xFFFFFFFF)


# --- losses of pairs. Every rounding and every fused multiply-add is written down, so that one pair
# computed alone, and many computed side by side on any processor, have the same bits.

_FRACTION_BITS = 31  # of a loss and its unit together; fewer where a line of them may pass 2^62
_LINE_BITS = 62  # of a line's loss, in 64 bits: it stays clear of the sign
_PAIR_BITS = np.uint64(
    32
)  # of a cache entry: which pair it is, 0 for none; the 32 bits below are its loss
_LOSS_MASK = np.uint64(0xFFFFFFFF)
_ONE, _ZERO, _HALF = np.float32(1), np.float32(0), np.float32(0.5)


class Scores(NamedTuple):
    """E_T and E_C (float32[V + 1 + padding, d], row x + 1 is of token x), and losses of pairs.

    one: a loss of 1, in units. table: uint32[pairs], the loss of every pair by `_pair_number`, or
    nothing. Without it the losses are kept in the cache, uint64[2^bits], as they are met. A pair
    takes the entry of the one that was there. An entry says which pair it is beside its loss, in
    one word: threads share the cache without a lock, for all write the same entry for a pair.
    """

    table: np.ndarray
    cache: np.ndarray
    bits: np.uint64
    target: np.ndarray
    context: np.ndarray
    one: np.float32


def make_scores(
    target: np.ndarray,
    context: np.ndarray,
    cache_bytes: int,
    line_pairs: int = 1,
    *,
    table: bool = False,
    threads: int = 1,
) -> Scores:
    """Take E_T and E_C of pieces numbered by falling frequency.

    Neither the cache nor the table changes a byte of the outcome.

    Args:
        target: E_T, a row a piece.
        context: E_C.
        cache_bytes: the most memory that the cache may take. A small one is slow.
        line_pairs: the most pairs that a line may have.
        table: whether to compute the losses of all pairs now.
        threads: that compute them.

    Returns:
        What gives the loss of a pair.
    """
    squares = (np.square(matrix, dtype=np.float64).sum(1).max() for matrix in (target, context))
    largest = 2 * (np.sqrt(np.prod(list(squares))) + 1)  # -log sigma(-x) < x + 1
    of_pair, of_line = (int(np.ceil(np.log2(most))) for most in (largest, largest * line_pairs))
    one = np.float32(2.0 ** min(_FRACTION_BITS - of_pair, _LINE_BITS - of_line))
    size = len(target) + 1  # an uncovered character is a token, too
    rows = size + -size % _TILE, target.shape[1] + -target.shape[1] % _STEP
    target, context = (_padded(matrix, rows) for matrix in (target, context))
    pairs = size * (size + 1) // 2
    if table:
        losses = _all_pairs(target, context, one, size, threads)
        return Scores(losses, np.zeros(1, np.uint64), np.uint64(0), target, context, one)
    bits = min(max(cache_bytes // 8, 1).bit_length() - 1, pairs.bit_length())
    bits = max(
        bits, pairs.bit_length() - int(_PAIR_BITS) + 1
    )  # the other bits of a pair fit in a mark
    cache = np.zeros(1 << bits, np.uint64)
    return Scores(np.zeros(0, np.uint32), cache, np.uint64(bits), target, context, one)


def _padded(matrix: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return float32[shape]: a row of zeros, the matrix, and zeros around it."""
    padded = np.zeros(shape, np.float32)
    padded[1 : len(matrix) + 1, : matrix.shape[1]] = matrix
    return padded


def _all_pairs(
    target: np.ndarray, context: np.ndarray, one: np.float32, size: int, threads: int
) -> np.ndarray:
    """Return the loss of every pair of tokens, in units: uint32[pairs], by `_pair_number`."""
    table = np.empty(size * (size + 1) // 2, np.uint32)
    columns = np.ascontiguousarray(target.T), np.ascontiguousarray(context.T)

    def work(first: int) -> None:
        _fill_columns(target, context, *columns, first, size, one, table)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(0, size, _TILE)))
    return table


@intrinsic
def _fma(_typing, a, b, c):
    """Return a * b + c of float32, rounded once."""

    def generate(context, builder, signature, arguments):
        kind = ir.FloatType()
        function = ir.FunctionType(kind, [kind] * 3)
        return builder.call(
            builder.module.declare_intrinsic("llvm.fma", [kind], function), arguments
        )

    return types.float32(types.float32, types.float32, types.float32), generate


@intrinsic
def _bits_of(_typing, number):
    """Return the bits of a float32 as an int32."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def _with_bits(_typing, bits):
    """Return the float32 of these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


_LOG2_E, _LN_2 = np.float32(1.44269504), np.float32(0.69314718)
_LOWEST = np.float32(-125)  # of a power of two: below it, no bit of a loss changes
_ROUNDING = np.float32(1.5 * 2**23)  # added and taken away, it leaves a whole number
_SQRT_HALF = np.int32(0x3F3504F3)  # its bits
_EXPONENT = np.int32(23)  # where a float32 has its exponent
_P0, _P1, _P2, _P3, _P4, _P5 = np.array(
    [1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1], np.float32
)  # of 2^x, |x| <= 1/2, the highest power first
_S9, _S7, _S5, _S3 = (np.float32(1 / n) for n in (9, 7, 5, 3))  # of the area tangent


@njit(inline="always")
def _exp_of_minus(x):
    """Return e^-x of x >= 0, within 2e-7."""
    power = -x * _LOG2_E
    power = power if power > _LOWEST else _LOWEST
    rounded = power + _ROUNDING  # its low bits are the nearest whole number
    rest = power - (rounded - _ROUNDING)
    result = _fma(_P0, rest, _P1)
    result = _fma(result, rest, _P2)
    result = _fma(result, rest, _P3)
    result = _fma(result, rest, _P4)
    result = _fma(result, rest, _P5)
    result = _fma(result, rest, _ONE)
    return _with_bits(np.int32(_bits_of(result) + np.int32(_bits_of(rounded) << _EXPONENT)))


@njit(inline="always")
def _log(x):
    """Return the natural logarithm of 1 <= x <= 4, within 2e-7: of x = m 2^n, by artanh."""
    power = np.int32(np.int32(_bits_of(x) - _SQRT_HALF) >> _EXPONENT)
    m = _with_bits(np.int32(_bits_of(x) - np.int32(power << _EXPONENT)))
    s = (m - _ONE) / (m + _ONE)
    square = s * s
    series = _fma(_S9, square, _S7)
    series = _fma(series, square, _S5)
    series = _fma(series, square, _S3)
    series = _fma(series, square, _ONE)
    return _fma(np.float32(power), _LN_2, (s + s) * series)


@njit(inline="always")
def _units(there, back, one):
    """Return -log sigma(there) - log sigma(back) as a whole number of units, without overflow.

    Both orders of the two give the same bits.
    """
    a, b = _exp_of_minus(abs(there)), _exp_of_minus(abs(back))
    below = (-there if there < _ZERO else _ZERO) + (-back if back < _ZERO else _ZERO)
    loss = _log(_fma(a, b, (a + b) + _ONE)) + below
    return np.uint32(np.int32(loss * one + _HALF))


@njit(cache=True, nogil=True, error_model="numpy")
def _pair_loss(target, context, x, y, one):
    """Return -log sigma(E_T[x] . E_C[y]) - log sigma(E_T[y] . E_C[x]), in units.

    Both orders of x and y give the same number. The error of a loss is below 2e-6.
    """
    there = back = _ZERO
    for k in range(target.shape[1]):
        there = _fma(target[x + 1, k], context[y + 1, k], there)
        back = _fma(context[x + 1, k], target[y + 1, k], back)
    return _units(there, back, one)


_TILE = 128  # columns of the table that are filled at a time
_ROWS = 4  # rows of such a tile: its sums fit in the fastest memory
_STEP = 4  # dimensions that are added before the sums go back to it


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_columns(target, context, target_columns, context_columns, first, size, one, table):
    """Write the losses of the pairs of tokens whose lower number is in first..first + _TILE."""
    there, back = np.empty((2, _ROWS, _TILE), np.float32)
    of_target = target_columns[:, first : first + _TILE].copy()
    of_context = context_columns[:, first : first + _TILE].copy()
    for top in range(first, size, _ROWS):
        there[:], back[:] = _ZERO, _ZERO
        for k in range(0, target.shape[1], _STEP):
            for row in range(_ROWS):
                _add_products(there, row, target, top + row, of_context, k)
                _add_products(back, row, context, top + row, of_target, k)
        for row in range(min(_ROWS, size - top)):
            high = top + row
            begin = (high * (high + 1) >> 1) + first
            for column in range(min(_TILE, high + 1 - first)):
                table[begin + column] = _units(there[row, column], back[row, column], one)
    if first == 0:  # uncovered characters lose nothing
        for high in range(size):
            table[high * (high + 1) >> 1] = 0


@njit(inline="always")
def _add_products(sums, row, matrix, token, columns, k):
    """Add to sums[row] the products of _STEP dimensions, from k on, of a token and all columns."""
    a, b, c, d = matrix[token, k], matrix[token, k + 1], matrix[token, k + 2], matrix[token, k + 3]
    for at in range(_TILE):
        total = _fma(b, columns[k + 1, at], _fma(a, columns[k, at], sums[row, at]))
        sums[row, at] = _fma(d, columns[k + 3, at], _fma(c, columns[k + 2, at], total))


@njit(cache=True, nogil=True)
def _pair_number(x, y):
    """Number the unordered pairs of tokens: those of frequent pieces come first."""
    low, high = min(np.int64(x), np.int64(y)) + 1, max(np.int64(x), np.int64(y)) + 1
    return np.uint64((high * (high + 1) >> 1) + low)


@njit(cache=True, nogil=True)
def _loss_of(scores, x, y):
    """Return the loss of a pair, computed if need be; uncovered characters (-1) lose nothing."""
    pair = _pair_number(x, y)
    if len(scores.table):
        return np.int64(scores.table[pair])
    place = pair & ((np.uint64(1) << scores.bits) - np.uint64(1))
    mark = (pair >> scores.bits) + np.uint64(1)  # which of the pairs of this place; never 0
    entry = scores.cache[place]
    if entry >> _PAIR_BITS != mark:
        loss = np.uint64(0)
        if min(x, y) >= 0:
            loss = np.uint64(_pair_loss(scores.target, scores.context, x, y, scores.one))
        entry = mark << _PAIR_BITS | loss
        scores.cache[place] = entry
    return np.int64(entry & _LOSS_MASK)


@intrinsic
def _prefetch(_typing, array, index):
    """Ask for an entry of an array that will be read soon, without waiting: `llvm.prefetch`."""

    def generate(context, builder, signature, arguments):
        entries = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.gep(entries, [arguments[1]])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        to_read, keep, data = number(0), number(3), number(1)
        builder.call(prefetch, [address, to_read, keep, data])
        return context.get_dummy_value()

    return types.void(array, index), generate


_AHEAD = 32  # pairs; anything from 16 to 64 is as good


@njit(cache=True, nogil=True)
def _look_up(pairs, scores):
    """Return the losses of pairs of tokens (int32[pairs, 2]): int64[pairs], in units.

    Table and cache are far larger than the processor's caches, and waiting for memory takes several
    times as long as all else here. So each entry is fetched well before its turn.
    """
    losses = np.empty(len(pairs), np.int64)
    if len(scores.table):
        table = scores.table
        for k in range(len(pairs)):
            later = min(k + _AHEAD, len(pairs) - 1)
            _prefetch(table, _pair_number(pairs[later, 0], pairs[later, 1]))
            losses[k] = table[_pair_number(pairs[k, 0], pairs[k, 1])]
        return losses
    cache, bits = scores.cache, scores.bits
    inside = (np.uint64(1) << bits) - np.uint64(1)
    for k in range(len(pairs)):
        later = min(k + _AHEAD, len(pairs) - 1)
        _prefetch(cache, _pair_number(pairs[later, 0], pairs[later, 1]) & inside)
        pair = _pair_number(pairs[k, 0], pairs[k, 1])
        entry = cache[pair & inside]
        if entry >> _PAIR_BITS == (pair >> bits) + np.uint64(1):
            losses[k] = np.int64(entry & _LOSS_MASK)
        else:
            losses[k] = _loss_of(scores, pairs[k, 0], pairs[k, 1])
    return losses


# --- which lines count for a piece's loss: all, or a seeded sample

HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)  # a limit that every line's hash keeps to


class Sample(NamedTuple):
    """The lines that count for a piece: those whose hash under its key is at most its limit.

    The n lines of lowest hash are a sample of n, drawn without a list of each piece's lines.
    """

    keys: np.ndarray
    limits: np.ndarray


def sample_keys(n_pieces: int, seed: int) -> np.ndarray:
    """Return a key for each piece, uint64."""
    return np.random.default_rng(seed).integers(0, 1 << 64, n_pieces, dtype=np.uint64)


@njit(cache=True, nogil=True)
def _counts_for(sample, piece, line):
    """Tell whether a line counts for a piece."""
    return _line_hash(sample.keys[piece], line) <= sample.limits[piece]


@njit(cache=True, nogil=True)
def _line_hash(key, line):
    """Mix a piece's key and a line's number (splitmix64's finaliser: no two lines collide)."""
    x = key ^ np.uint64(line)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _pieces_of_line(types, first, pieces, number, seen, found):
    """List in `found` the distinct pieces of a line's word types; return how many.

    Type t has the pieces[first[t] : first[t + 1]]. seen: by piece, the last line it was found in.
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
    """Count, for every piece, the lines with a word type that has it (as `_pieces_of_line`)."""
    holding = np.zeros(n_pieces, np.int64)
    seen, found = np.full(n_pieces, -1, np.int64), np.empty(n_pieces, np.int64)
    for number in range(len(lines.offsets) - 1):
        types = lines.types[lines.offsets[number] : lines.offsets[number + 1]]
        for k in range(_pieces_of_line(types, first, pieces, number, seen, found)):
            holding[found[k]] += 1
    return holding


@njit(cache=True, nogil=True)
def sample_limits(lines, first, pieces, holding, keys, n):
    """Return, for every piece, the n-th lowest hash among the lines that `count_lines` counted.

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
        for k in range(_pieces_of_line(types, first, pieces, number, seen, found)):
            piece = found[k]
            if holding[piece] > n:
                heap = heaps[begin[piece] : begin[piece + 1]]
                _replace_highest(heap, _line_hash(keys[piece], lines.number + number))
                limits[piece] = heap[0]
    return limits


@njit(cache=True, nogil=True)
def _replace_highest(heap, value):
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


# --- ablation losses

# What is new about a word type from one view to the next: its tokens, or an ablation only.
TOKENS, ABLATION = np.int8(2), np.int8(1)


@njit(cache=True, nogil=True)
def find_changed(view, gone, wanted):
    """Return int8[types], what is new once the pieces `gone` have left the vocabulary.

    A type changes if it shows such a piece: as a token, or among those that replace a wanted one.
    """
    changed = np.zeros(len(view.offsets) - 1, np.int8)
    for kind in range(len(changed)):
        for at in range(view.offsets[kind], view.offsets[kind + 1]):
            if view.tokens[at] >= 0 and gone[view.tokens[at]]:
                changed[kind] = TOKENS
        for ablation in range(view.first[kind], view.first[kind + 1]):
            if changed[kind] or not wanted[view.pieces[ablation]]:
                continue
            for at in range(view.new_offsets[ablation], view.new_offsets[ablation + 1]):
                if view.new_tokens[at] >= 0 and gone[view.new_tokens[at]]:
                    changed[kind] = ABLATION
    return changed


@njit(cache=True, nogil=True)
def ablate_lines(lines, changed, before, after, wanted, window, scores, sample, sums):
    """Correct `sums` of the pieces `wanted`: from those of the view `before` to those of `after`.

    From a view of no tokens, and with the tokens of all types new, sums are computed anew. Only
    lines with a changed type are looked at, and in them only pieces with an item near a change: the
    losses of all others are what they were.

    Args:
        lines: of the corpus.
        changed: int8[types], see `find_changed`.
        before: the tokens of the types until now.
        after: their tokens from now on.
        wanted: bool[pieces].
        window: W of Equation 1.
        scores: the losses of pairs.
        sample: of lines, by piece.
        sums: what is corrected.
    """
    numbers, begin = changed_lines(lines, changed), 0
    old_seen = np.full((3, len(wanted)), -1, np.int64)  # see `_list_items`
    new_seen = old_seen.copy()
    while begin < len(numbers):
        block, begin = _next_block(lines, numbers, begin)
        old_starts = _token_starts(block.types, before.offsets)
        new_starts = _token_starts(block.types, after.offsets)
        near = np.zeros(len(block.types), np.bool_)
        _find_near(block, changed, old_starts, window, near)
        _find_near(block, changed, new_starts, window, near)
        sign = -1  # the old sums go, the new ones come
        old, new = (before, after, old_starts, old_seen), (after, before, new_starts, new_seen)
        for view, other, starts, seen in (old, new):
            tokens = _write_tokens(block.types, view, starts)
            items = _list_items(block, near, view, other, wanted, seen)
            _count_items(items, view.pieces, starts, tokens, sign, sums.occurrences, sums.lines)
            _count_openings(block, starts, tokens, sample, sign, sums.opening)
            places = _join_items(block, items, view, starts, window, sample)
            around = _write_places(places, items, view, starts, tokens, window)
            pairs = _sum_pairs(tokens, starts[block.ends], window, scores)
            _sum_old_pairs(places, tokens, window, pairs, scores)
            for some in range(0, len(places), _PLACES):
                _sum_new_pairs(places[some : some + _PLACES], around, window, scores)
            _add_losses(places, sign, sums.high, sums.low)
            sign = 1


# --- the steps of `ablate_lines`: blocks of lines


class _Block(NamedTuple):
    """Some lines: types int32[words]; up to which word each goes, and its number in the corpus."""

    types: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray


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
def _next_block(lines, numbers, begin):
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
    return _Block(types, ends[: stop - begin], lines.number + numbers[begin:stop]), stop


@njit(cache=True, nogil=True)
def _token_starts(types, offsets):
    """Return int64[words + 1]: where the tokens of each word of a block begin."""
    starts = np.zeros(len(types) + 1, np.int64)
    for word in range(len(types)):
        starts[word + 1] = starts[word] + offsets[types[word] + 1] - offsets[types[word]]
    return starts


@njit(cache=True, nogil=True)
def _write_tokens(types, view, starts):
    """Return the tokens of a block."""
    written = np.empty(starts[-1], np.int32)
    for word in range(len(types)):
        source = view.offsets[types[word]]
        for at in range(starts[word], starts[word + 1]):
            written[at] = view.tokens[source + at - starts[word]]
    return written


@njit(cache=True, nogil=True)
def _find_near(block, changed, starts, window, near):
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


# --- items

# line, word: of the block. ablation: of the view. next: the piece's next item in the line, or -1.
_ITEM = np.dtype([(name, np.int64) for name in ("line", "word", "ablation", "next")])


@njit(cache=True, nogil=True)
def _list_items(block, near, view, other, wanted, seen):
    """List the items of wanted pieces that have one near a change, in this view or the other.

    From right to left, so that each can name the next one of its piece. seen: by piece, the line it
    was last marked in; the line it was last listed in; and its last item.
    """
    first, pieces = view.first, view.pieces
    marked, listed, last = seen[0], seen[1], seen[2]
    n = 0
    for kind in block.types:
        n += first[kind + 1] - first[kind]
    items, n = np.empty(n, _ITEM), 0
    for line in range(len(block.ends) - 1, -1, -1):
        begin, end = _words_of_line(block.ends, line)
        number = block.numbers[line]
        _mark_pieces(block.types, begin, end, near, first, pieces, number, marked)
        _mark_pieces(block.types, begin, end, near, other.first, other.pieces, number, marked)
        for word in range(end - 1, begin - 1, -1):
            kind = block.types[word]
            for ablation in range(first[kind], first[kind + 1]):
                piece = pieces[ablation]
                if marked[piece] == number and wanted[piece]:
                    items[n].line, items[n].word, items[n].ablation = line, word, ablation
                    items[n].next = last[piece] if listed[piece] == number else -1
                    listed[piece], last[piece] = number, n
                    n += 1
    return items[:n]


@njit(cache=True, nogil=True)
def _words_of_line(ends, line):
    """Return where the words of a line begin and end in its block."""
    return ends[line - 1] if line > 0 else 0, ends[line]


@njit(cache=True, nogil=True)
def _mark_pieces(types, begin, end, near, first, pieces, number, marked):
    """Mark, with the line's number, the pieces of words that are near a change."""
    for word in range(begin, end):
        if near[word]:
            for at in range(first[types[word]], first[types[word] + 1]):
                marked[pieces[at]] = number


@njit(cache=True, nogil=True)
def _count_items(items, pieces, starts, tokens, sign, occurrences, lines):
    """Count the tokens of the items' pieces, and a line at the last item that a piece has in it."""
    for item in range(len(items)):
        piece, word = pieces[items[item].ablation], items[item].word
        lines[piece] += sign * (items[item].next < 0)
        for at in range(starts[word], starts[word + 1]):
            occurrences[piece] += sign * (tokens[at] == piece)


@njit(cache=True, nogil=True)
def _count_openings(block, starts, tokens, sample, sign, opening):
    """Count the lines that begin with a piece and count for its loss."""
    begin = 0
    for line in range(len(block.ends)):
        if starts[begin] < starts[block.ends[line]]:
            piece = tokens[starts[begin]]
            if piece >= 0 and _counts_for(sample, piece, block.numbers[line]):
                opening[piece] += sign
        begin = block.ends[line]


# --- places

# piece: t. item: the first one. start, stop: where the old tokens are in the block; line_start,
# line_end: where their line is. first, last: where the new tokens are among those of all places;
# begin, end: where they are with the W tokens of the line before and behind. loss: in units.
_PLACE = np.dtype(
    [("piece", np.int64), ("item", np.int64), ("start", np.int64), ("stop", np.int64)]
    + [("line_start", np.int64), ("line_end", np.int64), ("first", np.int64), ("last", np.int64)]
    + [("begin", np.int64), ("end", np.int64), ("loss", np.int64)]
)


@njit(cache=True, nogil=True)
def _join_items(block, items, view, starts, window, sample):
    """List the places of items, in lines that count for the piece.

    Items of one piece with fewer than W tokens between them share a place, with these tokens in it:
    so a pair meets one place of its piece at most.
    """
    begins, ends = view.begins, view.ends
    places, n = np.empty(len(items), _PLACE), 0
    joined = np.zeros(len(items), np.bool_)
    for item in range(len(items) - 1, -1, -1):
        line, ablation = items[item].line, items[item].ablation
        piece = view.pieces[ablation]
        if joined[item] or not _counts_for(sample, piece, block.numbers[line]):
            continue
        first_word, end_word = _words_of_line(block.ends, line)
        places[n].line_start, places[n].line_end = starts[first_word], starts[end_word]
        start = stop = starts[items[item].word] + begins[ablation]
        places[n].piece, places[n].item, places[n].start = piece, item, start
        while item >= 0 and start < stop + window:
            stop = starts[items[item].word] + ends[items[item].ablation]
            joined[item], item = True, items[item].next
            if item >= 0:
                start = starts[items[item].word] + begins[items[item].ablation]
        places[n].stop = stop
        n += 1
    return places[:n]


@njit(cache=True, nogil=True)
def _write_places(places, items, view, starts, tokens, window):
    """Write, for every place, the tokens around it and in it without the piece; return them."""
    begins, ends = view.begins, view.ends
    offsets, new_tokens = view.new_offsets, view.new_tokens
    room = 3 * window * len(items)  # before and behind each, and up to the next one if joined
    for item in range(len(items)):
        room += offsets[items[item].ablation + 1] - offsets[items[item].ablation]
    new, at = np.empty(room, np.int32), 0
    for place in range(len(places)):
        stop, item = places[place].start, places[place].item
        places[place].begin = at
        for source in range(max(places[place].line_start, stop - window), stop):
            new[at] = tokens[source]
            at += 1
        places[place].first = at
        while stop < places[place].stop:
            ablation, word_start = items[item].ablation, starts[items[item].word]
            for source in range(stop, word_start + begins[ablation]):
                new[at] = tokens[source]
                at += 1
            for source in range(offsets[ablation], offsets[ablation + 1]):
                new[at] = new_tokens[source]
                at += 1
            stop, item = word_start + ends[ablation], items[item].next
        places[place].last = at
        for source in range(stop, min(places[place].line_end, stop + window)):
            new[at] = tokens[source]
            at += 1
        places[place].end = at
    return new


# --- losses of places


class _Pairs(NamedTuple):
    """Pairs of tokens within the window, in a block.

    losses[begins[i] + d - 1]: of (i, i + d). ahead[i], behind[i]: the sums of those whose left,
    right token stands before i.
    """

    losses: np.ndarray
    begins: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray


@njit(cache=True, nogil=True)
def _sum_pairs(tokens, ends, window, scores):
    """Look up the pairs of every line; line k is up to ends[k]."""
    room, begin = 0, 0
    for end in ends:
        room += (end - begin) * min(window, end - begin)
        begin = end
    listed, n = np.empty((room, 2), np.int32), 0
    begins, begin = np.zeros(len(tokens) + 1, np.int64), 0
    for end in ends:
        for i in range(begin, end):
            for j in range(i + 1, min(i + window + 1, end)):
                listed[n, 0], listed[n, 1] = tokens[i], tokens[j]
                n += 1
            begins[i + 1] = n
        begin = end
    losses = _look_up(listed[:n], scores)
    ahead, behind = np.zeros(len(tokens) + 1, np.int64), np.zeros(len(tokens) + 1, np.int64)
    for i in range(len(tokens)):
        for k in range(begins[i], begins[i + 1]):
            j = i + 1 + k - begins[i]
            ahead[i + 1] += losses[k]
            behind[j + 1] += losses[k]
    for i in range(len(tokens)):
        ahead[i + 1] += ahead[i]
        behind[i + 1] += behind[i]
    return _Pairs(losses, begins, ahead, behind)


@njit(cache=True, nogil=True)
def _sum_old_pairs(places, tokens, window, pairs, scores):
    """Set each place's loss to what the pairs of old tokens add to it.

    Those that met the old tokens go. Of those, a pair from before the place to behind it comes back
    if the new tokens leave it in the window: if they are fewer than the old ones, others come in.
    """
    losses, begins, ahead, behind = pairs
    for place in range(len(places)):
        start, stop, end = places[place].start, places[place].stop, places[place].line_end
        new = places[place].last - places[place].first
        reach = window - (new - (stop - start))  # two tokens so far apart will be W apart
        # Pairs that begin before `stop` go, but for those that end before `start`.
        loss = behind[start] - ahead[stop]
        for i in range(max(places[place].line_start, stop - reach), start):
            for j in range(stop, min(end, i + reach + 1)):
                if j - i <= window:
                    loss += losses[begins[i] + j - i - 1]
                else:
                    loss += _loss_of(scores, tokens[i], tokens[j])
        places[place].loss = loss


@njit(cache=True, nogil=True)
def _sum_new_pairs(places, tokens, window, scores):
    """Add to each place's loss the pairs that meet its new tokens."""
    room = 0
    for place in range(len(places)):
        around = places[place].end - places[place].begin
        room += (places[place].last - places[place].first) * min(2 * window, around)
    listed, n = np.empty((room, 2), np.int32), 0
    stops = np.empty(len(places), np.int64)  # where the pairs of each place end
    for place in range(len(places)):
        first, last = places[place].first, places[place].last
        begin, end = places[place].begin, places[place].end
        for i in range(first, last):
            # Left of the place, then right of i: two new tokens pair once, from the left one.
            skip = i + 1 - first
            left = max(begin, min(i - window, first))
            for at in range(left, min(i + window + 1, end) - skip):
                j = at + skip * (at >= first)
                listed[n, 0], listed[n, 1] = tokens[i], tokens[j]
                n += 1
        stops[place] = n
    losses, begin = _look_up(listed[:n], scores), 0
    for place in range(len(places)):
        places[place].loss += losses[begin : stops[place]].sum()
        begin = stops[place]


@njit(cache=True, nogil=True)
def _add_losses(places, sign, high, low):
    """Add each place's loss, `sign` times, to that of its piece."""
    for place in range(len(places)):
        piece = places[place].piece
        total = low[piece] + sign * places[place].loss
        high[piece] += total >> 32
        low[piece] = total & 0xFFFFFFFF
