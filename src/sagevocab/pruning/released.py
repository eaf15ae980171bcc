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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

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
    """rows: float64[pieces + 1, dimension], the last of zeros for what no piece covers.

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
        rows = np.vstack([target, np.zeros((1, target.shape[1]))]).astype(np.float64)
        self._vectors = _Vectors(rows, self._opens)
        self._taken: tuple[_Lines, np.ndarray] | None = None  # lines and their losses, last time

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
            return _loss(total, piece, sample, known, lines, anew, vectors, window)

        with ThreadPoolExecutor(self._settings.threads) as pool:
            total = _sum_in_order(self._losses_of_lines(lines, known, pool))
            losses = np.array([*pool.map(of_piece, held, samples)], dtype=np.float64)
        return total, held, losses

    def _losses_of_lines(
        self, lines: _Lines, known: _Known, pool: ThreadPoolExecutor
    ) -> np.ndarray:
        """Return Equation 1 of each line; only those with other tokens than last time are new."""
        n_lines = len(self._offsets) - 1
        losses, changed = np.zeros(n_lines), np.arange(n_lines)
        if self._taken is not None:
            before, losses = self._taken
            changed = kernels.changed_lines(lines, _changed(before, lines))
        rows, window = self._vectors.rows, self._settings.window
        parts = np.array_split(changed, _PARTS)
        new = pool.map(lambda part: _line_losses(known, part, rows, window), parts)
        losses[changed] = np.concatenate([*new])
        self._taken = lines, losses
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
def _line_losses(known, part, rows, window):
    """Return Equation 1 of each line in `part`, summed target by target."""
    losses = np.zeros(len(part), np.float64)
    for row in range(len(part)):
        tokens = known.tokens[known.offsets[part[row]] : known.offsets[part[row] + 1]]
        for at in range(len(tokens)):
            losses[row] += _target_loss(tokens, at, rows, window)
    return losses


@njit(cache=True, nogil=True)
def _sum_in_order(values):
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True)
def _anew_without(lines, line, anew, piece):
    """Return the tokens of a line, encoded anew without `piece`."""
    n = 0
    for word in lines.types[lines.offsets[line] : lines.offsets[line + 1]]:
        n += anew.starts[word + 1] - anew.starts[word]
        k = _ablation(anew, word, piece)
        if k >= 0:
            n += anew.new_offsets[k + 1] - anew.new_offsets[k] - anew.ends[k] + anew.begins[k]
    out = np.empty(n, np.int32)
    n = 0
    for word in lines.types[lines.offsets[line] : lines.offsets[line + 1]]:
        tokens = anew.tokens[anew.starts[word] : anew.starts[word + 1]]
        begin, end, new = len(tokens), len(tokens), anew.new[:0]
        k = _ablation(anew, word, piece)
        if k >= 0:
            begin, end = anew.begins[k], anew.ends[k]
            new = anew.new[anew.new_offsets[k] : anew.new_offsets[k + 1]]
        for token in tokens[:begin]:
            out[n] = token
            n += 1
        for token in new:
            out[n] = token
            n += 1
        for token in tokens[end:]:
            out[n] = token
            n += 1
    return out


@njit(cache=True, nogil=True)
def _ablation(anew, word, piece):
    """Return where `anew` says what becomes of a word type without a piece; -1: it has none."""
    for k in range(anew.first[word], anew.first[word + 1]):
        if anew.ablated[k] == piece:
            return k
    return -1


@njit(cache=True, nogil=True)
def _target_loss(tokens, at, rows, window):
    """Return the loss of one target with its contexts, summed from left to right."""
    target, loss = rows[tokens[at]], 0.0
    for other in range(max(at - window, 0), min(at + window + 1, len(tokens))):
        if other != at:
            context, product = rows[tokens[other]], 0.0
            for i in range(len(target)):
                product += target[i] * context[i]
            share = 1 / (1 + np.exp(-product))
            if share > 0:  # the program passes over the logarithm of 0
                loss += np.log(share)
    return -loss


@njit(cache=True, nogil=True)
def _loss(total, piece, sample, known, lines, anew, vectors, window):
    """Return `total` and, line by line, the mean growth without `piece` over a sample of lines."""
    for line in sample:
        before = known.tokens[known.offsets[line] : known.offsets[line + 1]]
        if (before == piece).any():
            after = _anew_without(lines, line, anew, piece)
            total += _line_growth(piece, before, after, vectors, window) / len(sample)
    return total


@njit(cache=True, nogil=True)
def _line_growth(piece, before, after, vectors, window):
    """Return how much the loss of a line grows, occurrence by occurrence of `piece`."""
    growth, shift = 0.0, 0
    for at in range(len(before)):
        if before[at] != piece:
            continue
        now = at + shift
        added = _next_word(after, now, vectors) - _next_word(before, at, vectors) - shift
        shift += added
        if not _is_same_left(before, at, after, now, window):
            continue
        for i in range(max(at - window, 0), min(at + window + 1, len(before))):
            growth -= _target_loss(before, i, vectors.rows, window)
        end = min(min(now + window + 1, len(after)) + added, len(after))
        for i in range(max(now - window, 0), now):
            growth += _target_loss(after, i, vectors.rows, window)
        for i in range(now, now + added):
            growth += _target_loss(after, i, vectors.rows, window)
        for i in range(now + added, end):
            growth += _target_loss(after, i, vectors.rows, window)
    return growth


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
