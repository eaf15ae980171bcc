"""Skip-gram with negative sampling on all cores; any number of threads gives the same bytes.

This is the model that gensim trains (Mikolov et al. 2013), trained in another order. For a pair of
an input piece x and an output piece y with k negatives n, one update of the learning rate `alpha`
follows the gradient of

    log sigma(E_T[x] . E_C[y]) + sum over n of log sigma(-E_T[x] . E_C[n])

taken at the values before the update; of pairs that share negatives, each sees these as the pairs
before it have left them. Three things make it fast:

- *Blocks.* Pieces are dealt to blocks, inputs to `JOBS` and outputs to twice as many. A job trains
  the pairs whose input is in one block, whose output is in a second and whose negatives are in a
  third. The jobs of a step share no block, so they may run at the same time or one after the other:
  the result is the same. Every pair is trained once an epoch, as in gensim; only the order differs,
  and that only within a chunk of text.
- *Groups.* `GROUP` pairs from distant places of a chunk share their negatives, so that a row of
  E_C is loaded once for all of them.
- *Rows that are padded to whole cache lines*, which lets the compiler use vector instructions.

A pair's positive and its negatives are updated together. One after the other, E_T would grow and
E_C shrink, which the mean losses of a SaGe ablation notice. If pairs that share negatives all saw
them as they were before, E_C would grow.

The bytes depend on the width of the processor's vector instructions: they are equal on processors
of one family, and may differ between, say, AVX2 and AVX-512.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit, uint64

from sagevocab.state import fingerprint

if TYPE_CHECKING:
    from sagevocab.settings import Word2VecSettings

JOBS = 4  # jobs that a step can run at the same time, and blocks of input pieces
GROUP = 8  # pairs that share their negatives
CHUNK = 20_000  # tokens whose pairs are listed together; in longer chunks both matrices grow more
LAST_RATE = 1e-4  # gensim's min_alpha
NOISE_POWER = 0.75  # negatives are drawn by count ** 0.75 (Mikolov et al. 2013)

_BLOCKS = 2 * JOBS  # blocks of output pieces
_BUCKETS = JOBS * _BLOCKS * _BLOCKS
_LANES = 16  # float32 numbers in a cache line
_INCREMENT = uint64(0x9E3779B97F4A7C15)  # of SplitMix64's state
# Sums may be taken in another order, so that they can be taken in vectors.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_PAIRS, _ORDER, _FIRST_BUCKET = 0, 1, 2  # what a chunk draws for: each use has a seed of its own
_LIMIT = np.float32(6)  # of a dot product; beyond it the sigmoid counts as 0 or 1


@dataclass(frozen=True)
class Tokens:
    """A text as pieces. tokens: int32[n]; ends: int64[lines + 1], where lines begin and end."""

    tokens: np.ndarray
    ends: np.ndarray

    def digest(self) -> str:
        """SHA-256 of the text."""
        return fingerprint(self.tokens.tobytes(), self.ends.tobytes())


class Layout:
    """Pieces in the order of their blocks, and the tables that negatives are drawn from.

    row: int64[pieces], the row of a piece in both matrices. starts: int64[blocks + 1], the rows of
    each output block. keep: uint32[rows], the chance that an occurrence is kept, in 2^-32.
    bounds: uint64[blocks + 1], the blocks' cumulated shares of the noise, in 2^-32. chance, other:
    an alias table (Walker 1977) for each output block.
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
        noise = self.counts.astype(np.float64) ** NOISE_POWER * (self.counts > 0)
        parts = [noise[a:z] for a, z in zip(self.starts, self.starts[1:], strict=False)]
        shares = np.cumsum([part.sum() for part in parts]) / noise.sum()
        self.bounds = np.concatenate(([0], np.round(shares * 2**32))).astype(np.uint64)
        tables = [_alias_table(part) for part in parts]
        self.chance = np.concatenate([chance for chance, _ in tables])
        self.other = np.concatenate([other for _, other in tables])


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


