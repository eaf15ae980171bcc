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
  order of summation in it. Rows are padded to whole cache lines. Those of the next group are
  fetched line by line while this one is updated.

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
_QUARTER = 4  # of the lanes: within a quarter, shuffles are cheap
_FLOAT, _INT32, _INT64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_INCREMENT = uint64(0x9E3779B97F4A7C15)  # of SplitMix64's state
_PAIRS, _ORDER, _FIRST_BUCKET = 0, 1, 2  # what a chunk draws for: each use has a seed of its own
_PATIENCE = 1000  # readings of a counter before a thread that waits sleeps: some 10 us
_LIMIT = 6.0  # of a dot product; beyond it the sigmoid counts as 0 or 1

Couple = tuple[ir.Value, ir.Value]  # of rows, by where they begin


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

    def sums(self, vectors: Sequence[ir.Value], done: int = 1) -> ir.Value:
        """Return the sums of up to 16 vectors: of neighbouring lanes, then of such sums, ...

        done: how many lanes lie together already that are such sums, of as many vectors.
        """
        while len(vectors) > 1:
            couples = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [self._folded(a, b, 1 if done < _QUARTER else _QUARTER) for a, b in couples]
            done *= 2
        return vectors[0]

    def _folded(self, a: ir.Value, b: ir.Value, unit: int) -> ir.Value:
        """Add each even unit of lanes to the odd one behind it, of two vectors.

        A unit is a lane, where a quarter gets the sums of `a` before those of `b`; or a quarter.
        These are the shuffles that a processor does beside multiplications.
        """
        if unit == 1:
            even = [q + n for q in range(0, _LANES, _QUARTER) for n in (0, 2, _LANES, _LANES + 2)]
        else:
            even = [q + n for q in range(0, 2 * _LANES, 2 * unit) for n in range(unit)]
        odd = [lane + unit for lane in even]
        return self.builder.fadd(self.take(a, b, even), self.take(a, b, odd))

    def products(self, couples: Sequence[Couple], width: ir.Value) -> list[ir.Value]:
        """Return for each couple of rows the vector whose lanes add up to their dot product."""
        build = self.builder
        totals = [cgutils.alloca_once_value(build, self.constant(0)) for _ in couples]
        with cgutils.for_range_slice(build, _INT64(0), width, _INT64(_LANES)) as (at, _):
            rows = dict.fromkeys(row for couple in couples for row in couple)
            numbers = {row: self.load(build.gep(row, [at])) for row in rows}
            for total, (a, b) in zip(totals, couples, strict=True):
                build.store(self.fma(numbers[a], numbers[b], build.load(total)), total)
        return [build.load(total) for total in totals]

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


# The scratch of a group has rows of `_LANES` numbers: first the steps of its positives, from
# _SIMILAR on the dot products of its inputs, and from _NEGATIVE on, for every `_LANES` negatives,
# `GROUP` rows of steps and `GROUP` of dot products. What is written there leaves the registers.
_SIMILAR, _NEGATIVE = 1, 3
_TILE = 2 * GROUP
_SIMILAR_PAIRS = [(j, i) for j in range(GROUP) for i in range(j)]


@njit(inline="always")
def _scratch_size(negative):
    """Return the numbers in the scratch of a group."""
    return _NEGATIVE * _LANES + _TILE * _padded(negative)


