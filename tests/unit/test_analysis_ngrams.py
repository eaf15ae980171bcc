"""Kneser-Ney n-grams: by hand, beside dictionaries, as probabilities and as codes of lines."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import numpy as np
import pytest

from reproduction.analysis.ngrams import (
    BOUND,
    FIRST_PIECE,
    ORDERS,
    SPELLING,
    UNKNOWN,
    _discounts,
    measure_ngrams,
    piece_stream,
    probabilities,
)
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.segmentation.counts import SegmentedCorpus
from sagevocab.segmentation.segmenter import GreedySegmenter

A, B = 2, 3
SYMBOLS = 10


def stream(lines):
    """Lines of symbols as one sequence."""
    return np.array([BOUND, *(symbol for line in lines for symbol in [*line, BOUND])])


def some_text(count, seed):
    """Lines of symbols, some of them frequent."""
    rng = random.Random(seed)
    return [
        [min(SYMBOLS - 1, A + int(rng.expovariate(0.5))) for _ in range(rng.randint(1, 6))]
        for _ in range(count)
    ]


# --- the estimate


def test_probabilities_by_hand():
    train, asked = stream([[A, B], [A, A]]), stream([[A, B], [B]])
    first, second, third = probabilities(train, asked, 4, orders=3)
    # Too few counts for discounts: 1/2, 1 and 3/2 are taken from 1, 2 and 3. Of 6 symbols A is 3,
    # B is 1 and the end of a line 2, so that 3 of 6 are for all 4 alike.
    a, b, end = 1.5 / 6 + 1 / 8, 0.5 / 6 + 1 / 8, 1 / 6 + 1 / 8
    np.testing.assert_allclose(first, [a, b, end, b, end])
    # Before A stand two symbols, before B one, before the end of a line two.
    b, end = 0.5 / 5 + 1 / 8, 1 / 5 + 1 / 8
    a_opens, b_opens = 1 / 2 + end / 2, b / 2
    b_after_a, end_after_b = 0.5 / 3 + b / 2, 0.5 + end / 2
    np.testing.assert_allclose(second, [a_opens, b_after_a, end_after_b, b_opens, end_after_b])
    # A context longer than the line so far is the line so far; "B after the start" was not seen.
    b_second, end_third = 0.5 / 2 + b_after_a / 2, 0.5 + end_after_b / 2
    np.testing.assert_allclose(third, [a_opens, b_second, end_third, b_opens, end_after_b])


def test_discounts_are_those_of_chen_and_goodman():
    counts = np.repeat([1, 2, 3, 4, 9], [4, 2, 1, 1, 3])
    # Y = 4 / (4 + 2 * 2) = 1/2; 1 - 2Y 2/4, 2 - 3Y 1/2, 3 - 4Y 1/1.
    np.testing.assert_allclose(_discounts(counts), [0, 0.5, 1.25, 1])
    np.testing.assert_allclose(_discounts(counts[counts != 3]), [0, 0.5, 1, 1.5])


class KneserNey:
    """The same by dictionaries, an n-gram at a time."""

    def __init__(self, lines, order):
        self.order = order
        raw = defaultdict(Counter)
        for line in lines:
            padded = [BOUND, *line, BOUND]
            for end in range(2, len(padded) + 1):
                for length in range(1, min(order, end) + 1):
                    raw[length][tuple(padded[end - length : end])] += 1
        self.counts = {order: raw[order]}
        for length in range(1, order):
            before = defaultdict(set)
            for gram in raw[length + 1]:
                before[gram[1:]].add(gram[0])
            self.counts[length] = {
                gram: count if length > 1 and gram[0] == BOUND else len(before[gram])
                for gram, count in raw[length].items()
            }
        self.discounts = {
            length: _discounts(np.array([*counts.values()], dtype=int))
            for length, counts in self.counts.items()
        }

    def p(self, context, symbol):
        length = len(context) + 1
        lower = self.p(context[1:], symbol) if context else 1 / SYMBOLS
        seen = {g[-1]: c for g, c in self.counts[length].items() if g[:-1] == tuple(context)}
        if not seen:
            return lower
        taken = {s: self.discounts[length][min(c, 3)] for s, c in seen.items()}
        kept = seen.get(symbol, 0) - taken.get(symbol, 0)
        return (kept + sum(taken.values()) * lower) / sum(seen.values())


@pytest.mark.parametrize("seed", range(3))
def test_arrays_give_what_dictionaries_give(seed):
    train, asked = some_text(150, seed), some_text(30, seed + 50)
    found = probabilities(stream(train), stream(asked), SYMBOLS, orders=4)
    for order, p in enumerate(found, start=1):
        model = KneserNey(train, order)
        padded = [[BOUND, *line, BOUND] for line in asked]
        expected = [
            model.p(line[max(0, place - order + 1) : place], line[place])
            for line in padded
            for place in range(1, len(line))
        ]
        np.testing.assert_allclose(p, expected, rtol=1e-12)


# --- codes of lines

WORDS = ["▁the", "▁cat", "▁", *"abcdehst"]
LINES = ["the cat", "the cats hat", "the bad cat", "a hat"]


def corpus_of(lines):
    return WordCorpus.from_lines(lines, Normalizer("nmt_nfkc"))


def measured(pieces, lines, heldout, sizes=(100,)):
    options = {"normalization": "nmt_nfkc", "max_word_chars": 256}
    segmenter = GreedySegmenter(pieces)
    return measure_ngrams(corpus_of(lines), heldout, segmenter, sizes, seed=1, **options)


def test_a_text_is_its_pieces_with_a_bound_around_each_line():
    corpus = corpus_of(["the cats", "Ж"])
    symbols = piece_stream(SegmentedCorpus(corpus, GreedySegmenter(WORDS)), corpus)
    the, cat, mark, s = (WORDS.index(p) + FIRST_PIECE for p in ("▁the", "▁cat", "▁", "s"))
    assert symbols.tolist() == [BOUND, the, cat, s, BOUND, mark, UNKNOWN, BOUND]


def test_a_line_costs_its_pieces_and_its_end():
    found = measured(WORDS, LINES, ["the cat", "", "the cats"])
    assert found["characters"].tolist() == [8, 9]
    assert (found["lines"].unique().tolist(), found["line"].tolist()) == ([4], [0, 1])
    corpus, segmenter = corpus_of(LINES), GreedySegmenter(WORDS)
    train = piece_stream(SegmentedCorpus(corpus, segmenter), corpus)
    the, cat, s = (WORDS.index(p) + FIRST_PIECE for p in ("▁the", "▁cat", "s"))
    symbols = len(WORDS) + FIRST_PIECE
    for number, line in enumerate([[the, cat], [the, cat, s]]):
        by_order = [*probabilities(train, stream([line]), symbols)]
        for order in ORDERS:
            expected = -np.log2(by_order[order - 1]).sum()
            assert found[f"bits_{order}"][number] == pytest.approx(expected)


@pytest.mark.parametrize(("line", "unknown"), [("the Жat", 1), ("ЖЖ the Ж", 3)])
def test_each_unknown_character_is_spelled(line, unknown):
    found = measured(WORDS, LINES, [line]).iloc[0]
    # The piece "e" was not seen either: all that differs is the spelling.
    unseen = measured(WORDS, LINES, [line.replace("Ж", "e")]).iloc[0]
    assert found["characters"] == unseen["characters"]
    for name in ("bits_1", "bits_5"):
        assert found[name] == pytest.approx(unseen[name] + unknown * SPELLING)


def test_an_unknown_word_is_spelled_whole():
    class Words(GreedySegmenter):
        """Words are pieces or unknown, as in WordPiece."""

        def segment_words(self, words):
            numbers = [self.pieces.index(w) if w in self.pieces else -1 for w in words]
            return np.array(numbers, dtype=np.int32), np.arange(len(words) + 1)

    options = {"seed": 1, "normalization": "nmt_nfkc", "max_word_chars": 256}
    corpus, segmenter = corpus_of(LINES), Words(WORDS)
    short, long = (
        measure_ngrams(corpus, [line], segmenter, [9], **options)["bits_3"][0]
        for line in ("the hat", "the hathat")
    )
    assert long - short == pytest.approx(3 * SPELLING)


def test_sizes_are_samples_and_more_text_is_better():
    rng = random.Random(3)
    lines = [" ".join(rng.choices(["the", "cat", "hat", "bad"], k=5)) for _ in range(400)]
    found = measured(WORDS, lines[:300], lines[300:], sizes=(30, 300, 1000))
    assert found.groupby("lines").size().to_dict() == {30: 100, 300: 100}
    bits = found.groupby("lines")["bits_3"].sum()
    assert bits[300] < bits[30]
