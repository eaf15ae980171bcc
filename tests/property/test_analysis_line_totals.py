"""Totals by line equal what counting each line by itself gives, for any text and vocabulary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reproduction.analysis.counts import LineTotals
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.pieces import is_single_character
from sagevocab.segmentation.segmenter import GreedySegmenter

LINES = st.lists(st.text("abc ", min_size=1, max_size=20), max_size=8)
# Without `c` in the alphabet of some vocabularies there are uncovered characters.
PIECES = st.lists(st.text("▁abc", min_size=1, max_size=4), min_size=1, max_size=12, unique=True)


@given(LINES, PIECES, st.integers(1, 4), st.integers(0, 3))
def test_totals_equal_brute_force(lines, pieces, fewest, more):
    corpus = WordCorpus.from_lines(lines, Normalizer("nmt_nfkc"))
    segmenter = GreedySegmenter(pieces)
    totals = LineTotals(corpus, segmenter)
    singles = {piece for piece in pieces if is_single_character(piece)}
    for number in range(corpus.n_lines):
        start, stop = corpus.line_offsets[number : number + 2]
        words = [segmenter.segment(corpus.types[kind]) for kind in corpus.tokens[start:stop]]
        sizes = [len(word) for word in words]
        spelled = [pieces[place] for word in words for place in word if place >= 0]
        assert totals.words[number] == len(words)
        assert totals.tokens[number] == sum(sizes)
        asked = sum(fewest <= size <= fewest + more for size in sizes)
        assert totals.words_with(fewest, fewest + more)[number] == asked
        assert totals.words_with(fewest)[number] == sum(size >= fewest for size in sizes)
        assert totals.occurrences(singles)[number] == sum(piece in singles for piece in spelled)
        bins = [sum(min(size, 3) == column for size in sizes) for column in (1, 2, 3)]
        assert totals.histogram(3)[number].tolist() == bins
