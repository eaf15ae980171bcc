"""A tiny vocabulary, corpus and model settings for the tests of `reproduction.lm`."""

from __future__ import annotations

import random
import string
from pathlib import Path

from reproduction.lm.heldout import HeldoutSettings
from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.shards import build_shards
from sagevocab.corpus.text import write_lines
from sagevocab.huggingface.export import Card, WordSettings, export_greedy

SUBJECTS = ["the cat", "a dog", "the old man", "my sister", "a bird", "the teacher"]
VERBS = ["sees", "likes", "hears", "follows", "finds", "calls"]
OBJECTS = ["the house", "a river", "the moon", "some bread", "the road", "a song"]
LONGER = ["▁the", "▁a", "th", "▁cat", "▁dog", "ee", "er", "▁s", "ouse", "▁f", "in", "on", "▁hear"]
PIECES = ["▁", *string.ascii_letters, *string.digits, *".,!?-'ığüşöç", *LONGER]

TINY = {
    "layers": 1,
    "hidden": 16,
    "heads": 2,
    "intermediate": 32,
    "sequence_length": 16,
    "batch": 8,
    "micro_batch": 4,
    "learning_rate": 5e-3,
    "steps": 6,
    "validation_every": 0.5,
}
ASKED = HeldoutSettings(lines=15, rate=0.3, seed=1)


def sentences(count: int, seed: int = 0) -> list[str]:
    """Simple sentences; the same for the same seed."""
    rng = random.Random(seed)
    parts = (SUBJECTS, VERBS, OBJECTS)
    return [" ".join(rng.choice(part) for part in parts) + "." for _ in range(count)]


def make_vocabulary(
    folder: Path, pieces: list[str] | None = None, max_word_chars: int = 256
) -> Path:
    """A greedy vocabulary in `folder`."""
    words = WordSettings(max_word_chars=max_word_chars)
    export_greedy(folder, pieces or PIECES, words, Card("en", "English", "test"))
    return folder


def make_shards(
    folder: Path,
    lines: list[str] | None = None,
    sequence_length: int = 16,
    questions: HeldoutSettings = ASKED,
) -> Path:
    """Shards of `lines`, with their vocabulary in `folder`/vocabulary."""
    make_vocabulary(folder / "vocabulary")
    write_lines(folder / "train.txt.zst", sentences(120) if lines is None else lines)
    write_lines(folder / "heldout.txt.zst", sentences(20, seed=1))
    build_shards(
        folder / "train.txt.zst",
        folder / "heldout.txt.zst",
        folder / "vocabulary",
        folder / "shards",
        sequence_length=sequence_length,
        questions=questions,
    )
    return folder / "shards"


def make_model(folder: Path) -> Path:
    """A model of TINY settings in `folder`/m, with its shards and vocabulary beside it."""
    make_shards(folder)
    files = folder / "shards", folder / "vocabulary", folder / "m"
    pretrain(*files, PretrainSettings(**TINY), name="x", seed=1, state_dir=folder / "state")
    return folder / "m"
