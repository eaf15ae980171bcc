from __future__ import annotations

import io

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from sagevocab.errors import UserError
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.huggingface.sentencepiece import merges_of_model, pieces_of_model, read_model
from sagevocab.segmentation.segmenter import UNCOVERED, GreedySegmenter, MergeSegmenter

LINES = [
    "the including of included includes is in the inclusion of the excluded",
    "he had his head ahead of the herd and the shed",
    "sing singing singer rings ringing bring bringing the thing",
] * 20


def as_pieces(segmenter, word):
    return [None if n == UNCOVERED else segmenter.pieces[n] for n in segmenter.segment(word)]


@given(st.sets(st.text("abc▁", min_size=1, max_size=4), min_size=1), st.text("abcd▁", max_size=20))
def test_greedy_is_the_oracles(pieces, word):
    segmenter = GreedySegmenter(sorted(pieces))
    assert as_pieces(segmenter, word) == oracle.greedy(word, frozenset(pieces))


def test_many_words_come_one_after_another():
    ids, offsets = GreedySegmenter(["a", "b", "ab"]).segment_words(["ab", "", "ba", "x"])
    assert (ids.tolist(), offsets.tolist()) == ([2, 1, 0, UNCOVERED], [0, 1, 1, 3, 4])
    assert (ids.dtype, offsets.dtype) == (np.int32, np.int64)


def test_merges_apply_by_rank_then_from_the_left():
    full = ["▁", "a", "b", "c", "bc", "ab", "aa"]
    segmenter = MergeSegmenter(full, [("b", "c"), ("a", "b"), ("a", "a")], full)
    assert as_pieces(segmenter, "▁abc") == ["▁", "a", "bc"]  # greedy would take ab
    assert as_pieces(segmenter, "aaa") == ["aa", "a"]  # the left pair first
    assert as_pieces(segmenter, "axbc") == ["a", None, "bc"]


def test_a_piece_outside_the_vocabulary_falls_apart_as_it_was_merged():
    full = ["a", "b", "c", "d", "ab", "bc", "abc", "abcd"]
    merges = [("b", "c"), ("a", "bc"), ("abc", "d"), ("a", "b"), ("ab", "c")]
    # abcd was merged from abc and d, abc from a and bc: ab is in the vocabulary but never made.
    without = [piece for piece in full if piece not in ("abcd", "abc")]
    assert as_pieces(MergeSegmenter(without, merges, full), "abcd") == ["a", "bc", "d"]
    fewer = [piece for piece in without if piece != "bc"]
    assert as_pieces(MergeSegmenter(fewer, merges, full), "abcd") == ["a", "b", "c", "d"]


def test_merges_need_their_pieces():
    with pytest.raises(ValueError, match="'ab'"):
        MergeSegmenter(["a", "b"], [("a", "b")], ["a", "b"])
    with pytest.raises(ValueError, match="'x'"):
        MergeSegmenter(["x"], [], ["a"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=buffer,
        vocab_size=90,
        model_type="bpe",
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("model") / "bpe.model"
    path.write_bytes(buffer.getvalue())
    return path


@settings(max_examples=60)
@given(data=st.data())
def test_merges_without_some_pieces_are_sentencepieces_set_vocabulary(model, data):
    proto = read_model(model)
    full = pieces_of_model(proto)
    long = [piece for piece in full if len(piece.removeprefix("▁")) > 1]
    dropped = data.draw(st.sets(st.sampled_from(long)))
    left = [piece for piece in full if piece not in dropped]
    word = data.draw(
        st.sampled_from(" ".join(LINES[:3]).split()) | st.text("inglcudehs", min_size=1)
    )
    for piece in proto.pieces:  # what set_vocabulary does, which Python does not have
        if piece.piece in dropped:
            piece.type = piece.UNUSED
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    ours = as_pieces(MergeSegmenter(left, merges_of_model(proto), full), "▁" + word)
    assert ours == processor.encode(word, out_type=str)


def test_a_folder_that_nobody_described_is_a_user_error(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(UserError, match="does not describe a vocabulary"):
        load_segmenter(tmp_path)