class _Group(_Vectors):
    """Writes what `_find_steps` and `_update_rows` do; their parameters are there."""

    def __init__(self, builder: ir.IRBuilder, arrays: list, negative: ir.Value) -> None:
        super().__init__(builder)
        self._target, self._context, self._rows, self._scratch = (array.data for array in arrays)
        self._width = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        self._negative = negative
        self._x = [self._row(self._target, self._rows, _INT64(j)) for j in range(GROUP)]
        self._y = [self._row(self._context, self._rows, _INT64(GROUP + j)) for j in range(GROUP)]

    def _row(self, matrix: ir.Value, rows: ir.Value, place: ir.Value) -> ir.Value:
        number = self.builder.load(self.builder.gep(rows, [place]))
        number = self.builder.sext(number, _INT64)
        return self.builder.gep(matrix, [self.builder.mul(number, self._width)])

    def find_steps(self, pairs: ir.Value, rate: ir.Value) -> None:
        """Write the steps of positives and negatives."""
        build = self.builder
        there = [build.icmp_signed("<", _INT64(j), pairs) for j in range(GROUP)]
        rates = [build.select(is_there, rate, _FLOAT(0)) for is_there in there]
        self._write_similarities()
        self._write_positive_steps(rates)
        tiles = cgutils.for_range_slice(build, _INT64(0), self._negative, _INT64(_LANES))
        with tiles as (first, _):
            self._write_dots(first)
            self._write_negative_steps(first, rates)

    def _write_similarities(self) -> None:
        """Write the dot products of each two inputs."""
        for number in (0, 1):
            some = _SIMILAR_PAIRS[number * _LANES : (number + 1) * _LANES]
            totals = self.products([(self._x[j], self._x[i]) for j, i in some], self._width)
            missing = [self.constant(0)] * (_LANES - len(some))
            place = self.builder.gep(self._scratch, [_INT64((_SIMILAR + number) * _LANES)])
            self.store(self.sums([*totals, *missing]), place)

    def _write_positive_steps(self, rates: Sequence[ir.Value]) -> None:
        """Write the steps along the gradients of the positives: rate * sigma(-dot)."""
        build = self.builder
        couples = list(zip(self._x, self._y, strict=True))
        halves = self.sums(self.products(couples, self._width))
        even, odd = (
            [
                quarter + lane
                for quarter in (first, first + 2 * _QUARTER)
                for lane in range(_QUARTER)
            ]
            for first in (0, _QUARTER)
        )
        dots = build.fadd(self.take(halves, halves, even), self.take(halves, halves, odd))
        self.store(self.step(build.fneg(dots), self.together(rates, GROUP)), self._scratch)

    def _write_dots(self, first: ir.Value) -> None:
        """Write the dot products of all inputs with `_LANES` negatives, before any step.

        Of two inputs with eight negatives at a time: a row that is loaded is used more than once.
        """
        begin = self.builder.add(first, _INT64(2 * GROUP))
        rows = [
            self._row(self._context, self._rows, self.builder.add(begin, _INT64(k)))
            for k in range(_LANES)
        ]
        half = _LANES // 2
        for j in range(0, GROUP, 2):
            sums: list[list[ir.Value]] = [[], []]
            for some in (rows[:half], rows[half:]):
                couples = [(x, row) for x in self._x[j : j + 2] for row in some]
                totals = self.products(couples, self._width)
                sums[0].append(self.sums(totals[:half]))
                sums[1].append(self.sums(totals[half:]))
            for number, halves in enumerate(sums):
                self.store(self.sums(halves, half), self._place(first, GROUP + j + number))

    def _write_negative_steps(self, first: ir.Value, rates: Sequence[ir.Value]) -> None:
        """Write the steps along the gradients of `_LANES` negatives: -rate * sigma(dot)."""
        build = self.builder
        drawn = self.load(build.gep(self._rows, [build.add(first, _INT64(2 * GROUP))]), kind=_INT32)
        steps: list[ir.Value] = []
        for j in range(GROUP):
            dot = self.load(self._place(first, GROUP + j))
            for i in range(j):
                place = _INT64(_SIMILAR * _LANES + _SIMILAR_PAIRS.index((j, i)))
                similarity = self.spread(build.load(build.gep(self._scratch, [place])))
                dot = self.fma(similarity, steps[i], dot)
            step = self.step(dot, self.spread(build.fneg(rates[j])))
            output = self.spread(build.load(build.gep(self._rows, [_INT64(GROUP + j)])))
            # gensim, too, skips a negative that is the output itself.
            differs = build.icmp_unsigned("!=", drawn, output)
            steps.append(build.select(differs, step, self.constant(0)))
            self.store(steps[j], self._place(first, j))

    def _place(self, negative: ir.Value, number: int) -> ir.Value:
        """Return where the scratch has a negative's step of a pair; GROUP + pair: dot product."""
        build = self.builder
        lane = build.and_(negative, _INT64(_LANES - 1))
        tile = build.mul(build.sub(negative, lane), _INT64(_TILE))
        place = build.add(build.add(tile, lane), _INT64((_NEGATIVE + number) * _LANES))
        return build.gep(self._scratch, [place])

    def update_rows(self, coming: ir.Value, dimension: ir.Value) -> None:
        """Update the rows: whole vectors of columns, then half ones, as most of a last is empty."""
        zero, whole = _INT64(0), self.builder.and_(dimension, _INT64(-_LANES))
        for first, last, lanes in ((zero, whole, _LANES), (whole, dimension, _LANES // 2)):
            columns = cgutils.for_range_slice(self.builder, first, last, _INT64(lanes))
            with columns as (at, _):
                self._update_columns(coming, at, lanes)

    def _update_columns(self, coming: ir.Value, at: ir.Value, lanes: int) -> None:
        build = self.builder
        inputs = [self.load(build.gep(row, [at]), lanes) for row in self._x]
        changes = []
        for j in range(GROUP):
            place = build.gep(self._y[j], [at])
            step = self.spread(build.load(build.gep(self._scratch, [_INT64(j)])), lanes)
            old = self.load(place, lanes)
            changes.append(cgutils.alloca_once_value(build, build.fmul(step, old)))
            self.store(self.fma(step, inputs[j], old), place)
        with cgutils.for_range(build, self._negative) as loop:
            row = self._row(self._context, self._rows, build.add(loop.index, _INT64(2 * GROUP)))
            place = build.gep(row, [at])
            now = self.load(place, lanes)
            self._fetch_line(self._context, coming, build.add(loop.index, _INT64(2 * GROUP)), at)
            self._fetch_line_of_pair(coming, loop.index, at)
            for j in range(GROUP):
                step = self.spread(build.load(self._place(loop.index, j)), lanes)
                build.store(self.fma(step, now, build.load(changes[j])), changes[j])
                now = self.fma(step, inputs[j], now)
            self.store(now, place)
        rest = cgutils.for_range_slice(build, self._negative, _INT64(2 * GROUP), _INT64(1))
        with rest as (number, _):
            self._fetch_line_of_pair(coming, number, at)
        for row, change in zip(self._x, changes, strict=True):
            place = build.gep(row, [at])
            self.store(build.fadd(self.load(place, lanes), build.load(change)), place)

    def _fetch_line_of_pair(self, coming: ir.Value, place: ir.Value, at: ir.Value) -> None:
        """Fetch a line of the input or output at this place of the coming rows."""
        is_input = self.builder.icmp_signed("<", place, _INT64(GROUP))
        matrix = self.builder.select(is_input, self._target, self._context)
        self._fetch_line(matrix, coming, place, at)

    def _fetch_line(
        self, matrix: ir.Value, coming: ir.Value, place: ir.Value, at: ir.Value
    ) -> None:
        """Fetch the cache line at a column of a row that will be changed soon, without waiting."""
        build = self.builder
        line = build.gep(self._row(matrix, coming, place), [at])
        kind = ir.FunctionType(ir.VoidType(), [line.type, _INT32, _INT32, _INT32])
        prefetch = build.module.declare_intrinsic("llvm.prefetch", [line.type], kind)
        to_write, keep, data = _INT32(1), _INT32(3), _INT32(1)
        build.call(prefetch, [line, to_write, keep, data])


def _group(codegen, builder, signature, arguments, negative) -> _Group:
    """Return the group of an intrinsic, whose first arguments are its four arrays."""
    arrays = [
        codegen.make_array(kind)(codegen, builder, value)
        for kind, value in zip(signature.args[:4], arguments[:4], strict=True)
    ]
    return _Group(builder, arrays, negative)


@intrinsic
def _find_steps(_typing, target, context, rows, scratch, pairs, rate, negative):
    """Find the steps of a group of pairs that share negatives, along the gradients.

    rows: int32[2 * GROUP + padded negatives], the rows of inputs (of target, E_T), outputs and
    negatives (of context, E_C); what is missing repeats others. scratch: float32[_scratch_size],
    gets the steps. pairs: how many of the GROUP there are; the rate of the others is 0.

    A positive's step is taken from the rows before the group. Each pair sees the negatives as the
    pairs before it have left them: by then row y is y + the sum of steps[i] x[i] over i < j, so its
    dot product with x[j] has grown by the sum of steps[i] (x[i] . x[j]).
    """

    def generate(codegen, builder, signature, arguments):
        pairs, rate, negative = arguments[4:]
        _group(codegen, builder, signature, arguments, negative).find_steps(pairs, rate)
        return codegen.get_dummy_value()

    numbers = types.int64, types.float32, types.int64
    return types.void(target, context, rows, scratch, *numbers), generate


@intrinsic
def _update_rows(_typing, target, context, rows, scratch, coming, dimension, negative):
    """Update target (E_T) and context (E_C) by the steps of a group, see `_find_steps`.

    coming: the rows of the next group, which are fetched meanwhile. dimension: numbers in a row;
    the others are zero. A row that is in the group more than once is updated as often, each time
    from what is there by then.
    """

    def generate(codegen, builder, signature, arguments):
        coming, dimension, negative = arguments[4:]
        coming = codegen.make_array(signature.args[4])(codegen, builder, coming).data
        _group(codegen, builder, signature, arguments, negative).update_rows(coming, dimension)
        return codegen.get_dummy_value()

    numbers = types.int64, types.int64
    return types.void(target, context, rows, scratch, coming, *numbers), generate


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
def _gather(rows, pairs, number, groups, state, start, alias, negative):
    """Write the rows of a group and draw its negatives; return the state after it.

    A group's pairs stand `groups` apart, far from one another in the text.
    """
    for j in range(GROUP):
        at = number + j * groups
        at = at if at < len(pairs) else number
        rows[j], rows[GROUP + j] = pairs[at, 0], pairs[at, 1]
    size = uint64(len(alias))
    for k in range(negative):
        state += _INCREMENT
        z = _mix(state)
        place = ((z >> uint64(32)) * size) >> uint64(32)
        low = uint64(0xFFFFFFFF)
        own = (z & low) < (alias[place] & low)
        rows[2 * GROUP + k] = start + np.int64(place if own else alias[place] >> uint64(32))
    rows[2 * GROUP + negative :] = start  # any row: it is read with the others, and not changed
    return state


@njit(inline="always")
def _train_pairs(
    pairs, start, alias, target, context, rate, dimension, negative, seed, rows, scratch
):
    """Update target (E_T) and context (E_C) by the pairs of a bucket, `GROUP` at a time.

    pairs: int32[n, 2], rows of input and output. start: the first row of the block that the
    negatives come from; alias: its table. rows, scratch: room for two groups, and for one.
    """
    state = _mix(seed)
    groups = (len(pairs) + GROUP - 1) // GROUP
    for number in range(groups):
        now, coming = rows[number & 1], rows[(number + 1) & 1]
        if number == 0:
            state = _gather(now, pairs, number, groups, state, start, alias, negative)
        size = (len(pairs) - number + groups - 1) // groups  # the last groups lack one
        _find_steps(target, context, now, scratch, size, rate, negative)
        if number + 1 < groups:  # here, as each step waits for the one before
            state = _gather(coming, pairs, number + 1, groups, state, start, alias, negative)
        _update_rows(target, context, now, scratch, coming, dimension, negative)


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
    scratch = np.empty(_scratch_size(negative), np.float32)
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
                _seed(seed, number, uint64(_FIRST_BUCKET + bucket)), rows, scratch,
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
