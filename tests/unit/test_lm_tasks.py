from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from transformers import AutoTokenizer

from lm_samples import PIECES, make_vocabulary
from reproduction.lm.tasks import Examples, Task, encode, most_frequent
from reproduction.lm.tokenizer import IGNORED

CLASSES = Task("sst2", "sequence", "accuracy", (0, 1))
VALUES = Task("stsb", "sequence", "pearson")
TAGS = Task("ner", "tokens", "span_f1")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return AutoTokenizer.from_pretrained(make_vocabulary(tmp_path_factory.mktemp("vocabulary")))


def encode_texts(rows: pd.DataFrame, labels: list[int], tokenizer, longest: int) -> Examples:
    return encode(rows.assign(label=labels), CLASSES, [], tokenizer, longest)


def encode_words(rows: pd.DataFrame, tags: list[str], tokenizer, longest: int) -> Examples:
    return encode(rows, TAGS, tags, tokenizer, longest)


def of(examples: Examples, name: str) -> list:
    return [features[name] for features in examples.features]


def pieces_of(ids) -> list[str]:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES]
    return [names[token] for token in ids]


def words_frame(*sentences: list[str], tags: list[list[str]] | None = None) -> pd.DataFrame:
    tags = tags or [["O"] * len(words) for words in sentences]
    return pd.DataFrame({"tokens": list(sentences), "tags": tags})


def test_long_texts_are_cut_and_counted(tokenizer):
    rows = pd.DataFrame({"text": ["a a a a a a a a a", "a a a"], "text_pair": ["the the", "a"]})
    examples = encode_texts(rows, [0, 0], tokenizer, 9)
    expected = ["[CLS]", "▁a", "▁a", "▁a", "▁a", "[SEP]", "▁the", "▁the", "[SEP]"]
    assert pieces_of(of(examples, "input_ids")[0]) == expected
    assert examples.truncated == 1
    single = encode_texts(rows[["text"]], [0, 0], tokenizer, 5)
    assert [len(ids) for ids in of(single, "input_ids")] == [5, 5]
    assert single.truncated == 1


def test_words_that_spell_special_tokens_are_text(tokenizer):
    examples = encode_words(words_frame(["[SEP]", "[MASK]"]), ["O"], tokenizer, 30)
    ids = of(examples, "input_ids")[0]
    assert ids.count(tokenizer.sep_token_id) == 1
    assert tokenizer.mask_token_id not in ids


def test_a_tag_that_training_never_saw_is_no_target(tokenizer):
    rows = words_frame(["a", "dog"], tags=[["O", "B-MISC"]])
    examples = encode_words(rows, ["O", "B-PER"], tokenizer, 8)
    assert of(examples, "labels")[0].count(IGNORED) == 3


def test_the_most_frequent_answer():
    assert most_frequent(np.array([0, 2, 2]), range(3), CLASSES).tolist() == [2, 2, 2]
    assert most_frequent(np.array([1.0, 4.0]), range(2), VALUES).tolist() == [2.5, 2.5]
    assert most_frequent([["O", "O"], ["B-PER"]], [1, 2], TAGS) == [["O"], ["O", "O"]]
