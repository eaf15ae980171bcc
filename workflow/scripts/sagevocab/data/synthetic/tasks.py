"""Synthetic task sets in the schema of the real ones (GLUE, XNLI, NER), learnable from few rows.

Cue words decide the label (sentiment words, negation, hedges, agreement errors, name lists), so
that even a tiny model learns them; scores on them compare nothing but this pipeline with itself.
One row in twenty of a classification task carries a wrong label. A text belongs either to training
or to validation, by its checksum, whatever the seed.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import pandas as pd

from sagevocab.data.synthetic import english_forms, turkish_filters
from sagevocab.data.synthetic.entities import tag_entities
from sagevocab.data.synthetic.grammar import Grammar, load_rules
from sagevocab.data.synthetic.turkish_phonology import capitalize
from sagevocab.data.synthetic.turkish_reviews import turkish_rules
from sagevocab.errors import UserError

_NOISE = 0.05
_PATIENCE = 10_000


@dataclass(frozen=True)
class _Task:
    """Language, text columns as the real set names them, and the labels."""

    language: str
    fields: tuple[str, ...]
    labels: tuple[int, ...] = (0, 1)
    regression: bool = False


_TASKS = {
    "mrpc": _Task("en", ("sentence1", "sentence2")),
    "mnli": _Task("en", ("premise", "hypothesis"), (0, 1, 2)),
    "cola": _Task("en", ("sentence",)),
    "qnli": _Task("en", ("question", "sentence")),
    "sst2": _Task("en", ("sentence",)),
    "stsb": _Task("en", ("sentence1", "sentence2"), (0, 1, 2, 3, 4, 5), regression=True),
    "qqp": _Task("en", ("question1", "question2")),
    "xnli_tr": _Task("tr", ("premise", "hypothesis"), (0, 1, 2)),
    "ner_en": _Task("en", ("tokens", "ner_tags")),
    "ner_tr": _Task("tr", ("tokens", "ner_tags")),
}
TASKS = tuple(_TASKS)
SPLITS = ("train", "validation")


@cache
def _grammar(language: str) -> Grammar:
    if language == "tr":
        rules = turkish_rules() | load_rules("tasks_tr")
        return Grammar(rules, turkish_filters.transform, turkish_filters.read)
    return Grammar(load_rules("english_lexicon", "quora", "tasks_en"), english_forms.transform)


def rows(task: str, split: str, count: int, seed: int) -> pd.DataFrame:
    """Make `count` rows of a task, the same for the same arguments.

    task: one of TASKS. split: "train" or "validation"; no text occurs in both, for any seeds.
    Returns the columns of the real data set: its text columns, label (int; float 0-5 for stsb) and
    idx; for NER tokens and ner_tags (lists of str, IOB2) and idx.
    Raises UserError for an unknown task or split, or when the grammar cannot make so many rows.
    """
    if task not in _TASKS:
        raise UserError(f"generator: there is no task {task!r}; there are {', '.join(TASKS)}")
    if split not in SPLITS:
        raise UserError(f"split: there is no split {split!r}; there are {', '.join(SPLITS)}")
    rng = random.Random(f"{task} {split} {seed}")
    if task.startswith("ner"):
        return _tagged_rows(task, split, count, rng)
    return _labelled_rows(task, split, count, rng)


def _tagged_rows(task: str, split: str, count: int, rng: random.Random) -> pd.DataFrame:
    grammar = _grammar(_TASKS[task].language)
    texts = _Fresh(split)
    sentences = [texts.draw(lambda: (grammar.say(task, rng),)) for _ in range(count)]
    tagged = [tag_entities(text) for (text,) in sentences]
    tokens, tags = [tokens for tokens, _ in tagged], [tags for _, tags in tagged]
    return pd.DataFrame({"tokens": tokens, "ner_tags": tags, "idx": range(count)})


def _labelled_rows(task: str, split: str, count: int, rng: random.Random) -> pd.DataFrame:
    spec = _TASKS[task]
    records = list(_labelled(task, split, count, rng))
    columns = dict(
        zip(spec.fields, zip(*(texts for texts, _ in records), strict=True), strict=True)
    )
    labels = [label for _, label in records]
    return pd.DataFrame({**columns, "label": labels, "idx": range(count)})


def _labelled(
    task: str, split: str, count: int, rng: random.Random
) -> Iterator[tuple[tuple[str, ...], int | float]]:
    spec, texts = _TASKS[task], _Fresh(split)
    labels = [spec.labels[i % len(spec.labels)] for i in range(count)]
    rng.shuffle(labels)
    for label in labels:
        fields = texts.draw(_maker(task, label, rng))
        yield fields, _score(label, rng) if spec.regression else _noisy(label, spec, rng)


def _maker(task: str, label: int, rng: random.Random) -> Callable[[], tuple[str, ...]]:
    grammar = _grammar(_TASKS[task].language)
    rule = f"{task}_{label}"
    return lambda: tuple(_tidy(part, task) for part in grammar.say(rule, rng).split("||"))


def _tidy(text: str, task: str) -> str:
    text = text.strip()
    if task == "sst2":
        return text
    return capitalize(text) if task == "xnli_tr" else text[:1].upper() + text[1:]


def _noisy(label: int, spec: _Task, rng: random.Random) -> int:
    if rng.random() >= _NOISE:
        return label
    return rng.choice([other for other in spec.labels if other != label])


def _score(level: int, rng: random.Random) -> float:
    """A similarity around a level, one decimal, within 0 to 5."""
    return round(min(5.0, max(0.0, rng.gauss(level, 0.3))), 1)


class _Fresh:
    """Draws rows that are new, and whose every text belongs to the split by its checksum."""

    def __init__(self, split: str) -> None:
        """Keep to `split`."""
        self._parity = SPLITS.index(split)
        self._seen: set[tuple[str, ...]] = set()

    def draw(self, make: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        """The first row of `make` that fits; UserError when none comes."""
        for _ in range(_PATIENCE):
            fields = make()
            if fields not in self._seen and all(map(self._belongs, fields)):
                self._seen.add(fields)
                return fields
        raise UserError(
            f"rows: the task's generator made only {len(self._seen)} different rows; ask for fewer"
        )

    def _belongs(self, text: str) -> bool:
        return zlib.crc32(text.encode()) & 1 == self._parity
