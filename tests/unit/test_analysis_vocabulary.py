"""Statistics of piece lists, on lists small enough to count by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from sagevocab.analysis import vocabulary

BPE = ["▁", "a", "▁a", "og", "▁th", "▁the", "ing", "ings"]
SAGE = ["▁", "a", "▁a", "▁the", "ing", "▁dialog", "ogues"]


def test_pieces_of_one_vocabulary_only_keep_their_order():
    assert vocabulary.only_in(BPE, SAGE) == ["og", "▁th", "ings"]
    assert vocabulary.only_in(SAGE, BPE) == ["▁dialog", "ogues"]


def test_subset():
    assert vocabulary.is_subset(["og", "a"], BPE)
    assert not vocabulary.is_subset(SAGE, BPE)


def test_word_initial_share_counts_the_bare_mark():
    share = vocabulary.word_initial_share(BPE)
    assert (share.hits, share.total) == (4, 8)
    assert share == 0.5


def test_share_of_nothing_is_nan_and_has_no_interval():
    share = vocabulary.word_initial_share([])
    assert math.isnan(share)
    assert all(math.isnan(bound) for bound in share.interval())


def test_share_knows_wilsons_interval():
    low, high = vocabulary.Share(1, 10).interval()
    assert (low, high) == pytest.approx((0.01787621, 0.40415003), abs=1e-6)


@pytest.mark.parametrize(
    ("count_word_start", "expected"),
    [(False, {0: 1, 1: 2, 2: 2, 3: 2, 4: 1}), (True, {1: 2, 2: 2, 3: 2, 4: 2})],
)
def test_length_histogram_under_both_conventions(count_word_start, expected):
    assert vocabulary.length_histogram(BPE, count_word_start).to_dict() == expected


def test_length_histogram_has_no_gaps_and_may_be_empty():
    assert vocabulary.length_histogram(["a", "abc"]).to_dict() == {1: 1, 2: 0, 3: 1}
    assert vocabulary.length_histogram([]).empty


def test_only_the_first_mark_of_a_piece_is_left_out_of_its_length():
    assert vocabulary.piece_length("▁▁a") == 2
    assert vocabulary.piece_length("▁▁a", count_word_start=True) == 3


def test_share_of_length_includes_both_ends():
    only_bpe = vocabulary.only_in(BPE, SAGE)
    assert vocabulary.share_of_length(only_bpe, 2, 3) == pytest.approx(2 / 3)
    assert vocabulary.share_of_length(only_bpe, 2, 3, count_word_start=True) == pytest.approx(2 / 3)
    assert vocabulary.share_of_length(vocabulary.only_in(SAGE, BPE), 5) == 1.0


def test_share_in_a_vocabulary():
    assert vocabulary.share_in(["og", "ings", "zzz"], BPE) == pytest.approx(2 / 3)


def test_substring_share_needs_a_longer_piece():
    assert vocabulary.substring_share(["▁th", "ing", "ings", "th"], BPE) == pytest.approx(3 / 4)


def test_frequency_differences_count_missing_pieces_as_zero():
    sage = pd.Series({"e": 9, "ing": 5, "x": 1})
    bpe = pd.Series({"e": 4, "ings": 7, "x": 1})
    frame = vocabulary.frequency_differences(sage, bpe)
    assert frame.index.tolist() == ["e", "ing", "x", "ings"]
    assert frame["difference"].tolist() == [5, 5, 0, -7]
    assert frame.loc["ings"].tolist() == [0, 7, -7]


def test_direction_of_a_piece():
    sage, bpe = pd.Series({"e": 9, "x": 1}), pd.Series({"e": 4, "ings": 7, "x": 1})
    found = [vocabulary.direction(piece, sage, bpe) for piece in ("e", "ings", "x", "none")]
    assert found == [1, -1, 0, 0]
