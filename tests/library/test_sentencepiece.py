"""The merges decoder against sentencepiece 0.1.99's own `set_vocabulary`.

`sentencepiece_0_1_99.json` (made by `benchmarks/peers/make_golden.py` of commit ea0343a) has the
words of a corpus as sentencepiece encoded them with ever smaller parts of its vocabulary, down to
single characters.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sagevocab.segmentation.segmenter import MergeSegmenter
from vocabulary_samples import merges_of

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "sentencepiece_0_1_99.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", range(len(GOLDEN["vocabularies"])))
def test_pruned_pieces_fall_apart_as_in_sentencepiece(case):
    pieces, kept = GOLDEN["pieces"], GOLDEN["vocabularies"][case]
    segmenter = MergeSegmenter(kept, merges_of(pieces), pieces)
    for word, expected in zip(GOLDEN["words"], GOLDEN["encoded"][case], strict=True):
        ours = [segmenter.pieces[number] for number in segmenter.segment("▁" + word)]
        assert " ".join(ours) == expected


def test_the_cases_show_pieces_that_fall_apart_more_than_once():
    """A cut-down vocabulary whose pieces all fell apart just once would not show recursion."""
    whole, parts = GOLDEN["encoded"][0], GOLDEN["encoded"][2]
    assert sum(p.count(" ") > w.count(" ") + 1 for w, p in zip(whole, parts, strict=True)) > 100
