"""Words and their tags stay together, whatever the words are; pairs are cut as elsewhere."""

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
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from lm_samples import make_vocabulary
from reproduction.lm.encoder import IGNORED, load_encoder
from reproduction.lm.shards import build_shards
from reproduction.lm.tasks import OUTSIDE, TRUNCATED, encode_words, pair_lengths
from sagevocab.text import write_lines

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
relaxed = settings(max_examples=150)


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
def test_every_word_has_one_tag(sentences, seed, longest):
    rows = frame_of(sentences, seed)
    examples = encode_words(rows, TAGS, encoder(), longest)
    for ids, targets, words, tags in zip(
        examples.ids, examples.targets, examples.words, rows["tags"], strict=True
    ):
        assert len(words) == len(tags)
        assert len(ids) == len(targets) <= longest
        kept = words[words != TRUNCATED]
        # Truncation takes words from the end; each of the others has a token of its own.
        assert (words[: len(kept)] == kept).all()
        assert (np.diff(kept) > 0).all()
        assert [TAGS[number] for number in targets[kept]] == tags[: len(kept)]
        assert (np.delete(targets, kept) == IGNORED).all()
        # What the tags are read back from is what they were written to.
        read = [TAGS[targets[place]] if place != TRUNCATED else OUTSIDE for place in words]
        assert read == tags[: len(kept)] + [OUTSIDE] * (len(tags) - len(kept))


@relaxed
@given(SENTENCES)
def test_words_stand_where_hugging_face_puts_them(sentences):
    examples = encode_words(frame_of(sentences, 0), TAGS, encoder(), 10_000)
    for sentence, ids, places in zip(sentences, examples.ids, examples.words, strict=True):
        theirs = hub()(sentence, is_split_into_words=True, split_special_tokens=True)
        owners = [owner for owner in theirs.word_ids() if owner is not None]
        # The library gives a word that leaves nothing an [UNK]; Hugging Face drops it.
        left = np.isin(np.arange(len(sentence)), owners)
        ends = np.append(places, len(ids) - 1)[1:]
        ours = [
            (word, token)
            for word, (start, end) in enumerate(zip(places, ends, strict=True))
            if left[word]
            for token in ids[start:end].tolist()
        ]
        assert ours == list(zip(owners, theirs.input_ids[1:-1], strict=True))
        assert all(ids[places[word]] == encoder().unk for word in np.flatnonzero(~left))


@relaxed
@given(st.integers(0, 40), st.integers(0, 40), st.integers(5, 30))
def test_pairs_are_cut_as_by_hugging_face(a, b, longest):
    tokenizer = Tokenizer.from_str((vocabulary() / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer.enable_truncation(longest, strategy="longest_first")
    encoding = tokenizer.encode("a " * a, "the " * b)
    names = [token for token in encoding.tokens if token in ("▁a", "▁the")]
    assert pair_lengths(a, b, longest - 3) == (names.count("▁a"), names.count("▁the"))


@settings(max_examples=40)
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
        build_shards(*files, sequence_length=length)
        rows = np.load(folder / "train.npy")
        counts = json.loads((folder / "index.json").read_text())["train"]
    assert rows[~np.isin(rows, (0, 2, 3))].tolist() == stream
    assert (rows == 2).sum() == (rows == 3).sum() == len(rows) == counts["rows"]
    assert (counts["lines"], counts["tokens"]) == (len(lines), len(stream))
