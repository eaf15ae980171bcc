"""Words and their tags stay together, whatever the words are."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from lm_samples import make_vocabulary
from reproduction.lm.heldout import HeldoutSettings
from reproduction.lm.shards import build_shards
from reproduction.lm.tasks import TRUNCATED, Task, encode
from reproduction.lm.tokenizer import IGNORED, load_encoder
from sagevocab.corpus.text import write_lines

MAX_WORD_CHARS = 12
# What pieces cover, what they don't, what normalisation removes, and words longer than the limit.
WORDS = st.one_of(
    st.text("thecatdogsrun.,!ış", max_size=10),
    st.text("thecatж漢字é", max_size=8),
    st.text("abcdefж", min_size=MAX_WORD_CHARS, max_size=3 * MAX_WORD_CHARS),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
SENTENCES = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=4)
TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
TASK = Task("names", "tokens", "span_f1")
relaxed = settings(max_examples=30)


# No fixtures: hypothesis would print them, and the map of a normalizer is long.
@functools.cache
def vocabulary() -> Path:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return make_vocabulary(folder, max_word_chars=MAX_WORD_CHARS)


@functools.cache
def encoder():
    return load_encoder(vocabulary())


@functools.cache
def hub():
    return AutoTokenizer.from_pretrained(vocabulary())


def frame_of(sentences: list[list[str]], seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    tags = [[TAGS[rng.integers(4)] for _ in words] for words in sentences]
    return pd.DataFrame({"tokens": sentences, "tags": tags})


@relaxed
@given(SENTENCES, st.integers(0, 100), st.integers(8, 60))
def test_every_word_has_one_tag_or_is_outside(sentences, seed, longest):
    rows = frame_of(sentences, seed)
    examples = encode(rows, TASK, TAGS, hub(), longest)
    for features, words, tags in zip(examples.features, examples.words, rows["tags"], strict=True):
        labels = np.array(features["labels"])
        assert len(words) == len(tags)
        assert len(features["input_ids"]) == len(labels) <= longest
        kept = words[words != TRUNCATED]
        assert (np.diff(kept) > 0).all()
        assert (np.delete(labels, kept) == IGNORED).all()
        read = [TAGS[labels[place]] for place in kept]
        assert read == [tag for tag, place in zip(tags, words, strict=True) if place != TRUNCATED]


@relaxed
@given(SENTENCES)
def test_each_word_is_encoded_alone(sentences):
    rows = frame_of(sentences, 0)
    examples = encode(rows, TASK, TAGS, hub(), 10_000)
    for sentence, features, places in zip(
        sentences, examples.features, examples.words, strict=True
    ):
        alone = encoder().encode(sentence)
        starts = 1 + np.cumsum([0, *map(len, alone)])[:-1]
        assert features["input_ids"][1:-1] == [token for ids in alone for token in ids]
        left = [TRUNCATED if not ids else at for ids, at in zip(alone, starts, strict=True)]
        assert places.tolist() == left


@settings(max_examples=25)
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0")), min_size=1),
    st.integers(3, 20),
)
def test_shards_lose_nothing(lines, length):
    lines = ["the cat", *lines]
    encoded = [encoder().encode([line])[0] for line in lines]
    stream = [token for ids in encoded for token in ids]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "lines.txt", lines)
        files = (folder / "lines.txt", folder / "lines.txt", vocabulary(), folder)
        asked = HeldoutSettings(lines=1, rate=0.5, seed=1)
        build_shards(*files, sequence_length=length, questions=asked)
        rows = np.load(folder / "train.npy")
        counts = json.loads((folder / "index.json").read_text())["train"]
    assert rows[~np.isin(rows, (0, 2, 3))].tolist() == stream
    assert (rows == 2).sum() == (rows == 3).sum() == len(rows) == counts["rows"]
    assert (counts["lines"], counts["tokens"]) == (len(lines), len(stream))
