"""The constructed tasks: columns, balance, splits, and that their labels can be predicted."""

from __future__ import annotations

import pytest

from reproduction.data.construct import TASKS, construct, shipped_sentences
from reproduction.data.datasets import tags_to_iob2
from sagevocab.errors import UserError

PAIRS = ["mrpc", "qqp", "qnli", "mnli", "xnli_tr", "stsb"]
COUNTS = {"sst2": (140, 45)}


@pytest.mark.parametrize("task", TASKS)
def test_rows_are_their_seed_and_splits_share_no_sentence(task) -> None:
    train_count, validation_count = COUNTS.get(task, (200, 80))
    train = construct(task, "train", train_count, 1)
    validation = construct(task, "validation", validation_count, 2)
    assert (len(train), len(validation)) == (train_count, validation_count)
    assert train.equals(construct(task, "train", train_count, 1))
    assert not train.equals(construct(task, "train", train_count, 2))
    first = [str(value) for value in train.iloc[:, 0]]
    assert not set(first) & {str(value) for value in validation.iloc[:, 0]}
    assert len(set(first)) == train_count


@pytest.mark.parametrize("task", sorted({*TASKS} - {"stsb", "ner_en", "ner_tr"}))
def test_classes_are_balanced(task) -> None:
    counts = construct(task, "train", COUNTS.get(task, (200, 0))[0], 1)["label"].value_counts()
    assert len(counts) == (3 if "nli" in task and task != "qnli" else 2)
    assert counts.min() >= 0.8 * counts.max()


@pytest.mark.parametrize("task", PAIRS)
def test_the_label_of_a_pair_is_how_many_words_it_shares(task) -> None:
    rows = construct(task, "train", 300, 1)
    first, second = rows.columns[:2]
    shared = [
        len(set(a.split()) & set(b.split())) / len(set(b.split()))
        for a, b in zip(rows[first], rows[second], strict=True)
    ]
    sign = 1 if task in ("mrpc", "qqp", "stsb") else -1
    assert rows["label"].corr(rows.assign(shared=shared)["shared"]) * sign > 0.9


def test_a_shuffled_sentence_has_the_words_of_a_real_one() -> None:
    rows = construct("cola", "train", 100, 1)
    sentences = set(shipped_sentences("en"))
    bags = {tuple(sorted(sentence.split())) for sentence in sentences}
    for text, label in zip(rows["sentence"], rows["label"], strict=True):
        assert (text in sentences) == bool(label)
        assert tuple(sorted(text.split())) in bags


@pytest.mark.parametrize("task", ["ner_en", "ner_tr"])
def test_names_are_iob2_and_not_the_first_word_for_its_capital(task) -> None:
    rows = construct(task, "train", 300, 1)
    tags = rows["ner_tags"].tolist()
    assert tags_to_iob2(tags) == tags
    assert all(map(lambda a, b: len(a) == len(b), rows["tokens"], tags))
    named = sum(tag != "O" for row in tags for tag in row) / sum(map(len, tags))
    assert 0.05 < named < 0.3
    if task == "ner_en":
        assert {row[0] for row in tags} == {"O"}


def test_more_rows_than_sentences_are_refused() -> None:
    with pytest.raises(UserError, match=r"^config key k\.rows: .*155"):
        construct("sst2", "train", 500, 1, key="k")
