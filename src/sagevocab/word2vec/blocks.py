"""Skip-gram with negative sampling on all cores; any number of threads gives the same bytes.

This is the model that gensim trains (Mikolov et al. 2013), trained in another order. For a pair of
an input piece x and an output piece y with k negatives n, one update of the learning rate `alpha`
follows the gradient of

    log sigma(E_T[x] . E_C[y]) + sum over n of log sigma(-E_T[x] . E_C[n])

taken at the values before the update; of pairs that share negatives, each sees these as the pairs
before it have left them. Three things make it fast:

- *Blocks.* The rows of E_T are dealt to `JOBS` blocks, those of E_C to twice as many. A bucket has
  the pairs whose input is in one block of E_T, whose output is in one block of E_C, and whose
  negatives are drawn from one block of E_C. A job trains some buckets of one block of E_T and two
  of E_C. The jobs of a step share no block, so they may run at the same time or one after the
  other: the result is the same. Every pair is trained once an epoch, as in gensim; only the order
  differs, and that only within a chunk of text.
- *Groups.* `GROUP` pairs from distant places of a chunk share their negatives, so that a row of
  E_C is loaded once for all of them.
- *Vectors that are written down.* The arithmetic of a group is LLVM's code for vectors, with every
  order of summation in it. Rows are padded to whole cache lines, and fetched a group ahead.

A pair's positive and its negatives are updated together. One after the other, E_T would grow and
E_C shrink, which the mean losses of a SaGe ablation notice. If pairs that share negatives all saw
them as they were before, E_C would grow.

The bytes depend neither on the number of threads nor on the processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic

from sagevocab.corpus import reading
from sagevocab.segmentation.counts import count_pieces
from sagevocab.segmentation.decoder import UNCOVERED

if TYPE_CHECKING:
    from sagevocab.segmentation.counts import SegmentedCorpus
    from sagevocab.settings import Word2VecSettings

JOBS = 4  # jobs that a step can run at the same time, and blocks of input pieces
GROUP = 8  # pairs that share their negatives
CHUNK = 20_000  # tokens whose pairs are listed together; in longer chunks both matrices grow more
LAST_RATE = 1e-4  # gensim's min_alpha

_BLOCKS = 2 * JOBS  # blocks of output pieces
_BUCKETS = JOBS * _BLOCKS * _BLOCKS
_LANES = 16  # float32 numbers in a cache line
_FLOAT, _INT32, _INT64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_INCREMENT = uint64(0x9E3779B97F4A7C15)  # of SplitMix64's state
_PAIRS, _ORDER, _FIRST_BUCKET = 0, 1, 2  # what a chunk draws for: each use has a seed of its own
_PATIENCE = 1000  # readings of a counter before a thread that waits sleeps: some 10 us
_LIMIT = 6.0  # of a dot product; beyond it the sigmoid counts as 0 or 1


@dataclass(frozen=True)
class Tokens:
    """A text as rows of both matrices.

    rows: int32[tokens]. ends: int64[lines + 1], where lines begin and end.
    """

    rows: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, text: SegmentedCorpus, row: np.ndarray) -> Tokens:
        """Return the pieces of a text; piece p has row[p], and what no piece covers is left out."""
        covered = text.flat != UNCOVERED
        of_types = row[text.flat[covered]].astype(np.int32)
        offsets = np.concatenate(([0], np.cumsum(covered)))[text.offsets]
        rows, stops = reading.expanded(text.types, text.line_offsets[1:], of_types, offsets)
        return cls(rows, np.concatenate(([0], stops)))


class Layout:
    """Pieces in the order of their blocks, and the tables that negatives are drawn from.

    row: int64[pieces], the row of a piece in both matrices. starts: int64[blocks + 1], where the
    rows of each block of E_C begin. output_block, input_block: int8[rows], the block of a row of
    E_C, and of E_T: two of the former are one of the latter. counts: int64[rows], occurrences.
    keep: uint32[rows], the chance that an occurrence is kept, in 2^-32. bounds: uint64[blocks + 1],
    the blocks' cumulated shares of the noise, in 2^-32; a pair draws its block of negatives by
    them. alias: uint64[rows], a table for each block of E_C to draw its rows by (`_alias_table`).
    """

    def __init__(self, counts: np.ndarray, sample: float) -> None:
        """Deal the pieces: counts, int64[pieces], says how often each occurs."""
        block = _snake(counts, _BLOCKS)
        order = np.argsort(block, kind="stable")
        self.row = np.empty(len(counts), np.int64)
        self.row[order] = np.arange(len(counts))
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(block, minlength=_BLOCKS))))
        self.output_block = block[order].astype(np.int8)
        self.input_block = self.output_block % JOBS
        self.counts = counts[order]
        self.keep = _keep_chances(self.counts, sample)
        # Square roots are rounded alike by all processors, powers are not.
        noise = np.sqrt(self.counts * np.sqrt(self.counts))
        parts = [noise[a:z] for a, z in zip(self.starts, self.starts[1:], strict=False)]
        shares = np.cumsum([part.sum() for part in parts]) / noise.sum()
        self.bounds = np.concatenate(([0], np.round(shares * 2**32))).astype(np.uint64)
        self.alias = np.concatenate([_alias_table(part) for part in parts])


def _snake(counts: np.ndarray, blocks: int) -> np.ndarray:
    """Deal pieces to blocks by frequency, 0 1 2 2 1 0 0 1 ..., so that all weigh about the same."""
    rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    turn, place = np.divmod(rank, blocks)
    return np.where(turn % 2 == 0, place, blocks - 1 - place)


def _keep_chances(counts: np.ndarray, sample: float) -> np.ndarray:
    """Return the chance to keep an occurrence of each piece, as gensim has it, in 2^-32."""
    if sample == 0:
        return np.full(len(counts), 2**32 - 1, np.uint32)
    threshold = sample * counts.sum()
    seen = np.maximum(counts, 1)
    chance = (np.sqrt(seen / threshold) + 1) * threshold / seen
    return (np.minimum(chance, 1.0) * (2**32 - 1)).astype(np.uint32)


def _alias_table(weights: np.ndarray) -> np.ndarray:
    """Return Walker's table (1977), uint64: draw i with its low half / 2^32, else its high half."""
    size, total = len(weights), weights.sum()
    scaled = (weights / total * size if total else np.ones(size)).tolist()
    chance, other = np.ones(size), np.arange(size, dtype=np.uint64)
    small = [i for i, value in enumerate(scaled) if value < 1]
    large = [i for i, value in enumerate(scaled) if value >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        chance[low], other[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return other << 32 | np.minimum(chance * 2.0**32, 2.0**32 - 1).astype(np.uint64)


def schedule() -> np.ndarray:
    """Return the steps of a chunk, int64[steps, JOBS, 4]: the buckets of each job, -1 for none.

    Bucket (i * B + o) * B + n has input block i, output block o and negatives from block n; B is
    `_BLOCKS`. A job with the blocks i, o and n has the buckets (i, o, n), (i, n, o) and, once in a
    chunk, (i, o, o) and (i, n, n). A round is a perfect matching of the output blocks (the circle
    method of tournaments); in its `JOBS` steps every matched couple meets every input block.
    """
    circle, steps = list(range(_BLOCKS)), []
    for turn in range(_BLOCKS - 1):
        couples = [(circle[k], circle[-1 - k]) for k in range(JOBS)]
        for shift in range(JOBS):
            steps.append(
                [_buckets((k + shift) % JOBS, *couples[k], alone=turn == 0) for k in range(JOBS)]
            )
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return np.array(steps)


def _buckets(block: int, one: int, two: int, *, alone: bool) -> list[int]:
    """Return the buckets of a job; `alone`: also those with negatives from the output's block."""
    buckets = [(block * _BLOCKS + o) * _BLOCKS + n for o in (one, two) for n in (two, one)]
    return [buckets[0], buckets[3], *(buckets[1:3] if alone else (-1, -1))]


@njit(inline="always")
def _padded(numbers):
    """Return a length, rounded up to whole cache lines."""
    return (numbers + _LANES - 1) // _LANES * _LANES


@njit(inline="always")
def _mix(state):
    """SplitMix64 (Steele et al. 2014): 64 bits from a state that grows by _INCREMENT."""
    z = (state ^ (state >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@njit(cache=True)
def _seed(seed, chunk, use):
    """Return a number of 64 bits for three; use: one of `_PAIRS`, `_ORDER`, `_FIRST_BUCKET` + n."""
    return _mix(_mix(_mix(seed + _INCREMENT) + chunk * _INCREMENT) + use * _INCREMENT)


@njit(nogil=True, cache=True)
def _list_pairs(
    rows, ends, first, last, keep, bounds, window, shrink, seed, input_block, output_block,
    kept, pairs, buckets, offsets,
):  # fmt: skip
    """Write the pairs (input, output) of lines first..last and their buckets; return their number.

    As in gensim, frequent tokens are left out by chance (`keep`), a window reaches `window` or
    fewer tokens (`shrink`), and its middle is the output of each pair, a neighbour the input.
    kept: room for a line. offsets: bucket b's pairs are counted in offsets[b + 1].
    """
    state, total = _mix(seed), 0
    offsets[:] = 0
    for line in range(first, last):
        length = 0
        for row in rows[ends[line] : ends[line + 1]]:
            state += _INCREMENT
            if keep[row] >= _mix(state) >> uint64(32):
                kept[length] = row
                length += 1
        for i in range(length):
            state += _INCREMENT
            cut = ((_mix(state) >> uint64(32)) * uint64(window)) >> uint64(32)
            reach = window - np.int64(cut) if shrink else window
            for j in range(max(0, i - reach), min(length, i + reach + 1)):
                if j == i:
                    continue
                state += _INCREMENT
                draw = _mix(state) >> uint64(32)
                bucket = (input_block[kept[j]] * _BLOCKS + output_block[kept[i]]) * _BLOCKS
                for block in range(1, _BLOCKS):  # without a branch, as no one can foresee it
                    bucket += draw >= bounds[block]
                pairs[total, 0], pairs[total, 1], buckets[total] = kept[j], kept[i], bucket
                offsets[bucket + 1] += 1
                total += 1
    return total


@njit(nogil=True, cache=True)
def _deal(pairs, buckets, total, offsets, dealt):
    """Sort the pairs by bucket, each bucket in the order of the text."""
    for bucket in range(_BUCKETS):
        offsets[bucket + 1] += offsets[bucket]
    place = offsets[:-1].copy()
    for k in range(total):
        at = place[buckets[k]]
        dealt[at, 0], dealt[at, 1] = pairs[k, 0], pairs[k, 1]
        place[buckets[k]] = at + 1


# --- the arithmetic of a group of pairs. LLVM gets vectors of `_LANES` numbers, which it splits as
# the processor needs it. Every order of summation and every fused multiply-add is written down.


class _Vectors:
    """Writes operations on vectors of float32 with a builder of LLVM's code."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def load(self, place: ir.Value, lanes: int = _LANES, kind: ir.Type = _FLOAT) -> ir.Value:
        """Return the numbers that begin at a place in memory."""
        pointer = self.builder.bitcast(place, ir.VectorType(kind, lanes).as_pointer())
        return self.builder.load(pointer, align=4)

    def store(self, vector: ir.Value, place: ir.Value) -> None:
        """Write a vector to a place in memory."""
        self.builder.store(vector, self.builder.bitcast(place, vector.type.as_pointer()), align=4)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """Return a * b + c, rounded once."""
        kind, name = ir.FunctionType(a.type, [a.type] * 3), f"llvm.fma.v{a.type.count}f32"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, (a, b, c))

    def constant(self, number: float, lanes: int = _LANES) -> ir.Value:
        """Return a vector of one number."""
        return ir.Constant(ir.VectorType(_FLOAT, lanes), number)

    def take(self, a: ir.Value, b: ir.Value, lanes: Iterable[int]) -> ir.Value:
        """Return some lanes of two vectors, numbered one after the other."""
        lanes = list(lanes)
        mask = ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def spread(self, number: ir.Value, lanes: int = _LANES) -> ir.Value:
        """Return a vector of one number that is computed."""
        one = self.together([number], lanes)
        return self.take(one, one, [0] * lanes)

    def together(self, numbers: Sequence[ir.Value], lanes: int) -> ir.Value:
        """Return a vector that begins with these numbers."""
        vector = ir.Constant(ir.VectorType(numbers[0].type, lanes), ir.Undefined)
        for lane, number in enumerate(numbers):
            vector = self.builder.insert_element(vector, number, _INT32(lane))
        return vector

    def sums(self, vectors: Sequence[ir.Value]) -> ir.Value:
        """Return the sums of 8 or 16 vectors: of neighbouring lanes, then of such sums, ..."""
        stride = 1
        while len(vectors) > 1:
            low = [n if n & stride == 0 else _LANES + n - stride for n in range(_LANES)]
            high = [n + stride if n & stride == 0 else _LANES + n for n in range(_LANES)]
            couples = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [
                self.builder.fadd(self.take(a, b, low), self.take(a, b, high)) for a, b in couples
            ]
            stride *= 2
        total = vectors[0]
        if stride == _LANES:
            return total
        return self.builder.fadd(*(self.take(total, total, range(k, k + 8)) for k in (0, 8)))

    def dots(self, x: ir.Value, rows: Sequence[ir.Value], width: ir.Value) -> ir.Value:
        """Return the dot products of a row with up to 8, or with 16 rows."""
        build = self.builder
        totals = [cgutils.alloca_once_value(build, self.constant(0)) for _ in rows]
        with cgutils.for_range_slice(build, _INT64(0), width, _INT64(_LANES)) as (at, _):
            numbers = self.load(build.gep(x, [at]))
            for total, row in zip(totals, rows, strict=True):
                others = self.load(build.gep(row, [at]))
                build.store(self.fma(numbers, others, build.load(total)), total)
        missing = [self.constant(0)] * (-len(rows) % 8)
        return self.sums([*map(build.load, totals), *missing])

    def step(self, dot: ir.Value, rate: ir.Value) -> ir.Value:
        """Return rate * sigma(dot), and 0 where |dot| is 6 or more, as word2vec does.

        sigma(x) is 1/2 + tanh(x / 2) / 2, and tanh a Pade approximant, within 1e-4.
        """
        build, lanes = self.builder, dot.type.count
        square = build.fmul(dot, dot)

        def polynomial(*coefficients: float) -> ir.Value:
            result = self.constant(coefficients[-1], lanes)
            for coefficient in coefficients[-2::-1]:
                result = self.fma(square, result, self.constant(coefficient, lanes))
            return result

        numerator = build.fmul(dot, polynomial(8648640, 277200, 1512, 1))
        half_tanh = build.fdiv(numerator, polynomial(34594560, 3991680, 50400, 112))
        step = self.fma(rate, half_tanh, build.fmul(rate, self.constant(0.5, lanes)))
        below = build.fcmp_ordered("<", dot, self.constant(_LIMIT, lanes))
        above = build.fcmp_ordered(">", dot, self.constant(-_LIMIT, lanes))
        return build.select(build.and_(below, above), step, self.constant(0, lanes))


class _Group(_Vectors):
    """Writes what `_train_group` does; its parameters are there."""

    def __init__(
        self, builder: ir.IRBuilder, arrays: list, pairs, rate, dimension, negative
    ) -> None:
        super().__init__(builder)
        self._target, self._context, self._rows, self._steps = (array.data for array in arrays)
        self._width = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        self._dimension, self._negative = dimension, negative
        self._x = [self._row(self._target, _INT64(j)) for j in range(GROUP)]
        self._y = [self._row(self._context, _INT64(GROUP + j)) for j in range(GROUP)]
        there = [builder.icmp_signed("<", _INT64(j), pairs) for j in range(GROUP)]
        self._rates = [builder.select(is_there, rate, _FLOAT(0)) for is_there in there]
        # Lane i < j: of x[j] with x[i]. Lane j: with its output.
        self._dots = [
            self.dots(self._x[j], [*self._x[:j], self._y[j]], self._width) for j in range(GROUP)
        ]

    def _row(self, matrix: ir.Value, place: ir.Value) -> ir.Value:
        number = self.builder.load(self.builder.gep(self._rows, [place]))
        number = self.builder.sext(number, _INT64)
        return self.builder.gep(matrix, [self.builder.mul(number, self._width)])

    def positive_steps(self) -> ir.Value:
        """Return the steps along the gradients of the positives: rate * sigma(-dot)."""
        build = self.builder
        dots = [build.extract_element(self._dots[j], _INT32(j)) for j in range(GROUP)]
        opposite = self.together([build.fneg(dot) for dot in dots], GROUP)
        return self.step(opposite, self.together(self._rates, GROUP))

    def write_negative_steps(self) -> None:
        """Write the steps along the gradients of the negatives: -rate * sigma(dot).

        `_LANES` negatives at a time; steps: [padded negatives / _LANES, GROUP, _LANES].
        """
        build = self.builder
        end = self._negative
        with cgutils.for_range_slice(build, _INT64(0), end, _INT64(_LANES)) as (first, _):
            begin = build.add(first, _INT64(2 * GROUP))
            rows = [self._row(self._context, build.add(begin, _INT64(k))) for k in range(_LANES)]
            drawn = self.load(build.gep(self._rows, [begin]), kind=_INT32)
            steps: list[ir.Value] = []
            for j in range(GROUP):
                dot = self.dots(self._x[j], rows, self._width)
                for i in range(j):
                    similarity = self.spread(build.extract_element(self._dots[j], _INT32(i)))
                    dot = self.fma(similarity, steps[i], dot)
                step = self.step(dot, self.spread(build.fneg(self._rates[j])))
                output = self.spread(build.load(build.gep(self._rows, [_INT64(GROUP + j)])))
                # gensim, too, skips a negative that is the output itself.
                differs = build.icmp_unsigned("!=", drawn, output)
                steps.append(build.select(differs, step, self.constant(0)))
                self.store(steps[j], self._place_of_steps(first, j))

    def _place_of_steps(self, negative: ir.Value, pair: int) -> ir.Value:
        """Return where the step of a pair along the gradient of a negative is."""
        build = self.builder
        lane = build.and_(negative, _INT64(_LANES - 1))
        tile = build.mul(build.sub(negative, lane), _INT64(GROUP))
        place = build.add(build.add(tile, lane), _INT64(pair * _LANES))
        return build.gep(self._steps, [place])

    def update(self, positive: ir.Value) -> None:
        """Update the rows: whole vectors of columns, then half ones, as most of a last is empty."""
        zero, whole = _INT64(0), self.builder.and_(self._dimension, _INT64(-_LANES))
        for first, last, lanes in ((zero, whole, _LANES), (whole, self._dimension, _LANES // 2)):
            columns = cgutils.for_range_slice(self.builder, first, last, _INT64(lanes))
            with columns as (at, _):
                self._update_columns(at, lanes, positive)

    def _update_columns(self, at: ir.Value, lanes: int, positive: ir.Value) -> None:
        build = self.builder
        inputs = [self.load(build.gep(row, [at]), lanes) for row in self._x]
        changes = []
        for j in range(GROUP):
            place = build.gep(self._y[j], [at])
            step = self.spread(build.extract_element(positive, _INT32(j)), lanes)
            old = self.load(place, lanes)
            changes.append(cgutils.alloca_once_value(build, build.fmul(step, old)))
            self.store(self.fma(step, inputs[j], old), place)
        with cgutils.for_range(build, self._negative) as loop:
            row = self._row(self._context, build.add(loop.index, _INT64(2 * GROUP)))
            place = build.gep(row, [at])
            now = self.load(place, lanes)
            for j in range(GROUP):
                step = self.spread(build.load(self._place_of_steps(loop.index, j)), lanes)
                build.store(self.fma(step, now, build.load(changes[j])), changes[j])
                now = self.fma(step, inputs[j], now)
            self.store(now, place)
        for row, change in zip(self._x, changes, strict=True):
            place = build.gep(row, [at])
            self.store(build.fadd(self.load(place, lanes), build.load(change)), place)


@intrinsic
def _train_group(_typing, target, context, rows, steps, pairs, rate, dimension, negative):
    """Update target (E_T) and context (E_C) by a group of pairs that share negatives.

    rows: int32[2 * GROUP + padded negatives], the rows of inputs, outputs and negatives; what is
    missing repeats others. steps: float32[GROUP * padded negatives], scratch, in which each pair's
    step along each negative's gradient is kept. pairs: how many of the GROUP there are; the rate of
    the others is 0. dimension: numbers in a row; the others are zero.

    A positive's step is taken from the rows before the group. Each pair sees the negatives as the
    pairs before it have left them: by then row y is y + the sum of steps[i] x[i] over i < j, so its
    dot product with x[j] has grown by the sum of steps[i] (x[i] . x[j]). A row that is in the group
    more than once is updated as often, each time from what is there by then.
    """

    def generate(codegen, builder, signature, arguments):
        arrays = [
            codegen.make_array(kind)(codegen, builder, value)
            for kind, value in zip(signature.args[:4], arguments[:4], strict=True)
        ]
        group = _Group(builder, arrays, *arguments[4:])
        positive = group.positive_steps()
        group.write_negative_steps()
        group.update(positive)
        return codegen.get_dummy_value()

    numbers = types.int64, types.float32, types.int64, types.int64
    return types.void(target, context, rows, steps, *numbers), generate


@intrinsic
def _prefetch(_typing, matrix, row):
    """Ask for a row that will be changed soon, without waiting: `llvm.prefetch`."""

    def generate(codegen, builder, signature, arguments):
        array = codegen.make_array(signature.args[0])(codegen, builder, arguments[0])
        width = cgutils.unpack_tuple(builder, array.shape)[1]
        place = builder.gep(array.data, [builder.mul(arguments[1], width)])
        kind = ir.FunctionType(ir.VoidType(), [place.type, _INT32, _INT32, _INT32])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        to_write, keep, data = _INT32(1), _INT32(3), _INT32(1)
        with cgutils.for_range_slice(builder, _INT64(0), width, _INT64(_LANES)) as (at, _):
            builder.call(prefetch, [builder.gep(place, [at]), to_write, keep, data])
        return codegen.get_dummy_value()

    return types.void(matrix, types.int64), generate


# --- threads: all of them call `_train_chunk`, and take its jobs one after the other


@intrinsic
def _add(_typing, counters, index, number):
    """Add to a counter that threads share; return what it was. Adding 0 reads it."""

    def generate(codegen, builder, signature, arguments):
        data = codegen.make_array(signature.args[0])(codegen, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [arguments[1]]), arguments[2], "seq_cst")

    return types.int64(counters, types.int64, types.int64), generate


@intrinsic
def _sleep(_typing):
    """Leave the core to others for a moment: `usleep`."""

    def generate(codegen, builder, signature, arguments):
        kind = ir.FunctionType(_INT32, [_INT32])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "usleep"), [_INT32(1)])
        return codegen.get_dummy_value()

    return types.void(), generate


@njit(inline="always")
def _wait(counters, index, steps):
    """Wait until a block has been through so many steps."""
    tries = 0
    while _add(counters, index, 0) < steps:
        tries += 1
        if tries % _PATIENCE == 0:
            _sleep()


@njit(inline="always")
def _gather(rows, pairs, number, groups, state, start, alias, negative, target, context):
    """Write the rows of a group, draw its negatives, and prefetch all; return the state after it.

    A group's pairs stand `groups` apart, far from one another in the text.
    """
    for j in range(GROUP):
        at = number + j * groups
        at = at if at < len(pairs) else number
        rows[j], rows[GROUP + j] = pairs[at, 0], pairs[at, 1]
        _prefetch(target, np.int64(rows[j]))
        _prefetch(context, np.int64(rows[GROUP + j]))
    size = uint64(len(alias))
    for k in range(negative):
        state += _INCREMENT
        z = _mix(state)
        place = ((z >> uint64(32)) * size) >> uint64(32)
        low = uint64(0xFFFFFFFF)
        own = (z & low) < (alias[place] & low)
        drawn = start + np.int64(place if own else alias[place] >> uint64(32))
        rows[2 * GROUP + k] = drawn
        _prefetch(context, drawn)
    rows[2 * GROUP + negative :] = start  # any row: it is read with the others, and not changed
    return state


@njit(inline="always")
def _train_pairs(
    pairs, start, alias, target, context, rate, dimension, negative, seed, rows, steps
):
    """Update target (E_T) and context (E_C) by the pairs of a bucket, `GROUP` at a time.

    pairs: int32[n, 2], rows of input and output. start: the first row of the block that the
    negatives come from; alias: its table. rows, steps: scratch.
    """
    state = _mix(seed)
    groups = (len(pairs) + GROUP - 1) // GROUP
    for number in range(groups + 1):
        if number < groups:  # a group ahead, as waiting for rows would take as long as all else
            state = _gather(
                rows[number & 1], pairs, number, groups, state, start, alias, negative,
                target, context,
            )  # fmt: skip
        if number > 0:
            size = (len(pairs) - (number - 1) + groups - 1) // groups  # the last groups lack one
            now = rows[(number - 1) & 1]
            _train_group(target, context, now, steps, size, rate, dimension, negative)


@njit(nogil=True, cache=True, error_model="numpy")
def _train_chunk(
    jobs, counters, pairs, offsets, starts, alias, target, context, rate, dimension,
    negative, seed, number,
):  # fmt: skip
    """Train a chunk, together with the other threads that call this.

    jobs: int64[steps, JOBS, buckets], see `schedule`. counters: int64[1 + JOBS + blocks], zeros:
    jobs taken, and how many steps each block has been through. pairs, offsets: of all buckets, see
    `_deal`. starts, alias: see `Layout`. seed, number: of the training and of the chunk.

    In each step a block is in one job, which waits until its blocks have been through the steps
    before. All these jobs were taken earlier, so that some thread can always continue.

    NumPy's error model leaves out the tests for a division by 0, of which there is none.
    """
    rows = np.empty((2, 2 * GROUP + _padded(negative)), np.int32)
    steps = np.empty(GROUP * _padded(negative), np.float32)
    while True:
        taken = _add(counters, 0, 1)
        if taken >= len(jobs) * JOBS:
            return
        step, buckets = taken // JOBS, jobs[taken // JOBS, taken % JOBS]
        first = buckets[0]  # its blocks are those of the job
        blocks = first // _BLOCKS**2, JOBS + first // _BLOCKS % _BLOCKS, JOBS + first % _BLOCKS
        for block in blocks:
            _wait(counters, 1 + block, step)
        for bucket in buckets:
            if bucket < 0:
                continue
            start, end = starts[bucket % _BLOCKS], starts[bucket % _BLOCKS + 1]
            _train_pairs(
                pairs[offsets[bucket] : offsets[bucket + 1]], start, alias[start:end], target,
                context, rate, dimension, negative,
                _seed(seed, number, uint64(_FIRST_BUCKET + bucket)), rows, steps,
            )  # fmt: skip
        for block in blocks:
            _add(counters, 1 + block, 1)


class _Chunk(NamedTuple):
    """Room for the pairs of a chunk of text, int32[room, 2], rows of input and output.

    dealt: sorted by bucket; offsets: int64[buckets + 1], where each begins. pairs, buckets, kept:
    as they are listed, see `_list_pairs`.
    """

    dealt: np.ndarray
    offsets: np.ndarray
    pairs: np.ndarray
    buckets: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, tokens: int, window: int) -> _Chunk:
        """Return room for so many tokens."""
        room = tokens * 2 * window
        dealt, pairs = (np.empty((room, 2), np.int32) for _ in range(2))
        offsets, buckets = np.zeros(_BUCKETS + 1, np.int64), np.empty(room, np.int16)
        return cls(dealt, offsets, pairs, buckets, np.empty(tokens, np.int32))


class BlockTrainer:
    """The training as a sequence of chunks.

    target (E_T), context (E_C): float32[pieces, dimension padded to whole cache lines], in the
    order of the layout. done: chunks trained so far, of `total` in all epochs.
    """

    def __init__(self, text: SegmentedCorpus, settings: Word2VecSettings) -> None:
        """Prepare the layout, and begin as gensim does: E_T uniform in +-1/dimension, E_C zero."""
        self._settings = settings
        counts, _ = count_pieces(text)
        pieces = len(counts)
        self._layout = Layout(counts, settings.sample)
        self._text = Tokens.of(text, self._layout.row)
        self._lines, self._schedule = _cut(self._text.ends), schedule()
        self.total, self.done = (len(self._lines) - 1) * settings.epochs, 0

        width = _padded.py_func(settings.dimension)  # as compiling it would take longer
        self.target, self.context = _zeros(pieces, width), _zeros(pieces, width)
        draws = np.random.default_rng(settings.seed).random((pieces, settings.dimension))
        self.target[self._layout.row, : settings.dimension] = (draws * 2 - 1) / settings.dimension

        longest = int(np.diff(self._text.ends[self._lines]).max())
        self._chunks = [_Chunk.of(longest, settings.window) for _ in range(JOBS)]

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return E_T and E_C: float32[pieces, dimension], in the order of the pieces."""
        rows, width = self._layout.row, self._settings.dimension
        return self.target[rows, :width], self.context[rows, :width]

    @property
    def epochs(self) -> float:
        """Epochs done."""
        return self.done / (len(self._lines) - 1)

    def chunks(self, threads: int) -> Iterator[int]:
        """Train chunk by chunk, and yield `done` after each."""
        threads = min(threads, JOBS)
        with ThreadPoolExecutor(threads) as pool:
            while self.done < self.total:
                # Listing while a chunk is trained would take a thread that its steps wait for.
                coming = range(self.done, min(self.done + threads, self.total))
                for chunk in list(pool.map(self._listed, coming)):
                    # Ctrl-C meets this thread alone. While it calls a kernel or hands one over,
                    # that can crash or hang Python; while it waits, it can't.
                    pool.submit(self._train, chunk, pool, threads).result()
                    self.done += 1
                    yield self.done

    def _listed(self, number: int) -> _Chunk:
        """Return a chunk with its pairs, in a place that is used again `JOBS` chunks later."""
        first = number % (len(self._lines) - 1)
        lines = int(self._lines[first]), int(self._lines[first + 1])
        text, layout, settings = self._text, self._layout, self._settings
        chunk = self._chunks[number % JOBS]
        total = _list_pairs(
            text.rows, text.ends, *lines, layout.keep, layout.bounds, settings.window,
            settings.shrink_windows, self._seed(number, _PAIRS), layout.input_block,
            layout.output_block, chunk.kept, chunk.pairs, chunk.buckets, chunk.offsets,
        )  # fmt: skip
        _deal(chunk.pairs, chunk.buckets, total, chunk.offsets, chunk.dealt)
        return chunk

    def _train(self, chunk: _Chunk, pool: ThreadPoolExecutor, threads: int) -> None:
        layout, settings = self._layout, self._settings
        order = np.random.default_rng(int(self._seed(self.done, _ORDER)))
        # In another order each time, so that no couple of blocks always comes first.
        jobs = self._schedule[order.permutation(len(self._schedule))]
        arguments = (
            jobs, np.zeros(1 + JOBS + _BLOCKS, np.int64), chunk.dealt, chunk.offsets, layout.starts,
            layout.alias, self.target, self.context, self._rate(),
            settings.dimension, settings.negative, np.uint64(settings.seed), np.uint64(self.done),
        )  # fmt: skip
        others = [pool.submit(_train_chunk, *arguments) for _ in range(threads - 1)]
        _train_chunk(*arguments)
        for other in others:
            other.result()

    def _rate(self) -> np.float32:
        """Return the learning rate, which falls linearly over all epochs, as gensim's does."""
        share = (self.done + 0.5) / self.total
        return np.float32(self._settings.alpha + (LAST_RATE - self._settings.alpha) * share)

    def _seed(self, chunk: int, use: int) -> np.uint64:
        """Return a seed of its own for each use in each chunk."""
        return np.uint64(_seed(np.uint64(self._settings.seed), np.uint64(chunk), np.uint64(use)))


def _cut(ends: np.ndarray) -> np.ndarray:
    """Cut a text into chunks of about `CHUNK` tokens: int64[chunks + 1], numbers of lines."""
    chunks = max(1, round(int(ends[-1]) / CHUNK))
    places = np.linspace(0, int(ends[-1]), chunks + 1)[1:-1]
    inner = np.searchsorted(ends, places)
    return np.unique(np.concatenate(([0], inner, [len(ends) - 1])))


def _zeros(rows: int, width: int) -> np.ndarray:
    """Return zeros, float32[rows, width], that begin with a cache line."""
    room = np.zeros((rows + 1) * width, np.float32)
    first = -room.ctypes.data % (4 * _LANES) // 4
    return room[first : first + rows * width].reshape(rows, width)
