"""Baseline vocabularies: exact sizes, same bytes, mistakes reported in one line."""

from __future__ import annotations

import io

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.huggingface.sentencepiece import pieces_of_model
from sagevocab.initial.sentencepiece_models import (
    RESERVED_CHARACTER,
    TrainingSettings,
    train_bpe,
    train_unigram,
)
from sagevocab.pieces import WORD_START
from vocabulary_samples import english

DEFAULTS = TrainingSettings(ascii=False)
KEY = "vocabulary.initial_size"
TRAINERS = [train_bpe, train_unigram]
LINES = english()[:480]


def train(trainer, lines, size, settings=DEFAULTS):
    """Train on lines and return the model."""
    corpus = WordCorpus.from_lines(lines, Normalizer(settings.normalization))
    return trainer(corpus, size, settings, KEY)


def test_first_merge_by_hand():
    """In `ababab`, written twice, `ab` is next to each other 6 times, `ba` 4 times, `▁a` twice."""
    pieces = pieces_of_model(train(train_bpe, ["ababab", "ababab"], 6))
    assert pieces[0] == "ab"
    assert set(pieces) >= {"a", "b", WORD_START}


def characters_of(model) -> set[str]:
    return {piece for piece in pieces_of_model(model) if len(piece) == 1}


def test_settings_reach_sentencepiece():
    lines = [*LINES[:40], "ÀÉ"]
    short = TrainingSettings(ascii=False, max_piece_length=3)
    assert max(map(len, pieces_of_model(train(train_bpe, lines, 150, short)))) == 3
    rare = characters_of(
        train(train_bpe, lines, 150, TrainingSettings(ascii=False, character_coverage=0.98))
    )
    every = characters_of(
        train(train_bpe, lines, 150, TrainingSettings(ascii=False, character_coverage=1.0))
    )
    assert rare < every
    assert {"À", "É"} <= every - rare
    folding = TrainingSettings(ascii=False, character_coverage=1.0, normalization="nmt_nfkc_cf")
    folded = characters_of(train(train_bpe, lines, 150, folding))
    assert {"à", "é"} <= folded
    assert folded == {character.lower() for character in folded}


# --- words instead of lines


def of_lines(lines: list[str], method: str, size: int, settings: TrainingSettings):
    """Return the model that sentencepiece trains on the lines themselves, as the oracle."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=method,
        vocab_size=size + 3,
        character_coverage=settings.character_coverage,
        normalization_rule_name=settings.normalization,
        max_sentence_length=100_000,
        minloglevel=2,
    )
    return sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())


LONG = ["".join(LINES[:160]).replace(" ", "")[:9000]]  # a word that is cut into 36
RULES = [("nmt_nfkc", 300), ("nfkc_cf", 300), ("identity", 320)]


@pytest.mark.parametrize(("rule", "size"), RULES)
@pytest.mark.parametrize("method", ["bpe", "unigram"])
def test_the_model_of_the_words_is_that_of_the_lines(method, rule, size):
    tabs = [line.replace(" ", "\t", 7) for line in LINES[:240]]
    lines = [*LINES, "Ⅷ ｆｕｌｌ ﬁne É", *tabs, *LONG]
    settings = TrainingSettings(ascii=False, character_coverage=1.0, normalization=rule)
    trainer = {"bpe": train_bpe, "unigram": train_unigram}[method]
    model, known = train(trainer, lines, size, settings), of_lines(lines, method, size, settings)
    assert model.pieces == known.pieces
    assert model.normalizer_spec == known.normalizer_spec
    tab_pieces = [piece for piece in pieces_of_model(model) if "\t" in piece]
    assert bool(tab_pieces) == (rule != "nmt_nfkc")


# --- mistakes


@pytest.mark.parametrize("trainer", TRAINERS)
def test_too_large_a_size_names_the_largest(trainer):
    with pytest.raises(UserError, match=rf"{KEY}.* pieces, (\d+) at most") as caught:
        train(trainer, LINES[:24], 100_000)
    assert "\n" not in str(caught.value)
    largest = int(str(caught.value).split(" pieces, ")[1].split()[0])
    assert len(pieces_of_model(train(trainer, LINES[:24], largest))) == largest


@pytest.mark.parametrize("trainer", TRAINERS)
def test_too_small_a_size_names_the_characters(trainer):
    with pytest.raises(UserError, match=rf"{KEY}: 10 pieces.*which take (\d+)") as caught:
        train(trainer, LINES[:24], 10)
    least = int(str(caught.value).split("which take ")[1].split(";")[0])
    assert "vocabulary.character_coverage" in str(caught.value)
    assert len(pieces_of_model(train(trainer, LINES[:24], least + 1))) == least + 1


@pytest.mark.parametrize("trainer", TRAINERS)
def test_many_reserved_words_are_an_error(trainer):
    lines = LINES[:16] + [f"bar{RESERVED_CHARACTER}"] * 9
    total = len(" ".join(lines).split())
    with pytest.raises(UserError, match=rf"9 of the {total} words hold {RESERVED_CHARACTER}"):
        train(trainer, lines, 150)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_few_reserved_words_are_left_out_and_counted(trainer, caplog):
    lines = ["the cat sat on the mat"] * 200
    model = train(trainer, [*lines, f"the z{RESERVED_CHARACTER}z cat"], 12)
    assert "1 of 1203 words hold U+2585" in caplog.text
    assert pieces_of_model(model) == pieces_of_model(train(trainer, [*lines, "the cat"], 12))
