from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lm_samples import PIECES, make_vocabulary
from reproduction.lm.encoder import IGNORED, load_encoder
from reproduction.lm.tasks import (
    TRUNCATED,
    Task,
    encode_texts,
    encode_words,
    gold_of,
    most_frequent,
)

CLASSES = Task("sst2", "sequence", "accuracy", (0, 1))
VALUES = Task("stsb", "sequence", "pearson")
TAGS = Task("ner", "tokens", "span_f1")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(make_vocabulary(tmp_path_factory.mktemp("vocabulary")))


def pieces_of(ids) -> list[str]:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES]
    return [names[token] for token in ids]


def words_frame(*sentences: list[str], tags: list[list[str]] | None = None) -> pd.DataFrame:
    tags = tags or [["O"] * len(words) for words in sentences]
    return pd.DataFrame({"tokens": list(sentences), "tags": tags})


def test_a_text_stands_between_special_tokens(encoder):
    rows = pd.DataFrame({"text": ["a dog", ""]})
    examples = encode_texts(rows, np.array([1, 0]), encoder, 16)
    assert pieces_of(examples.ids[0]) == ["[CLS]", "▁a", "▁dog", "[SEP]"]
    assert pieces_of(examples.ids[1]) == ["[CLS]", "[SEP]"]
    assert examples.segments[0].tolist() == [0, 0, 0, 0]
    assert examples.targets == [1, 0]
    assert examples.truncated == 0


def test_the_second_text_is_a_segment_of_its_own(encoder):
    rows = pd.DataFrame({"text": ["a dog"], "text_pair": ["the cat a"]})
    examples = encode_texts(rows, np.array([0]), encoder, 16)
    expected = ["[CLS]", "▁a", "▁dog", "[SEP]", "▁the", "▁cat", "▁a", "[SEP]"]
    assert pieces_of(examples.ids[0]) == expected
    assert examples.segments[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_long_texts_are_cut_and_counted(encoder):
    rows = pd.DataFrame({"text": ["a a a a a a a a a", "a a a"], "text_pair": ["the the", "a"]})
    examples = encode_texts(rows, np.array([0, 0]), encoder, 9)
    expected = ["[CLS]", "▁a", "▁a", "▁a", "▁a", "[SEP]", "▁the", "▁the", "[SEP]"]
    assert pieces_of(examples.ids[0]) == expected
    assert examples.truncated == 1
    single = encode_texts(rows[["text"]], np.array([0, 0]), encoder, 5)
    assert [len(ids) for ids in single.ids] == [5, 5]
    assert single.truncated == 1


def test_batches_are_padded_to_their_longest(encoder):
    rows = pd.DataFrame({"text": ["a", "a dog sees"], "text_pair": ["a", "the cat"]})
    examples = encode_texts(rows, np.array([1, 0]), encoder, 16)
    batch = examples.padded([1, 0], encoder.pad)
    lengths = [len(examples.ids[1]), len(examples.ids[0])]
    assert batch["ids"].shape == (2, lengths[0])
    assert batch["present"].sum(axis=1).tolist() == lengths
    assert (batch["ids"][~batch["present"]] == encoder.pad).all()
    assert (batch["ids"][0] == examples.ids[1]).all()
    assert batch["targets"].tolist() == [0, 1]


def test_a_words_first_token_carries_its_tag(encoder):
    rows = words_frame(["the", "xyz", "dog"], tags=[["O", "B-PER", "I-PER"]])
    examples = encode_words(rows, ["O", "B-PER", "I-PER"], encoder, 16)
    expected = ["[CLS]", "▁the", "▁", "x", "y", "z", "▁dog", "[SEP]"]
    assert pieces_of(examples.ids[0]) == expected
    assert examples.words[0].tolist() == [1, 2, 6]
    no = IGNORED
    assert examples.targets[0].tolist() == [no, 0, 1, no, no, no, 2, no]


def test_words_that_spell_special_tokens_are_text(encoder):
    examples = encode_words(words_frame(["[SEP]", "[MASK]"]), ["O"], encoder, 30)
    ids = examples.ids[0].tolist()
    assert ids.count(encoder.sep) == 1
    assert encoder.mask not in ids


def test_words_behind_the_end_are_truncated(encoder):
    examples = encode_words(words_frame(["the", "xyz", "dog", "dog"], ["a"]), ["O"], encoder, 5)
    assert pieces_of(examples.ids[0]) == ["[CLS]", "▁the", "▁", "x", "[SEP]"]
    assert examples.words[0].tolist() == [1, 2, TRUNCATED, TRUNCATED]
    assert examples.targets[0].tolist() == [IGNORED, 0, 0, IGNORED, IGNORED]
    assert examples.truncated == 1


def test_a_tag_that_training_never_saw_is_no_target(encoder):
    rows = words_frame(["a", "dog"], tags=[["O", "B-MISC"]])
    assert (encode_words(rows, ["O", "B-PER"], encoder, 8).targets[0] == IGNORED).sum() == 3


def test_the_most_frequent_answer():
    assert most_frequent(np.array([0, 2, 2]), range(3), CLASSES).tolist() == [2, 2, 2]
    assert most_frequent(np.array([1.0, 4.0]), range(2), VALUES).tolist() == [2.5, 2.5]
    assert most_frequent([["O", "O"], ["B-PER"]], [1, 2], TAGS) == [["O"], ["O", "O"]]


def test_gold_keeps_its_form():
    assert gold_of(pd.DataFrame({"label": [1, 0]}), CLASSES).dtype == np.int64
    assert gold_of(pd.DataFrame({"label": [1, 0.5]}), VALUES).dtype == np.float32
    assert gold_of(words_frame(["a"]), TAGS) == [["O"]]