def _alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Walker's table: take entry i with chance[i] / 2^32, else other[i]."""
    size, total = len(weights), weights.sum()
    scaled = (weights / total * size if total else np.ones(size)).tolist()
    chance, other = np.ones(size), np.arange(size, dtype=np.int32)
    small = [i for i, value in enumerate(scaled) if value < 1]
    large = [i for i, value in enumerate(scaled) if value >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        chance[low], other[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return np.minimum(chance * 2.0**32, 2.0**32 - 1).astype(np.uint32), other


def schedule() -> list[list[list[int]]]:
    """Return the steps of a chunk: each a list of jobs, each a list of buckets.

    Bucket (i * B + o) * B + n has the pairs with input block i, output block o and negatives from
    block n. A round is a perfect matching of the output blocks (the circle method of tournaments);
    in its `JOBS` steps every matched couple of blocks meets every input block.
    """
    circle, steps = list(range(_BLOCKS)), []
    for turn in range(_BLOCKS - 1):
        couples = [(circle[k], circle[-1 - k]) for k in range(JOBS)]
        for shift in range(JOBS):
            steps.append(
                [_buckets((k + shift) % JOBS, *couples[k], alone=turn == 0) for k in range(JOBS)]
            )
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return steps


def _buckets(block: int, one: int, two: int, *, alone: bool) -> list[int]:
    """Return the buckets of a job; `alone`: also those with negatives from the output's block."""
    couples = [(one, two), (two, one), *([(one, one), (two, two)] if alone else [])]
    return [(block * _BLOCKS + o) * _BLOCKS + n for o, n in couples]


def _shares(jobs: list[list[int]], threads: int) -> list[np.ndarray]:
    """Share the jobs of a step among threads: the buckets of each, int64[n]."""
    return [np.array(sum(jobs[first::threads], [])) for first in range(threads)]


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
def _list_pairs(tokens, ends, first, last, keep, bounds, window, shrink, seed, kept, pairs, noise):
    """Write the pairs (input, output) of lines first..last, and the block of each one's negatives.

    As in gensim, frequent tokens are left out by chance (`keep`), a window reaches `window` or
    fewer tokens (`shrink`), and its middle is the output of each pair, a neighbour the input.
    kept: room for the longest line. Returns the number of pairs.
    """
    state, total = _mix(seed), 0
    for line in range(first, last):
        length = 0
        for k in range(ends[line], ends[line + 1]):
            state += _INCREMENT
            if keep[tokens[k]] >= _mix(state) >> uint64(32):
                kept[length] = tokens[k]
                length += 1
        for i in range(length):
            state += _INCREMENT
            cut = ((_mix(state) >> uint64(32)) * uint64(window)) >> uint64(32)
            reach = window - np.int64(cut) if shrink else window
            for j in range(max(0, i - reach), min(length, i + reach + 1)):
                if j == i:
                    continue
                state += _INCREMENT
                draw, block = _mix(state) >> uint64(32), 0
                while draw >= bounds[block + 1]:
                    block += 1
                pairs[total, 0], pairs[total, 1], noise[total] = kept[j], kept[i], block
                total += 1
    return total


@njit(nogil=True, cache=True)
def _deal(pairs, noise, total, input_block, output_block, offsets, dealt):
    """Sort the pairs by bucket, each bucket in the order of the text."""
    offsets[:] = 0
    for k in range(total):
        block = input_block[pairs[k, 0]] * _BLOCKS + output_block[pairs[k, 1]]
        offsets[block * _BLOCKS + noise[k] + 1] += 1
    for bucket in range(_BUCKETS):
        offsets[bucket + 1] += offsets[bucket]
    place = offsets[:-1].copy()
    for k in range(total):
        block = input_block[pairs[k, 0]] * _BLOCKS + output_block[pairs[k, 1]]
        bucket = block * _BLOCKS + noise[k]
        dealt[place[bucket]] = pairs[k]
        place[bucket] += 1


@njit(inline="always", fastmath=_FAST)
def _step(dot, rate):
    """Return -rate * sigma(dot), and 0 where |dot| is 6 or more, as word2vec does.

    sigma(dot) is (1 + tanh(dot / 2)) / 2, and tanh a Pade approximant, within 1e-4. A positive
    steps by -step(-dot), as 1 - sigma(x) is sigma(-x).
    """
    u = dot * np.float32(0.5)
    q = u * u
    numerator = np.float32(135135) + q * (np.float32(17325) + q * (np.float32(378) + q))
    denominator = np.float32(135135) + q * (
        np.float32(62370) + q * (np.float32(3150) + q * np.float32(28))
    )
    sigma = np.float32(0.5) + np.float32(0.5) * u * numerator / denominator
    return -rate * sigma if (dot < _LIMIT) & (dot > -_LIMIT) else np.float32(0)


# Parts of `train_buckets`, written into it where they are called. So `width` (numbers in a row),
# `negative` and `padded` (negatives, in whole cache lines) are constants there: loops of a known
# length are three times as fast as others.


@njit(inline="always")
def _draw(state, start, chance, other, drawn, negative):
    """Draw the rows of a group's negatives; return the state of the generator."""
    size = uint64(len(chance))
    for k in range(negative):
        state += _INCREMENT
        z = _mix(state)
        place = np.int64(((z >> uint64(32)) * size) >> uint64(32))
        if (z & uint64(0xFFFFFFFF)) >= chance[place]:
            place = np.int64(other[place])
        drawn[k] = start + place
    return state


@njit(inline="always")
def _dots_with_negatives(x, context, drawn, dots, width, negative):
    """Write the dot products of the group's inputs and negatives."""
    for k in range(negative):
        y = context[drawn[k]]
        for j in range(GROUP):
            dot = np.float32(0)
            for d in range(width):
                dot += x[j, d] * y[d]
            dots[j, k] = dot


@njit(inline="always")
def _step_from_negatives(x, outputs, drawn, rate, negative_steps, width, negative, padded):
    """Make the dot products steps of each pair along the gradients of its negatives.

    Each pair sees the negatives as the pairs before it in the group have left them: by then row
    y is y + sum of negative_steps[i] x[i] over i < j, so its dot product with x[j] has grown by
    the sum of negative_steps[i] (x[i] . x[j]).
    """
    for j in range(GROUP):
        for i in range(j):
            similarity = np.float32(0)
            for d in range(width):
                similarity += x[i, d] * x[j, d]
            for k in range(padded):
                negative_steps[j, k] += negative_steps[i, k] * similarity
        for k in range(padded):
            negative_steps[j, k] = _step(negative_steps[j, k], rate)
        negative_steps[j, negative:] = np.float32(0)
        for k in range(negative):  # gensim, too, skips a negative that is the output itself
            if drawn[k] == outputs[j]:
                negative_steps[j, k] = np.float32(0)


@njit(inline="always")
def _update_positives(
    x, n, outputs, context, positive_steps, negative_steps, change, width, padded
):
    """Add the steps of the positives to E_C, and write what the inputs' rows change by.

    A pair meets its negatives as the pairs i before it have left them. So x[j] changes by the sum
    of negative_steps[j, k] negative_steps[i, k] x[i], too.
    """
    for j in range(n):
        y, step = context[outputs[j]], positive_steps[j]
        for d in range(width):
            old = y[d]
            change[j, d] = step * old
            y[d] = old + step * x[j, d]
        for i in range(j):
            shared = np.float32(0)
            for k in range(padded):
                shared += negative_steps[i, k] * negative_steps[j, k]
            for d in range(width):
                change[j, d] += shared * x[i, d]


@njit(inline="always")
def _update_negatives(x, context, drawn, negative_steps, change, width, negative):
    """Add the steps of the negatives to E_C, and to what the inputs' rows change by."""
    for k in range(negative):
        y = context[drawn[k]]
        for d in range(width):
            old = y[d]
            new = old
            for j in range(GROUP):
                change[j, d] += negative_steps[j, k] * old
                new += negative_steps[j, k] * x[j, d]
            y[d] = new


@njit(inline="always")
def _train_pairs(pairs, start, chance, other, target, context, rate, seed, width, negative):
    """Update target (E_T) and context (E_C) by the pairs of a bucket, `GROUP` at a time.

    pairs: int32[n, 2], rows of input and output. start: the first row of the block that the
    negatives come from; chance, other: its alias table.
    """
    state, padded = _mix(seed), _padded(negative)
    inputs, outputs = np.empty(GROUP, np.int64), np.empty(GROUP, np.int64)
    drawn = np.empty(negative, np.int64)
    x = np.empty((GROUP, width), np.float32)  # the inputs' rows before the group
    change = np.zeros((GROUP, width), np.float32)
    positive_steps = np.empty(GROUP, np.float32)  # steps along the gradients of the positives
    negative_steps = np.zeros((GROUP, padded), np.float32)  # and of the negatives

    groups = (len(pairs) + GROUP - 1) // GROUP
    for first in range(groups):
        # A group's pairs stand `groups` apart, far from one another in the text.
        n = 0
        for at in range(first, len(pairs), groups):
            inputs[n], outputs[n] = pairs[at, 0], pairs[at, 1]
            row, y, dot = target[inputs[n]], context[outputs[n]], np.float32(0)
            for d in range(width):
                x[n, d] = row[d]
                dot += row[d] * y[d]
            positive_steps[n] = -_step(-dot, rate)
            n += 1
        x[n:] = np.float32(0)
        state = _draw(state, start, chance, other, drawn, negative)
        _dots_with_negatives(x, context, drawn, negative_steps, width, negative)
        _step_from_negatives(x, outputs, drawn, rate, negative_steps, width, negative, padded)
        negative_steps[n:] = np.float32(0)
        _update_positives(
            x, n, outputs, context, positive_steps, negative_steps, change, width, padded
        )
        _update_negatives(x, context, drawn, negative_steps, change, width, negative)
        for j in range(n):
            row = target[inputs[j]]
            for d in range(width):
                row[d] += change[j, d]


@functools.cache
def bucket_trainer(width: int, negative: int) -> Callable[..., None]:
    """Return `train_buckets`, compiled for rows of `width` numbers and `negative` negatives a pair.

    Only numbers are taken from here: Numba finds no function in its cache that takes another
    function from around it.
    """

    @njit(nogil=True, cache=True, fastmath=_FAST, error_model="numpy")
    def train_buckets(
        buckets, pairs, offsets, starts, chance, other, target, context, rate, seed, number
    ):
        """Train some buckets of a chunk, one after the other.

        buckets: int64[n]. pairs, offsets: of all buckets, see `_deal`. starts, chance, other: see
        `Layout`. seed, number: of the training and of the chunk.
        """
        for bucket in buckets:
            first, last = starts[bucket % _BLOCKS], starts[bucket % _BLOCKS + 1]
            _train_pairs(
                pairs[offsets[bucket] : offsets[bucket + 1]], first, chance[first:last],
                other[first:last], target, context, rate,
                _seed(seed, number, uint64(_FIRST_BUCKET + bucket)), width, negative,
            )  # fmt: skip

    return train_buckets


class _Chunk:
    """The pairs of a chunk of text, sorted by bucket.

    dealt: int32[room, 2], rows of input and output. offsets: int64[buckets + 1], where each begins.
    """

    def __init__(self, room: int, longest: int) -> None:
        self._pairs = np.empty((room, 2), np.int32)
        self._noise = np.empty(room, np.int8)
        self._kept = np.empty(longest, np.int32)
        self.dealt = np.empty((room, 2), np.int32)
        self.offsets = np.zeros(_BUCKETS + 1, np.int64)

    def fill(
        self,
        text: Tokens,
        lines: tuple[int, int],
        layout: Layout,
        settings: Word2VecSettings,
        seed: np.uint64,
    ) -> None:
        """List and sort the pairs of some lines."""
        total = _list_pairs(
            text.tokens, text.ends, *lines, layout.keep, layout.bounds, settings.window,
            settings.shrink_windows, seed, self._kept, self._pairs, self._noise,
        )  # fmt: skip
        _deal(
            self._pairs, self._noise, total, layout.input_block, layout.output_block,
            self.offsets, self.dealt,
        )  # fmt: skip

    def bucket(self, number: int) -> np.ndarray:
        """Return the pairs of a bucket: int32[n, 2]."""
        return self.dealt[self.offsets[number] : self.offsets[number + 1]]


class BlockTrainer:
    """The training as a sequence of chunks, which can stop after any of them.

    target (E_T), context (E_C): float32[pieces, dimension padded to whole cache lines], in the
    order of the layout. done: chunks trained so far, of `total` in all epochs.
    """

    def __init__(self, text: Tokens, pieces: int, settings: Word2VecSettings) -> None:
        """Prepare the layout, and begin as gensim does: E_T uniform in +-1/dimension, E_C zero."""
        self._settings = settings
        counts = np.bincount(text.tokens, minlength=pieces)
        self._layout = Layout(counts, settings.sample)
        rows = self._layout.row[text.tokens].astype(np.int32)
        self._text = Tokens(rows, text.ends)
        self._lines = _cut(text.ends)
        self.total, self.done = (len(self._lines) - 1) * settings.epochs, 0

        width = _padded(settings.dimension)
        self._train_buckets = bucket_trainer(width, settings.negative)
        self.target = np.zeros((pieces, width), np.float32)
        self.context = np.zeros((pieces, width), np.float32)
        draws = np.random.default_rng(settings.seed).random((pieces, settings.dimension))
        self.target[self._layout.row, : settings.dimension] = (draws * 2 - 1) / settings.dimension

        tokens = int(np.diff(text.ends[self._lines]).max())
        room, longest = tokens * 2 * settings.window, int(np.diff(text.ends).max())
        self._chunks = [_Chunk(room, longest) for _ in range(JOBS)]

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return E_T and E_C: float32[pieces, dimension], in the order of the pieces."""
        rows, width = self._layout.row, self._settings.dimension
        return self.target[rows, :width], self.context[rows, :width]

    @property
    def epochs(self) -> float:
        """Epochs done."""
        return self.done / (len(self._lines) - 1)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what `restore` needs to go on from here."""
        return {"done": np.int64(self.done), "target": self.target, "context": self.context}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Go on where `arrays` was called."""
        self.done = int(kept["done"])
        self.target[:], self.context[:] = kept["target"], kept["context"]

    def chunks(self, threads: int) -> Iterator[int]:
        """Train chunk by chunk, and yield `done` after each."""
        threads = min(threads, JOBS)
        steps = [_shares(step, threads) for step in schedule()]
        with ThreadPoolExecutor(threads) as pool:
            while self.done < self.total:
                # Listing while a chunk is trained would take a thread that its steps wait for.
                coming = range(self.done, min(self.done + threads, self.total))
                for chunk in list(pool.map(self._listed, coming)):
                    # Ctrl-C meets this thread alone. While it calls a kernel or hands a share over,
                    # that can crash or hang Python; while it waits, it can't.
                    pool.submit(self._train_chunk, chunk, pool, steps).result()
                    self.done += 1
                    yield self.done

    def _listed(self, number: int) -> _Chunk:
        """Return a chunk with its pairs, in a place that is used again `JOBS` chunks later."""
        first = number % (len(self._lines) - 1)
        lines = int(self._lines[first]), int(self._lines[first + 1])
        chunk, seed = self._chunks[number % JOBS], self._seed(number, _PAIRS)
        chunk.fill(self._text, lines, self._layout, self._settings, seed)
        return chunk

    def _train_chunk(
        self, chunk: _Chunk, pool: ThreadPoolExecutor, steps: list[list[np.ndarray]]
    ) -> None:
        rate = self._rate()
        order = np.random.default_rng(int(self._seed(self.done, _ORDER)))
        # In another order each time, so that no couple of blocks always comes first.
        for step in order.permutation(len(steps)):
            # Handing a share over costs as much as a part of it, so one stays in this thread.
            mine, *others = steps[step]
            waiting = [pool.submit(self._train_share, chunk, other, rate) for other in others]
            self._train_share(chunk, mine, rate)
            for other in waiting:
                other.result()

    def _train_share(self, chunk: _Chunk, buckets: np.ndarray, rate: np.float32) -> None:
        layout = self._layout
        self._train_buckets(
            buckets, chunk.dealt, chunk.offsets, layout.starts, layout.chance, layout.other,
            self.target, self.context, rate, np.uint64(self._settings.seed), np.uint64(self.done),
        )  # fmt: skip

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
