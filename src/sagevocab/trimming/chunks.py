"""A text as chunks that a tokenizer cuts one by one, and the tokens in them.

A chunk is what a model is given: a word of the pre-tokenizer. Where there are none, or they are
long, words are cut on between two characters that no piece holds side by side. No piece spans such
a place, so the tokens of a text are those of its chunks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.trimming.models import Model

Spec = Mapping[str, Any]
_STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")


def bare(model: Spec) -> Tokenizer:
    """Return a tokenizer of a model alone."""
    spec = {"version": "1.0", "added_tokens": [], **dict.fromkeys(_STEPS), "model": model}
    return Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))


class Chunks:
    """The distinct chunks of a text.

    texts: the chunks. times: int64[chunks], how often each occurs. tokens: int64, the ids of all
    chunks, one after the other. stops: int64[chunks], where those of each end.
    """

    def __init__(self, tokenizer: Tokenizer, spec: Spec, lines: Iterable[str]) -> None:
        """Cut the lines, and encode each distinct chunk."""
        counted = Counter(_chunks(tokenizer, spec, lines))
        self.texts = list(counted)
        self.times = np.fromiter(counted.values(), np.int64, len(counted))
        self.tokens, self.stops = _encoded(bare(spec["model"]), self.texts)

    @property
    def total(self) -> int:
        """How many tokens the text has."""
        return int(self.times @ np.diff(self.stops, prepend=0))

    def occurrences(self, size: int) -> np.ndarray:
        """Return how often each id occurs: int64[size]."""
        lengths = np.diff(self.stops, prepend=0)
        times = np.repeat(self.times, lengths)
        return np.bincount(self.tokens, weights=times, minlength=size).astype(np.int64)

    def encode_again(self, model: Model, gone: Iterable[str]) -> None:
        """Cut the chunks again that hold one of the pieces that have gone from the model."""
        has_gone = np.zeros(max(model.ids.values()) + 1, dtype=bool)
        has_gone[[model.ids[piece] for piece in gone]] = True
        lengths = np.diff(self.stops, prepend=0)
        numbers = np.repeat(np.arange(len(lengths)), lengths)
        changed = np.unique(numbers[has_gone[self.tokens]])
        if not len(changed):
            return
        reduced = bare(model.reduced())
        found, stops = _encoded(reduced, [self.texts[number] for number in changed])
        new_names = reduced.get_vocab()
        old_ids = np.zeros(len(new_names), np.int64)
        for piece, number in new_names.items():
            old_ids[number] = model.ids[piece]
        stays = np.ones(len(lengths), dtype=bool)
        stays[changed] = False
        kept = self.tokens[stays[numbers]]
        lengths[changed] = np.diff(stops, prepend=0)
        is_kept = np.repeat(stays, lengths)
        self.tokens, self.stops = np.empty(len(is_kept), np.int64), np.cumsum(lengths)
        self.tokens[is_kept], self.tokens[~is_kept] = kept, old_ids[found]


def _encoded(tokenizer: Tokenizer, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    try:
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    except Exception as error:  # of a Unigram model without an unknown token
        raise UserError(
            f"texts: the tokenizer itself cannot encode them ({error}); give other text"
        ) from error
    ids = [encoding.ids for encoding in encodings]
    stops = np.cumsum(np.fromiter(map(len, ids), np.int64, len(ids)))
    return np.fromiter((number for one in ids for number in one), np.int64), stops


def _chunks(tokenizer: Tokenizer, spec: Spec, lines: Iterable[str]) -> Iterator[str]:
    """Yield what the model is given of each line; added tokens are none of it."""
    normalizer, splitter = tokenizer.normalizer, tokenizer.pre_tokenizer
    added = sorted((token["content"] for token in spec["added_tokens"]), key=len, reverse=True)
    between = re.compile("|".join(map(re.escape, added)) or r"(?!)")
    cut = _cutter(spec["model"])
    for line in lines:
        for part in filter(None, between.split(line)):
            text = normalizer.normalize_str(part) if normalizer else part
            words = (word for word, _ in splitter.pre_tokenize_str(text)) if splitter else [text]
            for word in words:
                yield from cut(word)


def _cutter(model: Spec) -> Callable[[str], Iterable[str]]:
    """Return what cuts a word into chunks; only those kinds of models allow it."""
    is_whole = model["type"] == "WordPiece" or model.get("ignore_merges")
    if is_whole or model.get("end_of_word_suffix"):
        return lambda word: (word,)
    pieces = [entry[0] if isinstance(entry, list) else entry for entry in model["vocab"]]
    joined = {first + second for piece in pieces for first, second in pairwise(piece)}
    known = {piece for piece in pieces if len(piece) == 1}

    # Where nothing stands for unknown characters, they vanish, and what is around them meets.
    vanish = (
        model["type"] == "BPE" and not model.get("unk_token") and not model.get("byte_fallback")
    )

    def cut(word: str) -> Iterator[str]:
        start = 0
        if vanish:
            word = "".join(letter for letter in word if letter in known)
        for at, (first, second) in enumerate(pairwise(word), start=1):
            # Unknown characters side by side may be one token.
            if first + second not in joined and (first in known or second in known):
                yield word[start:at]
                start = at
        if word:
            yield word[start:]

    return cut
