"""Kneser-Ney n-grams of pieces: bits per character of whole held-out lines.

The estimate is the interpolated, modified one of Chen and Goodman (1998, "An Empirical Study of
Smoothing Techniques for Language Modeling", Section 3): three discounts an order from its counts of
counts; lower orders count the distinct pieces before an n-gram instead of its occurrences.
N-grams that begin a line have none before them and keep their occurrences, as in KenLM.

A text is one sequence of symbols, with BOUND before, between and behind its lines. It ends a line,
where it is predicted, and begins the next; no context reaches beyond it. So a line costs all its
pieces and its end. An unknown piece is the symbol UNKNOWN, and each of its characters costs
log2(1,114,112) bits more, as any of Unicode: whatever the vocabulary, a line can be read again from
its code. Vocabularies compare by bits per character, of which a line has those of its words, one
for each space and one for its end.

No n-gram is an object: those of an order are a sorted array of keys, context · symbols + symbol.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.segmentation.counts import SegmentedCorpus, sum_by_line
from sagevocab.segmentation.segmenter import Segmenter

ORDERS = (1, 3, 5)  # whose bits are kept
BOUND, UNKNOWN = 0, 1
FIRST_PIECE = 2
SPELLING = np.log2(sys.maxunicode + 1)  # bits of an unknown character
# Where counts of counts give none, as in tiny texts; those of KenLM's --discount_fallback.
_DISCOUNTS = np.array([0, 0.5, 1, 1.5])


def measure_ngrams(
    corpus: WordCorpus,
    heldout: Iterable[str],
    segmenter: Segmenter,
    sizes: Sequence[int],
    *,
    seed: int,
    normalization: str,
    max_word_chars: int,
) -> pd.DataFrame:
    """Return what n-grams of one tokenizer's pieces need for held-out lines.

    Args:
        corpus: the training text.
        heldout: lines; those without a word are left out.
        segmenter: of the tokenizer.
        sizes: lines to estimate from, a seeded sample each that holds the smaller ones; all lines
            where there are fewer.
        seed: of the samples.
        normalization, max_word_chars: how the held-out lines become words.

    Returns:
        One row a size and held-out line: lines (estimated from), line (0, 1, ...), characters, and
        bits_1, bits_3 and bits_5, of the whole line by order.
    """
    held = WordCorpus.from_lines(heldout, Normalizer(normalization), max_word_chars)
    asked = code_of_lines(held, segmenter)
    trained = SegmentedCorpus(corpus, segmenter)
    symbols = len(segmenter.pieces) + FIRST_PIECE
    line = np.cumsum(asked.stream == BOUND)[:-1] - 1
    frames = []
    for size in sorted({min(size, corpus.n_lines) for size in sizes}):
        sample = piece_stream(trained, corpus.sample(size, seed))
        frame = pd.DataFrame({"lines": size, "line": np.arange(held.n_lines)})
        frame["characters"] = asked.characters
        for order, p in enumerate(probabilities(sample, asked.stream, symbols), start=1):
            if order in ORDERS:
                bits = np.bincount(line, weights=-np.log2(p), minlength=held.n_lines)
                frame[f"bits_{order}"] = bits + asked.spelled
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True)
class CodedLines:
    """Lines as one tokenizer's symbols.

    stream: int64, as `piece_stream` gives it. characters: int64[lines], of the words, with one for
    each space and one for the line's end. spelled: float64[lines], bits of unknown characters.
    """

    stream: np.ndarray
    characters: np.ndarray
    spelled: np.ndarray

    @cached_property
    def bounds(self) -> np.ndarray:
        """Return where lines begin and end in `stream`: int64[lines + 1]."""
        return np.flatnonzero(self.stream == BOUND)


def code_of_lines(lines: WordCorpus, segmenter: Segmenter) -> CodedLines:
    """Return what a model of pieces predicts, and what its bits are divided by."""
    segmented = SegmentedCorpus(lines, segmenter)
    # Of words with their mark, which stands for a space or for the end of the line.
    lengths = np.array([len(word) for word in lines.types], dtype=np.int64)
    unknown = _unknown_characters(lines, segmented)
    characters, spelled = (
        sum_by_line(values, lines.tokens, lines.line_offsets) for values in (lengths, unknown)
    )
    return CodedLines(piece_stream(segmented, lines), characters, SPELLING * spelled)


def _unknown_characters(corpus: WordCorpus, segmented: SegmentedCorpus) -> np.ndarray:
    """Return how many characters of each word type no piece spells: int64[types].

    An unknown piece may be a character or a word: its characters are what the others leave.
    """
    word = np.repeat(np.arange(len(corpus.types)), segmented.lengths)
    unknown = np.bincount(word[segmented.flat < 0], minlength=len(corpus.types))
    lengths = np.array([*map(len, segmented.pieces), 0])  # the last is that of -1, an unknown one
    spelled = np.bincount(word, weights=lengths[segmented.flat], minlength=len(corpus.types))
    left = np.array([len(text) for text in corpus.types]) - spelled.astype(np.int64)
    return np.where(unknown > 0, np.maximum(left, unknown), 0)


def piece_stream(segmented: SegmentedCorpus, corpus: WordCorpus) -> np.ndarray:
    """Return lines as one sequence of symbols, with BOUND around each: int64[symbols].

    segmented: the pieces of the word types of `corpus`.
    """
    lengths = segmented.lengths[corpus.tokens]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    at = np.repeat(segmented.offsets[:-1][corpus.tokens], lengths) + within
    pieces = segmented.flat[at].astype(np.int64) + FIRST_PIECE
    return np.insert(pieces, ends[corpus.line_offsets], BOUND)


# --- the estimate


def probabilities(
    train: np.ndarray, asked: np.ndarray, symbols: int, orders: int = max(ORDERS)
) -> Iterator[np.ndarray]:
    """Yield the probabilities of what is predicted under the n-grams of order 1, 2, ... of a text.

    Args:
        train: int64, a text as `piece_stream` gives it; it holds a line.
        asked: int64, another.
        symbols: how many there are.
        orders: the highest order.

    Yields:
        float64[len(asked) - 1]: of every symbol but the first BOUND.
    """
    text, query = _Text(train, symbols), _Text(asked, symbols)
    lower = np.full(len(asked), 1 / symbols)
    level = None
    for order in range(1, orders + 1):
        grams = text.count(order)
        if level is not None:
            # What stands before the n-grams of the order below is known only now.
            lower = level.mixed(_distinct_before(level.grams, grams), lower)
        level = _Level(grams, *query.look_up(grams, order))
        yield level.mixed(grams.counts, lower)[1:]


@dataclass(frozen=True)
class _Grams:
    """The distinct n-grams of a text, of one order, numbered by their keys.

    keys: int64[grams], ascending: the number of the context (all but the last symbol, among the
        n-grams of the order below) · symbols + the last symbol.
    contexts: int64[grams], the first part of the key. counts: int64[grams], occurrences.
    suffixes: int64[grams], the number of all but the first symbol. opening: bool[grams], whether
        the first symbol is the BOUND before a line.
    """

    keys: np.ndarray
    contexts: np.ndarray
    counts: np.ndarray
    suffixes: np.ndarray
    opening: np.ndarray


class _Text:
    """A text of which longer and longer n-grams are numbered.

    symbols: int64. room: int64, how many symbols an n-gram that ends here may have, back to the
    BOUND before the line; 0 for the first of all. numbers: int64, of the n-gram of the last order
    that ends here; -1 where there is none. The empty one before order 1 is number 0.
    """

    def __init__(self, stream: np.ndarray, symbols: int) -> None:
        self.stream, self.symbols = stream, symbols
        place = np.arange(len(stream))
        bounds = np.maximum.accumulate(np.where(stream == BOUND, place, 0))
        self.room = np.zeros(len(stream), dtype=np.int64)
        self.room[1:] = place[1:] - bounds[:-1] + 1
        self.numbers = np.zeros(len(stream), dtype=np.int64)

    def count(self, order: int) -> _Grams:
        """Count the n-grams of an order, which must be the last one's next."""
        places = np.flatnonzero(self.room >= order)
        keys = self.numbers[places - 1] * self.symbols + self.stream[places]
        by_key = np.argsort(keys)
        places, keys = places[by_key], keys[by_key]
        new = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
        first = np.flatnonzero(new)
        grams = _Grams(
            keys=keys[first],
            contexts=keys[first] // self.symbols,
            counts=np.diff(first, append=len(keys)),
            suffixes=self.numbers[places[first]],
            opening=self.room[places[first]] == order,
        )
        self._number(places, np.cumsum(new) - 1)
        return grams

    def look_up(self, grams: _Grams, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of contexts and n-grams at every place; -1 where one is not known."""
        contexts = np.full(len(self.stream), -1)
        places = np.flatnonzero(self.room >= order)
        contexts[places] = self.numbers[places - 1]
        keys = contexts * self.symbols + self.stream
        found = np.minimum(np.searchsorted(grams.keys, keys), max(0, len(grams.keys) - 1))
        known = (contexts >= 0) & (grams.keys[found] == keys if len(grams.keys) else False)
        self._number(np.arange(len(keys)), np.where(known, found, -1))
        return contexts, self.numbers

    def _number(self, places: np.ndarray, numbers: np.ndarray) -> None:
        self.numbers = np.full(len(self.stream), -1)
        self.numbers[places] = numbers
        # The first BOUND ends no n-gram, but is a context as all others are.
        self.numbers[0] = self.numbers[-1]


@dataclass(frozen=True)
class _Level:
    """The n-grams of one order, and those to score: contexts and grams, -1 for an unknown."""

    grams: _Grams
    contexts: np.ndarray
    asked: np.ndarray

    def mixed(self, counts: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """Return p(symbol | context) at every place asked.

        counts: of the n-grams, occurrences or, below the highest order, what stands before them.
        lower: p(symbol | context without its first symbol), which is taken for unknown contexts.
        """
        taken = _discounts(counts)[np.minimum(counts, 3)]
        known = np.flatnonzero(self.contexts >= 0)
        context, gram = self.contexts[known], self.asked[known]
        size = self.grams.contexts.max(initial=context.max(initial=0)) + 1
        total = np.bincount(self.grams.contexts, weights=counts, minlength=size)[context]
        freed = np.bincount(self.grams.contexts, weights=taken, minlength=size)[context]
        kept = np.append(counts - taken, 0.0)[gram]  # an unknown one is the last
        p = lower.copy()
        p[known] = (kept + freed * lower[known]) / total
        return p


def _distinct_before(grams: _Grams, longer: _Grams) -> np.ndarray:
    """Return how many different symbols stand before each n-gram; longer: those of one more.

    Nothing stands before a line: of n-grams that open one, the occurrences count.
    """
    distinct = np.bincount(longer.suffixes, minlength=len(grams.counts))
    return np.where(grams.opening, grams.counts, distinct)


def _discounts(counts: np.ndarray) -> np.ndarray:
    """Return what is taken from counts of 0, 1, 2 and of 3 and more (Chen and Goodman, eq. 26)."""
    number = np.bincount(np.minimum(counts, 5), minlength=5)[:5].astype(float)
    if not number[1:].all():
        return _DISCOUNTS
    share = number[1] / (number[1] + 2 * number[2])
    found = np.array([0, *(n - (n + 1) * share * number[n + 1] / number[n] for n in (1, 2, 3))])
    return found if (found[1:] > 0).all() else _DISCOUNTS
