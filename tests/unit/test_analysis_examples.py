"""Example sentences: the paper's own two tables as worked examples, and the searches' rules."""

from __future__ import annotations

import pytest

from reproduction.analysis import examples
from sagevocab.corpus.words import split_words
from sagevocab.segmentation.segmenter import GreedySegmenter

RULE = examples.WordRule()


def tokens(text: str) -> list[str]:
    return text.split()


LETTERS = list("▁.,abcdefghijklmnopqrstuvwxyzASTRHDM")

# Paper, Table 2.
FRAGMENT = "use of an include directive is when referring to"
FRAGMENT_PIECES = [
    *LETTERS,
    *tokens("▁use ▁of ▁an ▁includ ▁inc de ▁direct ive ▁is ▁when ▁ref er ing ▁to"),
]
# Paper, Table 1: with these pieces BPE has `og` and SaGe has not.
SENTENCES = [
    "This gene is a pseudogene in humans and most other primates.",
    "The Stooges work for Miracle Detective Agency, they say.",
    "He has some dialogues and songs for some films.",
]
COMMON = tokens("▁This ▁gene ▁is ▁a ▁in ▁humans ▁and ▁most ▁other ▁The ▁work ▁for ▁songs ▁some")
BPE_PIECES = [*LETTERS, *COMMON, *tokens("▁pseud og ene ▁St ▁dial ues es")]
SAGE_PIECES = [*LETTERS, *COMMON, *tokens("▁pseud ogene ▁St ▁dial ogues es")]


@pytest.fixture
def bpe() -> GreedySegmenter:
    return GreedySegmenter(BPE_PIECES)


@pytest.fixture
def sage() -> GreedySegmenter:
    return GreedySegmenter(SAGE_PIECES)


def without_includ(window: int) -> examples.Retokenization | None:
    without = GreedySegmenter([piece for piece in FRAGMENT_PIECES if piece != "▁includ"])
    segmenters = GreedySegmenter(FRAGMENT_PIECES), without
    words = split_words(FRAGMENT)
    return examples.compare_ablation(FRAGMENT, words, *segmenters, "▁includ", window)


def test_the_papers_retokenization():
    found = without_includ(window=2)
    before, after = found.before.tokens, found.after.tokens
    assert list(before) == tokens("▁use ▁of ▁an ▁includ e ▁direct ive ▁is ▁when ▁ref er r ing ▁to")
    assert list(after) == tokens("▁use ▁of ▁an ▁inc l u de ▁direct ive ▁is ▁when ▁ref er r ing ▁to")
    assert found.target == "ive"
    assert list(before[slice(*found.window_before)]) == tokens("e ▁direct ive ▁is ▁when")
    assert list(after[slice(*found.window_after)]) == tokens("de ▁direct ive ▁is ▁when")
    assert found.before.marked_tokens() == ["▁includ", "e"]
    assert found.after.marked_tokens() == ["▁inc", "l", "u", "de"]


def test_an_ablation_that_leaves_the_end_of_the_word_alone_is_no_example():
    pieces = [*FRAGMENT_PIECES, "▁cons", "ider"]
    words = split_words("they may consider it of use")
    without = GreedySegmenter([piece for piece in pieces if piece != "▁cons"])
    found = examples.compare_ablation(
        "", words, GreedySegmenter(pieces), without, "▁cons", window=1
    )
    assert found is None


def test_a_piece_inside_the_window_is_no_example():
    found = without_includ(window=3)
    assert found is not None
    assert "▁includ" not in found.before.tokens[slice(*found.window_before)]
    assert found.target == "▁is"


def test_find_retokenization_takes_the_shortest_sentence_with_one():
    short = "The use of an include directive is when used."
    lines = [
        "Nothing in here is of any use to us.",
        f"The {FRAGMENT} them.",
        "use of an include directive is when.",
        short,
        "too short include is.",
    ]
    found = examples.find_retokenization(lines, RULE, FRAGMENT_PIECES, ["▁of", "▁includ"])
    assert found.sentence == short
    assert found.piece == "▁includ"
    assert found.window_before[1] - found.window_before[0] == 5


def test_the_papers_sentences_mark_the_words_of_the_piece(bpe, sage):
    example = examples.segment_sentence(SENTENCES[0], RULE, bpe, sage, "og")
    assert example.bpe.marked_tokens() == ["▁pseud", "og", "ene"]
    assert example.sage.marked_tokens() == ["▁pseud", "ogene"]
    assert "".join(example.bpe.tokens) == "".join(example.sage.tokens)


def test_find_examples_takes_one_sentence_per_context(bpe, sage):
    longer = "This is a pseudogene in most humans and most other songs in primates."
    found = examples.find_examples([longer, *SENTENCES], RULE, bpe, sage, count=3)
    assert {example.piece for example in found} == {"og"}
    assert sorted(example.sentence for example in found) == sorted(SENTENCES)
    # The context of the pseudogene was met twice, so it comes first.
    assert found[0].sentence == SENTENCES[0]


@pytest.mark.parametrize(
    "line",
    [
        "this gene is a pseudogene in humans.",  # begins in the middle
        "This gene is a pseudogene in 3 humans.",
        "This gene is a pseudogene (in humans).",
        "This gene is a pseudogene in σ humans.",  # a second script
        "This gene is a pseudogene in húmans.",  # a letter that the vocabulary lacks
        "This gene is a pseudogene in humans",
        "A pseudogene.",
        "The " + "very " * 30 + "pseudogene.",
    ],
)
def test_sentences_that_do_not_read_plainly_are_passed_over(bpe, sage, line):
    assert examples.find_examples([line], RULE, bpe, sage) == []
    plain = "This gene is a pseudogene in humans."
    assert examples.find_examples([line, plain], RULE, bpe, sage)[0].sentence == plain
