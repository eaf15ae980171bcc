from __future__ import annotations

import itertools

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from sagevocab.corpus import reading
from sagevocab.corpus.words import (
    NORMALIZATIONS,
    Normalizer,
    WordCorpus,
    hub_normalizer,
    split_words,
)


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


def test_long_words_are_cut_and_only_the_first_part_is_a_word_start():
    # 4 characters with the word start: ▁abc, then defg, then h.
    assert split_words("abcdefgh i", max_word_chars=4) == ["▁abc", "defg", "h", "▁i"]
    assert split_words("abc", max_word_chars=4) == ["▁abc"]


# --- reading: line by line is the oracle

ODD = [
    *("a", "b", "B", "é", "e\u0301", "\u0300", "\u0301", "\u0340", "\u0344", "\u0600", "क", "़"),
    *(" ", " ", " ", "  ", "\t", "\r", "\n", "\x0b", "\x1c", "\x85", "\xa0", "\u1680", "\u2003"),
    *("\u2028", "\u2029", "\u3000", "\ufeff", "\u200b", "\u200d", "▁", "▅", "\u1fee", "\xb4"),
    *("👩\u200d👩\u200d👧", "🇹🇷", "🇹", "ß", "İ", "ﬁ", "가", "中", "１", "…", "x" * 300),
    *("\x00", "\x01", "\U000110bd"),
]


def line_by_line(lines: list[str], rule: str, max_word_chars: int) -> WordCorpus:
    normalizer = Normalizer(rule)
    return WordCorpus.from_words(split_words(normalizer(line), max_word_chars) for line in lines)


def check_equal(lines: list[str], rule: str, max_word_chars: int = 256) -> None:
    corpus = WordCorpus.from_lines(iter(lines), Normalizer(rule), max_word_chars)
    known = line_by_line(lines, rule, max_word_chars)
    assert corpus.types == known.types
    assert corpus.tokens.tobytes() == known.tokens.tobytes()
    assert corpus.line_offsets.tobytes() == known.line_offsets.tobytes()


@settings(max_examples=120)
@given(
    st.lists(st.lists(st.sampled_from(ODD), max_size=10).map("".join), max_size=5),
    st.sampled_from(NORMALIZATIONS),
    st.sampled_from([3, 256]),
)
def test_a_text_read_at_once_has_the_words_of_its_lines(lines, rule, max_word_chars):
    check_equal(lines, rule, max_word_chars)


@pytest.mark.parametrize("rule", NORMALIZATIONS)
def test_marks_and_white_space_at_the_ends_of_lines(rule):
    """U+0340 is mapped; U+0301 gets lost where both are a cluster without a space before them."""
    check_equal(["a \u0340\u0301", "\u0340\u0301", "a\u0600 \u0340\u0301 "], rule)
    check_equal(["a\x85 b\x85", "\t \x85 a\t \t", "\x85", " \u2028a\u2028 ", "a b"], rule)


def test_words_that_were_cut_are_counted_whole():
    lines = ["abcdefgh ab abc", "abc abcdefgh", "x abcdefghi"]
    corpus = WordCorpus.from_lines(lines, Normalizer(), max_word_chars=4)
    counts = {"abcdefgh": 2, "ab": 1, "abc": 2, "x": 1, "abcdefghi": 1}
    assert corpus.word_counts() == counts
    assert list(corpus.lines()) == lines
    assert WordCorpus.from_lines([], Normalizer()).word_counts() == {}


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity"])
def test_a_long_text_has_the_words_of_its_lines(rule):
    """Longer than a block, with words and parts that come again in later blocks."""
    words = [f"{number % 7}ó{number:x}" for number in range(40_000)]
    words += ["中" * 3000, "\u0301e", "\t"]
    lines = [" ".join(words[k : k + 9]) for k in range(0, len(words), 5)] * 3
    assert sum(len(line.encode()) for line in lines) > 1.5 * reading._BLOCK
    check_equal(lines, rule)


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nmt_nfkc_cf"])
def test_no_character_is_mapped_together_with_a_space(rule):
    """Which is why parts of a line can be mapped alone.

    A line end stands alone, whatever is beside it; a space could be part of a cluster.
    """
    codes = (*range(0x0A), 0x0B, 0x0C, *range(0x0E, 0xD800), *range(0xE000, 0x110000))
    characters = hub_normalizer(rule)
    with_spaces = characters.normalize_str(" ".join(map(chr, codes)))
    assert with_spaces == characters.normalize_str("\n".join(map(chr, codes))).replace("\n", " ")


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
