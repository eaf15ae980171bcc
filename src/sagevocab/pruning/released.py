"""SaGe 1.0, the authors' program, exactly: what it prunes from a BPE vocabulary, in its order.

The program reads the paper's loss in its own way (docs/appendix/deviations.md). It takes for each
piece the mean, over a sample of the lines that hold the piece's string, of how much Equation 1
grows when the line is encoded without the piece, and it goes through the occurrences one by one:

- A line is encoded anew with the *considered* pieces and single characters only. At a ranking these
  are all that can be pruned, so pieces of `▁` and one character fall apart; between two rankings
  they are the candidates, so nearly everything does.
- An occurrence counts as 0 if the tokens before it in its window are not what they were.
- Where the next word begins, before and after, tells how many tokens an occurrence has become.

Sums are taken in the program's order in float64, and added to the loss of the whole text, as there:
pieces whose losses then are equal go in the order in which they were considered. Samples are those
of Python's `random`, which the program also shuffles the lines with. The scalar products alone may
differ in their last bit, since the program takes them by BLAS.

Compiled functions call only functions of this file, because Numba looks at this file alone to tell
whether its cache is still good.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from sagevocab.corpus import reading
from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import UserError
from sagevocab.numba_cache import provide_cache
from sagevocab.pieces import WORD_START, prunable
from sagevocab.pruning import kernels
from sagevocab.pruning.loss import Losses, make_decoder
from sagevocab.segmentation.decoder import Decoder, build_trie
from sagevocab.settings import SageSettings

provide_cache()

_PARTS = 64  # of the lines, for threads to share
_SEED = 0  # of the order of the lines and of the samples, in the program
_SUMS = 8  # that make up a scalar product, taken side by side


@dataclass(frozen=True)
class Batch:
    """One batch of a pruning.

    total: the loss of the whole text, in nats. considered: pieces whose loss was taken, in the
    program's order. losses: float64, of each: `total` and how much it grows without the piece.
    pruned: the pieces that went, lowest loss first.
    """

    total: float
    considered: list[str]
    losses: np.ndarray
    pruned: list[str]


def prune_as_released(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    target: np.ndarray,
    settings: SageSettings,
) -> Iterator[Batch]:
    """Prune a BPE vocabulary as SaGe 1.0 does, a batch at a time; the last is a whole one, too.

    Args:
        corpus: the text, its lines in the order of the file.
        pieces: the initial vocabulary without special tokens, in the order of ids.
        merges: those of the BPE, by rank.
        target: float[pieces, dimension], the vectors; the program has them for contexts, too.
        settings: those of the preset `released`; the seed changes nothing.

    Raises:
        UserError: there are no merges, or all that can be pruned is gone before the final size is
            reached.
    """
    text = ReleasedLosses(corpus, pieces, merges, settings)
    text.use_embeddings(target, target)
    can_go = prunable(pieces)
    left, considered = np.ones(len(pieces), dtype=bool), np.flatnonzero(can_go)
    batch = 0
    while left.sum() > settings.vocab_size:
        is_ranking = batch % settings.rerank_every == 0
        if is_ranking:
            considered = np.flatnonzero(left & can_go)
        total, considered, losses = text.take(left, considered)
        if is_ranking and not len(considered):
            raise UserError(
                f"vocab_size: {settings.vocab_size}, but {left.sum()} pieces are single characters "
                f"or in no line, which the program never prunes; set {left.sum()} or more"
            )
        lowest = np.argsort(losses, kind="stable")
        pruned = considered[lowest[: settings.prune_batch]]
        names = [pieces[number] for number in considered]
        yield Batch(total, names, losses, [pieces[number] for number in pruned])
        left[pruned] = False
        if is_ranking:
            considered = considered[lowest[: settings.candidates]]
        considered = considered[left[considered]]
        batch += 1


class _Lines(NamedTuple):
    """Lines as word types, and the tokens of each type.

    types: int32, word types one after another. offsets: int64[lines + 1].
    tokens, starts: int32 and int64[types + 1], tokens of each type in the vocabulary that is left.
    """

    types: np.ndarray
    offsets: np.ndarray
    tokens: np.ndarray
    starts: np.ndarray


class _Known(NamedTuple):
    """The tokens of all lines, one after another: int32, and int64[lines + 1] where each begins."""

    tokens: np.ndarray
    offsets: np.ndarray


class _Anew(NamedTuple):
    """The tokens of each word type, encoded anew, and what becomes of them without a piece.

    tokens, starts: as of `_Lines`. first, ablated: pieces in the tokens of each type, as runs.
    begins, ends: which of the type's tokens change without the piece; new_offsets, new: into what.
    """

    tokens: np.ndarray
    starts: np.ndarray
    first: np.ndarray
    ablated: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    new_offsets: np.ndarray
    new: np.ndarray


class _Vectors(NamedTuple):
    """rows: float64[pieces + 1, dimension], the last of zeros for what no piece covers. Columns of
    zeros fill up the dimension to a multiple of _SUMS.

    opens: bool[pieces + 1], whether a piece begins with `▁`.
    """

    rows: np.ndarray
    opens: np.ndarray


class ReleasedLosses:
    """Losses of pieces as the program takes them, for any vocabulary on its way down.

    Samples are drawn anew each time, so two rankings of one vocabulary differ, as the program's do.
    """

    def __init__(
        self,
        corpus: WordCorpus,
        pieces: Sequence[str],
        merges: Sequence[tuple[str, str]] | None,
        settings: SageSettings,
    ) -> None:
        """Shuffle the lines of a corpus; the arguments are those of `prune_as_released`."""
        self._settings = settings
        self._rng = random.Random(_SEED)
        order = [*range(corpus.n_lines)]
        self._rng.shuffle(order)
        chosen = np.array(order)
        starts, lengths = corpus.line_offsets[chosen], np.diff(corpus.line_offsets)[chosen]
        self._offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.repeat(starts - self._offsets[:-1], lengths) + np.arange(self._offsets[-1])
        self._types = corpus.tokens[places]
        self._decoder = make_decoder("merges", corpus.types, pieces, merges)
        self._characters = np.array([len(piece) == 1 for piece in pieces])
        self._opens = np.array([*(piece.startswith(WORD_START) for piece in pieces), False])
        within = Decoder.greedy(corpus.types, build_trie(pieces)).pieces_within(len(pieces))
        self._holding = _lines_by_piece(self._types, self._offsets, *within, len(pieces))

    def use_embeddings(self, target: np.ndarray, context: np.ndarray) -> None:
        """Take the vectors (float[pieces, dimension]); the program has no context vectors."""
        size, dimension = target.shape
        rows = np.zeros((size + 1, dimension + -dimension % _SUMS))
        rows[:size, :dimension] = target
        self._vectors = _Vectors(rows, self._opens)
        self._taken: tuple[_Lines, _Known, np.ndarray] | None = None  # the text, last time

    def losses(self, alive: np.ndarray, wanted: np.ndarray) -> Losses:
        """Return how much the loss grows without each piece that is `wanted`.

        Both are bool[pieces]. A piece whose string no line holds has 0; nothing is counted.
        """
        total, considered, losses = self.take(alive, np.flatnonzero(wanted))
        growth, nothing = np.zeros(len(alive)), np.zeros(len(alive), np.int64)
        growth[considered] = losses - total
        return Losses(growth, nothing, nothing, nothing)

    def take(
        self, left: np.ndarray, considered: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss of the text, the considered pieces that a line holds, and their losses.

        left: bool[pieces], the vocabulary. considered: piece numbers, in the program's order.
        """
        lines = _Lines(self._types, self._offsets, *self._decoder.segment(left))
        wanted = np.zeros(len(left), dtype=bool)
        wanted[considered] = True
        alive = wanted | self._characters
        tokens = self._decoder.segment(alive)
        anew = _Anew(*tokens, *self._decoder.ablate(alive, wanted, tokens))
        held, samples = self._samples(considered)
        known, vectors, window = _known(lines), self._vectors, self._settings.window

        def of_piece(piece: int, sample: np.ndarray) -> float:
            return _loss(total, piece, sample, known, of_targets, lines, anew, vectors, window)

        with ThreadPoolExecutor(self._settings.threads) as pool:
            of_targets = self._losses_of_targets(lines, known, pool)
            total = _sum_in_order(of_targets, known.offsets)
            losses = np.array([*pool.map(of_piece, held, samples)], dtype=np.float64)
        return total, held, losses

    def _losses_of_targets(
        self, lines: _Lines, known: _Known, pool: ThreadPoolExecutor
    ) -> np.ndarray:
        """Return the loss of each token, a target: float64[tokens].

        Only lines with other tokens than last time are taken anew.
        """
        losses, is_new = np.empty(len(known.tokens)), np.ones(len(self._offsets) - 1, dtype=bool)
        if self._taken is not None:
            before, known_before, losses_before = self._taken
            is_new[:] = False
            is_new[kernels.changed_lines(lines, _changed(before, lines))] = True
            _copy_lines(known_before.offsets, losses_before, known.offsets, losses, ~is_new)
        rows, window = self._vectors.rows, self._settings.window
        parts = np.array_split(np.flatnonzero(is_new), _PARTS)
        deque(pool.map(lambda part: _fill_lines(known, part, rows, window, losses), parts), 0)
        self._taken = lines, known, losses
        return losses

    def _samples(self, considered: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Draw the lines of each piece; leave out pieces whose string no line holds."""
        lines, first = self._holding
        most = len(lines) if self._settings.loss_lines == "all" else self._settings.loss_lines
        samples = []
        for piece in considered:
            holding = lines[first[piece] : first[piece + 1]]
            if len(holding) > most:
                holding = holding[self._rng.sample(range(len(holding)), most)]
            samples.append(holding)
        held = [len(sample) > 0 for sample in samples]
        return considered[held], [sample for sample in samples if len(sample)]


@njit(cache=True, nogil=True)
def _lines_by_piece(types, offsets, within, first, n_pieces):
    """List the lines that hold each piece as a string, ascending: int32 lines, offsets by piece.

    within, first: the pieces that each word type holds, as runs.
    """
    ends = np.zeros(n_pieces + 1, np.int64)
    lines = np.empty(0, np.int32)
    for is_counted in (False, True):  # counts first, to know where each piece's lines begin
        seen = np.full(n_pieces, -1, np.int64)
        if is_counted:
            ends = np.cumsum(ends)
            lines = np.empty(ends[-1], np.int32)
            filled = ends[:-1].copy()
        for line in range(len(offsets) - 1):
            for word in types[offsets[line] : offsets[line + 1]]:
                for piece in within[first[word] : first[word + 1]]:
                    if seen[piece] == line:
                        continue
                    seen[piece] = line
                    if is_counted:
                        lines[filled[piece]] = line
                        filled[piece] += 1
                    else:
                        ends[piece + 1] += 1
    return lines, ends


@njit(cache=True, nogil=True)
def _changed(before, after):
    """Return the word types whose tokens are not what they were: bool[types]."""
    differs = np.zeros(len(after.starts) - 1, np.bool_)
    for word in range(len(differs)):
        old = before.tokens[before.starts[word] : before.starts[word + 1]]
        new = after.tokens[after.starts[word] : after.starts[word + 1]]
        differs[word] = len(old) != len(new) or (old != new).any()
    return differs


def _known(lines: _Lines) -> _Known:
    """Return the tokens of all lines."""
    tokens, ends = reading.expanded(lines.types, lines.offsets[1:], lines.tokens, lines.starts)
    return _Known(tokens, np.append(0, ends))


@njit(cache=True, nogil=True)
def _copy_lines(begins, values, new_begins, new_values, which):
    """Copy the values of the lines in `which` (bool[lines]) to where the lines begin now."""
    for line in np.flatnonzero(which):
        begin, end, new = begins[line], begins[line + 1], new_begins[line]
        new_values[new : new + end - begin] = values[begin:end]


@njit(cache=True, nogil=True)
def _fill_lines(known, part, rows, window, losses):
    """Fill in the losses of all targets of the lines in `part`."""
    pairs = np.empty((window + 1, window))
    for line in part:
        begin, end = known.offsets[line], known.offsets[line + 1]
        tokens = known.tokens[begin:end]
        _fill_targets(tokens, 0, len(tokens), rows, pairs, losses[begin:end])


@njit(cache=True, nogil=True)
def _sum_in_order(losses, offsets):
    """Return the loss of the text: the sum of its lines, each summed target by target."""
    total = 0.0
    for line in range(len(offsets) - 1):
        of_line = 0.0
        for at in range(offsets[line], offsets[line + 1]):
            of_line += losses[at]
        total += of_line
    return total


@njit(cache=True, nogil=True)
def _write_without(lines, line, anew, piece, out):
    """Write the tokens of a line, encoded anew without `piece`.

    Returns `out`, or a longer copy where they are more, and how many they are. By index, because
    Numba counts references to every part of an array, which takes longer than the rest.
    """
    n = 0
    for place in range(lines.offsets[line], lines.offsets[line + 1]):
        word = lines.types[place]
        begin, end = anew.starts[word], anew.starts[word + 1]
        without = -1
        for k in range(anew.first[word], anew.first[word + 1]):
            if anew.ablated[k] == piece:
                without = k
        room = n + end - begin
        if without >= 0:
            room += anew.new_offsets[without + 1] - anew.new_offsets[without]
        if room > len(out):
            longer = np.empty(2 * room, np.int32)
            longer[:n] = out[:n]
            out = longer
        if without >= 0:
            for at in range(begin, begin + anew.begins[without]):
                out[n] = anew.tokens[at]
                n += 1
            for at in range(anew.new_offsets[without], anew.new_offsets[without + 1]):
                out[n] = anew.new[at]
                n += 1
            begin += anew.ends[without]
        for at in range(begin, end):
            out[n] = anew.tokens[at]
            n += 1
    return out, n


@njit(cache=True, nogil=True)
def _fill_targets(tokens, first, last, rows, pairs, losses):
    """Write the losses of the targets first..last-1 to the beginning of `losses`.

    Each is summed over its contexts from left to right. A pair of targets counts from both sides
    and is taken once: `pairs`, float64[window + 1, window], keeps what the last targets have with
    the contexts behind them. A target before the line is one at its end, as in the program, with
    the contexts that it would have before the line.
    """
    window = pairs.shape[1]
    for at in range(first, last):
        loss, ahead = 0.0, pairs[at % (window + 1)]
        for other in range(max(at - window, 0), at):
            if other < first:
                loss += _log_share(_product(rows[tokens[at]], rows[tokens[other]]))
            else:
                loss += pairs[other % (window + 1), at - other - 1]
        behind = range(max(at + 1, 0), min(at + window + 1, len(tokens)))
        for other in behind:  # apart from their logarithms, as the processor then overlaps them
            ahead[other - at - 1] = _product(rows[tokens[at]], rows[tokens[other]])
        for other in behind:
            ahead[other - at - 1] = _log_share(ahead[other - at - 1])
            loss += ahead[other - at - 1]
        losses[at - first] = -loss


@njit(cache=True, nogil=True, error_model="numpy")
def _log_share(product):
    """Return the logarithm of a product's sigmoid; the program passes over the logarithm of 0."""
    share = 1 / (1 + np.exp(-product))
    return np.log(share) if share > 0 else 0.0


@intrinsic
def _product(_typing, target, context):
    """Return the scalar product of two rows: _SUMS sums side by side, then halves of them.

    Written down, so that all processors take it in one order; `+` in a loop is not vectorized.
    """

    def generate(compiler, builder, signature, arguments):
        side_by_side = ir.VectorType(ir.DoubleType(), _SUMS)
        typed = zip(signature.args, arguments, strict=True)
        arrays = [compiler.make_array(kind)(compiler, builder, value) for kind, value in typed]
        rows = [builder.bitcast(array.data, side_by_side.as_pointer()) for array in arrays]
        (size,) = cgutils.unpack_tuple(builder, arrays[0].shape, 1)
        sums = cgutils.alloca_once_value(builder, ir.Constant(side_by_side, [0.0] * _SUMS))
        with cgutils.for_range(builder, builder.udiv(size, size.type(_SUMS))) as loop:
            parts = [builder.load(builder.gep(row, [loop.index]), align=8) for row in rows]
            products = builder.fmul(*parts)
            builder.store(builder.fadd(builder.load(sums), products), sums)
        values = builder.load(sums)
        parts = [builder.extract_element(values, ir.IntType(32)(lane)) for lane in range(_SUMS)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [*map(builder.fadd, parts[:half], parts[half:])]
        return parts[0]

    return types.float64(target, context), generate


@njit(cache=True, nogil=True)
def _loss(total, piece, sample, known, of_targets, lines, anew, vectors, window):
    """Return `total` and, line by line, the mean growth without `piece` over a sample of lines."""
    pairs, after, room = np.empty((window + 1, window)), np.empty(0, np.int32), np.empty(0)
    for line in sample:
        begin, end = known.offsets[line], known.offsets[line + 1]
        for at in range(begin, end):
            if known.tokens[at] == piece:
                after, n = _write_without(lines, line, anew, piece, after)
                if len(room) < end - begin + n:
                    room = np.empty(2 * (end - begin + n))
                before, losses = known.tokens[begin:end], of_targets[begin:end]
                growth = _line_growth(piece, before, losses, after[:n], vectors, pairs, room)
                total += growth / len(sample)
                break
    return total


@njit(cache=True, nogil=True)
def _line_growth(piece, before, losses, after, vectors, pairs, room):
    """Return how much the loss of a line grows, occurrence by occurrence of `piece`.

    losses: of the targets before. room: float64, for as many targets as before and after.
    """
    growth, shift, window = 0.0, 0, pairs.shape[1]
    for at in range(len(before)):
        if before[at] != piece:
            continue
        now = at + shift
        added = _next_word(after, now, vectors) - _next_word(before, at, vectors) - shift
        shift += added
        if not _is_same_left(before, at, after, now, window):
            continue
        for target in range(max(at - window, 0), min(at + window + 1, len(before))):
            growth -= losses[target]
        first = min(max(now - window, 0), now)
        last = min(min(now + window + 1, len(after)) + added, len(after))
        if added < 0:  # the targets up to `now` are taken first, so some count twice
            growth = _add_targets(growth, after, first, now, vectors, pairs, room)
            first = now + added
        last = max(last, now + added)
        growth = _add_targets(growth, after, first, last, vectors, pairs, room)
    return growth


@njit(cache=True, nogil=True)
def _add_targets(total, tokens, first, last, vectors, pairs, room):
    """Return `total` and the losses of the targets first..last-1, one by one."""
    _fill_targets(tokens, first, last, vectors.rows, pairs, room)
    for k in range(last - first):
        total += room[k]
    return total


@njit(cache=True, nogil=True)
def _next_word(tokens, at, vectors):
    """Return where the next word begins behind `at`, or the end; `at` where nothing follows."""
    if at + 1 >= len(tokens):
        return at
    place = at + 1
    while place < len(tokens) and not vectors.opens[tokens[place]]:
        place += 1
    return place


@njit(cache=True, nogil=True)
def _is_same_left(before, at, after, now, window):
    """Return whether as many tokens as stand before `now` open the old window and the new one.

    The old window has no token of its own place, so its later tokens may be compared, too.
    """
    first = max(at - window, 0)
    size = min(window, now)
    for k in range(size):
        old = first + k
        if old >= at:
            old += 1
        if old >= min(at + window + 1, len(before)) or now - size + k >= len(after):
            return False
        if before[old] != after[now - size + k]:
            return False
    return True
