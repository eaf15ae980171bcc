from __future__ import annotations

import itertools

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from sagevocab.errors import UserError
from sagevocab.words import NORMALIZATIONS, Normalizer, WordCorpus, split_words


@pytest.mark.parametrize("rule", NORMALIZATIONS)
@pytest.mark.parametrize("text", ["Ｆｕｌｌ　width", "  a \t b  ", "ﬁne x² Straße", "ÇĞ İI ß"])
def test_normalisation_is_sentencepieces(rule, text):
    theirs = sentencepiece.SentencePieceNormalizer(
        rule_name=rule,
        add_dummy_prefix=False,
        remove_extra_whitespaces=True,
        escape_whitespaces=False,
    )
    assert Normalizer(rule)(text) == theirs.normalize(text)


def test_a_literal_word_start_is_a_space():
    assert Normalizer()("▁a▁ ▁b▁") == "a b"
    assert Normalizer("identity")("a▁b") == "a b"


def test_only_the_space_splits_words():
    assert split_words(Normalizer("identity")(" a\u00a0b\tc  d ")) == ["▁a\u00a0b\tc", "▁d"]


def test_an_unknown_rule_is_told_by_its_key():
    with pytest.raises(UserError, match="vocabulary.normalization: 'nfd' is unknown"):
        Normalizer("nfd")


def test_long_words_are_cut_and_only_the_first_part_is_a_word_start():
    # 4 characters with the word start: ▁abc, then defg, then h.
    assert split_words("abcdefgh i", max_word_chars=4) == ["▁abc", "defg", "h", "▁i"]
    assert split_words("abc", max_word_chars=4) == ["▁abc"]


@given(st.text(alphabet="ab \u00a0", max_size=40), st.integers(2, 9))
def test_cutting_loses_nothing(text, limit):
    words = split_words(text, limit)
    assert all(len(word) <= limit for word in words)
    assert (
        "".join(words).replace("▁", " ").split(" ")
        == [""] * bool(words) + [word for word in text.split(" ") if word]
        or not words
    )


def test_types_come_in_order_of_first_appearance():
    lines = iter(["b a", "", "  ", "a c  b"])  # read once
    corpus = WordCorpus.from_lines(lines, Normalizer())
    assert corpus.types == ["▁b", "▁a", "▁c"]
    assert corpus.tokens.tolist() == [0, 1, 1, 2, 0]
    assert corpus.tokens.dtype == np.int32
    assert corpus.line_offsets.tolist() == [0, 2, 5]  # lines without a word are dropped
    assert corpus.line_offsets.dtype == np.int64
    assert corpus.n_lines == 2
    assert corpus.counts.tolist() == [2, 2, 1]


@settings(max_examples=30)
@given(st.lists(st.text(max_size=20), max_size=8))
def test_a_corpus_survives_a_round_trip(tmp_path_factory, lines):
    lines = [line.encode("utf-8", "ignore").decode("utf-8") for line in lines]
    path = tmp_path_factory.mktemp("corpus") / "words.npz"
    corpus = WordCorpus.from_lines(lines, Normalizer(), max_word_chars=5)
    corpus.save(path)
    loaded = WordCorpus.load(path)
    assert loaded.types == corpus.types
    assert loaded.tokens.tolist() == corpus.tokens.tolist()
    assert loaded.line_offsets.tolist() == corpus.line_offsets.tolist()


def test_equal_corpora_are_equal_bytes(tmp_path):
    for name in ("one", "two"):
        WordCorpus.from_lines(["a b", "ç"], Normalizer()).save(tmp_path / f"{name}.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_another_npz_is_no_word_corpus(tmp_path):
    np.savez(tmp_path / "words.npz", tokens=np.zeros(1))
    with pytest.raises(UserError, match="is not a word corpus"):
        WordCorpus.load(tmp_path / "words.npz")


def test_a_sample_keeps_whole_lines_in_their_order():
    lines = [f"line{number} of text{number % 3}" for number in range(40)]
    corpus = WordCorpus.from_lines(lines, Normalizer())
    sample = corpus.sample(7, seed=2)
    texts = [
        " ".join(sample.types[number].removeprefix("▁") for number in sample.tokens[a:b])
        for a, b in zip(sample.line_offsets[:-1], sample.line_offsets[1:], strict=True)
    ]
    assert len(texts) == 7
    assert texts == [line for line in lines if line in texts]
    assert sample.counts.sum() == len(sample.tokens)
    assert corpus.sample(7, seed=2).tokens.tobytes() == sample.tokens.tobytes()
    assert corpus.sample(7, seed=3).tokens.tobytes() != sample.tokens.tobytes()
    assert corpus.sample(40, seed=2) is corpus


def test_a_sample_of_words_has_whole_lines_and_its_own_types():
    lines = [f"word{n} of line {n}" for n in range(50)]
    corpus = WordCorpus.from_lines(lines, Normalizer("nmt_nfkc"))
    drawn = corpus.sample_words(42, seed=3)
    assert (drawn.n_lines, len(drawn.tokens)) == (10, 40)
    spelled = [
        " ".join(drawn.types[t].removeprefix("▁") for t in drawn.tokens[a:z])
        for a, z in itertools.pairwise(drawn.line_offsets.tolist())
    ]
    assert set(spelled) <= set(lines)
    assert len(drawn.types) == len(set(drawn.tokens.tolist())) < len(corpus.types)
    assert drawn.tokens.tolist() == corpus.sample_words(42, seed=3).tokens.tolist()


def test_shuffled_words_keep_their_counts_and_the_lengths_of_lines():
    corpus = WordCorpus.from_lines(["a b c d e", "f", "g h i", "a b j k l m"], Normalizer())
    shuffled = corpus.shuffled(1)
    assert shuffled.types == corpus.types
    assert shuffled.line_offsets.tolist() == corpus.line_offsets.tolist()
    assert sorted(shuffled.tokens) == sorted(corpus.tokens)
    assert shuffled.tokens.tolist() != corpus.tokens.tolist()
    assert shuffled.digest() == corpus.shuffled(1).digest() != corpus.shuffled(2).digest()
