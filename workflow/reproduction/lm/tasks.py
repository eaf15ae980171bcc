"""Evaluation tasks: prepared rows become ids, targets and, for tagging, the place of every word.

A text becomes `[CLS] text [SEP]`, a pair `[CLS] text [SEP] text_pair [SEP]` with segment 1 from
the second text on. Longer inputs are truncated, of a pair the longer text first.

For tagging, each word is encoded alone, as the start of a line would be: its first token carries
the word's tag, its other tokens none. A word that leaves no token (white space, control characters)
becomes one [UNK], so that every word has a tag to predict; words behind the longest input have no
token and count as "O".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reproduction.lm.encoder import IGNORED, TextEncoder
from reproduction.lm.metrics import class_scores, fitting_metrics, span_scores, value_scores
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


@dataclass
class Examples:
    """A split of a task, encoded.

    Attributes:
        ids: of each example, special tokens included.
        segments: 0 or 1 for each id.
        targets: a class number or a value; for tagging one number for each id, IGNORED where no
            word starts.
        words: for tagging, where each word's first token stands, or TRUNCATED.
        truncated: number of examples that were cut.
    """

    ids: list[np.ndarray] = field(default_factory=list)
    segments: list[np.ndarray] = field(default_factory=list)
    targets: list[np.ndarray] = field(default_factory=list)
    words: list[np.ndarray] = field(default_factory=list)
    truncated: int = 0

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.ids)

    def padded(self, chosen: Iterable[int], pad: int) -> dict[str, Any]:
        """Return `chosen` examples as arrays [examples, longest]: ids, segments, present, targets.

        Targets are [examples] unless the task is tagging. Where nothing is padded, `present` is
        None: without a mask GPUs have a faster attention.
        """
        chosen = list(chosen)
        ids = [self.ids[row] for row in chosen]
        targets = [self.targets[row] for row in chosen]
        present = _pad([np.ones(len(row), dtype=bool) for row in ids], False)
        return {
            "ids": _pad(ids, pad),
            "segments": _pad([self.segments[row] for row in chosen], 0),
            "present": None if present.all() else present,
            "targets": _pad(targets, IGNORED) if targets[0].ndim else np.stack(targets),
        }


def _pad(rows: Sequence[np.ndarray], filling: int) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows))), filling, dtype=rows[0].dtype)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


def tag_names(rows: pd.DataFrame) -> list[str]:
    """Return the tags of a training split by number, "O" first."""
    seen = {tag for tags in rows["tags"] for tag in tags}
    return [OUTSIDE, *sorted(seen - {OUTSIDE})]


def encode_texts(
    rows: pd.DataFrame, targets: np.ndarray, encoder: TextEncoder, longest: int
) -> Examples:
    """Encode texts or pairs of texts, at most `longest` tokens each, special tokens included."""
    first = encoder.encode(rows["text"].tolist())
    second = encoder.encode(rows["text_pair"].tolist()) if "text_pair" in rows else None
    examples = Examples()
    for row, target in enumerate(targets):
        a, b = first[row], second[row] if second else None
        parts, cut = _joined(a, b, encoder, longest)
        examples.truncated += cut
        examples.ids.append(np.concatenate(parts))
        examples.segments.append(np.repeat(np.arange(len(parts)), [len(part) for part in parts]))
        examples.targets.append(target)
    return examples


def _joined(
    a: list[int], b: list[int] | None, encoder: TextEncoder, longest: int
) -> tuple[list[np.ndarray], bool]:
    """Return one array of ids a segment, and whether anything was cut."""
    if b is None:
        kept = a[: longest - 2]
        return [np.array([encoder.cls, *kept, encoder.sep])], len(kept) < len(a)
    keep_a, keep_b = pair_lengths(len(a), len(b), longest - 3)
    parts = [[encoder.cls, *a[:keep_a], encoder.sep], [*b[:keep_b], encoder.sep]]
    return [np.array(part) for part in parts], keep_a + keep_b < len(a) + len(b)


def pair_lengths(a: int, b: int, room: int) -> tuple[int, int]:
    """Return how much of two texts of `a` and `b` tokens is kept in `room`: the longer gives way.

    The same as the strategy "longest_first" of Hugging Face's tokenizers.
    """
    if a + b <= room:
        return a, b
    shorter = min(a, b, room // 2)
    return (shorter, room - shorter) if a <= b else (room - shorter, shorter)


def encode_words(
    rows: pd.DataFrame, tags: Sequence[str], encoder: TextEncoder, longest: int
) -> Examples:
    """Encode sentences given as words; `tags` are the known ones by number.

    Tags that are not among `tags` (a validation split may have one that training never saw) have
    no number and are left out of the targets.
    """
    numbers = {tag: number for number, tag in enumerate(tags)}
    pieces = _pieces_of_words(rows["tokens"], encoder)
    examples = Examples()
    for words, row_tags in zip(rows["tokens"], rows["tags"], strict=True):
        ids, starts = _sentence([pieces[word] for word in words], encoder, longest)
        targets = np.full(len(ids), IGNORED, dtype=np.int64)
        kept = starts != TRUNCATED
        known = np.array([numbers.get(tag, IGNORED) for tag in row_tags], dtype=np.int64)
        targets[starts[kept]] = known[kept]
        examples.truncated += not kept.all()
        examples.ids.append(ids)
        examples.segments.append(np.zeros(len(ids), dtype=np.int64))
        examples.targets.append(targets)
        examples.words.append(starts)
    return examples


def _pieces_of_words(sentences: Iterable[Sequence[str]], encoder: TextEncoder) -> dict[str, list]:
    words = sorted({word for words in sentences for word in words})
    encoded = encoder.encode(words)
    return {word: ids or [encoder.unk] for word, ids in zip(words, encoded, strict=True)}


def _sentence(
    words: Sequence[list[int]], encoder: TextEncoder, longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of a sentence and the place of each word's first token."""
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    starts = 1 + np.cumsum(lengths) - lengths
    ids = [token for word in words for token in word][: longest - 2]
    starts[starts > len(ids)] = TRUNCATED
    return np.array([encoder.cls, *ids, encoder.sep]), starts


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
