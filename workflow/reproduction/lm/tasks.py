"""Evaluation tasks: prepared rows become ids, targets and, for tagging, the place of every word.

A text becomes `[CLS] text [SEP]`, a pair `[CLS] text [SEP] text_pair [SEP]` with segment 1 from
the second text on. Longer inputs are truncated, of a pair the longer text first.

For tagging, each word is encoded alone, as the start of a line would be: its first token carries
the word's tag, its other tokens none. Words behind the longest input have no token and count as
"O", as do those that leave none (white space, control characters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from datasets import Dataset
from tokenizers import Encoding
from transformers import (
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
)

from reproduction.analysis.metrics import class_scores, fitting_metrics, span_scores, value_scores
from reproduction.lm.tokenizer import IGNORED
from sagevocab.errors import UserError

OUTSIDE = "O"
TRUNCATED = -1


@dataclass(frozen=True)
class Task:
    """A task as `task_settings` describes it.

    Attributes:
        name: key of the stanza.
        kind: "sequence" (one text or two, a class or a number) or "tokens" (a tag per word).
        metric: the one that tables show.
        labels: classes by number; None for a regression. For tagging they come from the data.
    """

    name: str
    kind: str
    metric: str
    labels: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a metric that doesn't fit the kind of task."""
        fitting = fitting_metrics(self.kind, self.labels)
        if self.metric not in fitting:
            raise UserError(
                f"task_settings.{self.name}.metric: {self.metric} does not fit this task; choose "
                f"one of {', '.join(fitting)}, or check its kind and labels"
            )

    @property
    def is_tagging(self) -> bool:
        """Whether the task is to predict a tag for each word."""
        return self.kind == "tokens"

    @property
    def is_regression(self) -> bool:
        """Whether the task is to predict a number."""
        return self.kind == "sequence" and self.labels is None

    def scores(self, gold: Any, predicted: Any) -> dict[str, float]:
        """Return all metrics that fit the task, for answers in the form that `gold_of` has."""
        if self.is_tagging:
            return span_scores(gold, predicted)
        if self.is_regression:
            return value_scores(gold, predicted)
        return class_scores(gold, predicted, len(self.labels))


@dataclass(frozen=True)
class Examples:
    """A split of a task, encoded.

    Attributes:
        rows: as `encode` was given them.
        gold: what is right in each, see `gold_of`.
        features: of each example what the model reads (input_ids, token_type_ids, attention_mask)
            and labels: a class number or a value; for tagging a number for each id, IGNORED where
            no word starts.
        words: for tagging, where each word's first token stands, or TRUNCATED.
        truncated: number of examples that were cut.
        collate: pads features to the longest and makes tensors of them.
    """

    rows: pd.DataFrame
    gold: Any
    features: Dataset
    words: list[np.ndarray]
    truncated: int
    collate: Callable[[list[dict[str, Any]]], Mapping[str, torch.Tensor]]

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.features)

    def batch(self, chosen: Iterable[int]) -> dict[str, torch.Tensor]:
        """Return `chosen` examples as tensors [examples, longest]; labels may be [examples]."""
        return dict(self.collate([self.features[int(example)] for example in chosen]))

    def by_length(self) -> np.ndarray:
        """Return the numbers of the examples, the shortest first: int64[examples]."""
        return np.argsort([len(ids) for ids in self.features["input_ids"]], kind="stable")


def tag_names(rows: pd.DataFrame) -> list[str]:
    """Return the tags of a training split by number, "O" first."""
    seen = {tag for tags in rows["tags"] for tag in tags}
    return [OUTSIDE, *sorted(seen - {OUTSIDE})]


def encode(
    rows: pd.DataFrame,
    task: Task,
    tags: Sequence[str],
    tokenizer: PreTrainedTokenizerFast,
    longest: int,
) -> Examples:
    """Encode the rows of a split.

    Args:
        rows: with `text`, perhaps `text_pair`; for tagging with `tokens`.
        task: the task.
        tags: the known ones by number. Others (a validation split may have one that training never
            saw) are left out of the labels.
        tokenizer: of the model.
        longest: most tokens of an example, special tokens included.
    """
    gold = gold_of(rows, task)
    how = {"truncation": True, "max_length": longest, "split_special_tokens": True}
    if task.is_tagging:
        texts = [[list(words) for words in rows["tokens"]]]
        encoded = tokenizer(*texts, is_split_into_words=True, **how)
        words = [_starts(one, len(own)) for one, own in zip(encoded.encodings, gold, strict=True)]
        labels = _labels_of_tokens(encoded["input_ids"], words, gold, tags)
        collate = DataCollatorForTokenClassification(tokenizer)
    else:
        texts = [rows[name].tolist() for name in ("text", "text_pair") if name in rows]
        encoded = tokenizer(*texts, **how)
        words, labels, collate = [], gold.tolist(), DataCollatorWithPadding(tokenizer)
    return Examples(
        rows=rows,
        gold=gold,
        features=Dataset.from_dict({**encoded, "labels": labels}),
        words=words,
        truncated=sum(bool(one.overflowing) for one in encoded.encodings),
        collate=collate,
    )


def _starts(encoding: Encoding, words: int) -> np.ndarray:
    """Return where each of a sentence's words starts, or TRUNCATED."""
    spans = map(encoding.word_to_tokens, range(words))
    return np.array([TRUNCATED if span is None else span[0] for span in spans], dtype=np.int64)


def _labels_of_tokens(
    ids: Sequence[Sequence[int]],
    words: Sequence[np.ndarray],
    gold: Sequence[Sequence[str]],
    tags: Sequence[str],
) -> list[list[int]]:
    """Return the numbers of the tags at the first token of each word, IGNORED elsewhere."""
    numbers = {tag: number for number, tag in enumerate(tags)}
    labels = [[IGNORED] * len(row) for row in ids]
    for row, starts, own in zip(labels, words, gold, strict=True):
        for place, tag in zip(starts, own, strict=True):
            if place != TRUNCATED:
                row[place] = numbers.get(tag, IGNORED)
    return labels


def gold_of(rows: pd.DataFrame, task: Task) -> Any:
    """Return what is right in each row: class numbers, values, or lists of tags."""
    if task.is_tagging:
        return [list(tags) for tags in rows["tags"]]
    return rows["label"].to_numpy(np.float32 if task.is_regression else np.int64)


def most_frequent(gold: Any, rows: int | Sequence[int], task: Task) -> Any:
    """Return predictions that ignore the input: the most frequent class or tag, the mean value.

    Args:
        gold: of the training split, as `gold_of` has it.
        rows: the words of each row to predict for; for other tasks only their number counts.
        task: the task.
    """
    if task.is_tagging:
        tags, counts = np.unique([tag for row in gold for tag in row], return_counts=True)
        return [[str(tags[counts.argmax()])] * words for words in rows]
    if task.is_regression:
        return np.full(len(rows), gold.mean(), dtype=np.float32)
    return np.full(len(rows), np.bincount(gold).argmax(), dtype=np.int64)
