"""Segmenters of folders: greedy, or as the tokenizer of Hugging Face in them segments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.huggingface.folders import read_description, read_tokens
from sagevocab.huggingface.markers import readable_pieces, steps_of, unknown_of
from sagevocab.pieces import WORD_START, encode_batch
from sagevocab.segmentation.decoder import UNCOVERED
from sagevocab.segmentation.segmenter import GreedySegmenter, Segmenter


class HubSegmenter(Segmenter):
    """A tokenizer of Hugging Face, word by word: it gets each word after a space.

    It normalises and splits the word as it likes. Its special and unknown tokens are not pieces.
    """

    def __init__(self, spec: Mapping[str, Any], space: str | None = None) -> None:
        """Load the tokenizer.

        Args:
            spec: the parsed `tokenizer.json`.
            space: what a word's `▁` becomes; by default a space, or nothing where the tokenizer
                itself prepends one to every text.
        """
        self._tokenizer = Tokenizer.from_str(json.dumps(spec))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        prepends = '"Prepend"' in json.dumps(spec["normalizer"])
        self._space = ("" if prepends else " ") if space is None else space
        special = {token["content"] for token in spec["added_tokens"] if token["special"]}
        special.add(unknown_of(spec["model"]))
        ids = {
            token: number
            for token, number in self._tokenizer.get_vocab().items()
            if token not in special
        }
        tokens = sorted(ids, key=ids.__getitem__)
        self.pieces = readable_pieces(tokens, spec)
        self._numbers = np.full(self._tokenizer.get_vocab_size(), UNCOVERED, dtype=np.int32)
        self._numbers[[ids[token] for token in tokens]] = np.arange(len(tokens))

    def segment_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Segment many words: int32 piece numbers one after another, int64[words + 1] offsets."""
        texts = [word.replace(WORD_START, self._space) for word in words]
        ids = [encoding.ids for encoding in encode_batch(self._tokenizer, texts)]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return self._numbers[np.fromiter(chain.from_iterable(ids), dtype=np.int64)], offsets


def _inside_words(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `tokenizer.json` without what makes words of text: words come as they are."""
    steps = [one for one in steps_of(spec["pre_tokenizer"]) if one["type"] != "Metaspace"]
    splits = {"type": "Sequence", "pretokenizers": steps} if steps else None
    return {**spec, "pre_tokenizer": splits, "normalizer": None, "post_processor": None}


def load_segmenter(folder: str | Path) -> Segmenter:
    """Load the segmenter of a vocabulary folder, as `tokenizer_config.json` describes it.

    Raises:
        UserError: the folder is not one that this project wrote, or is damaged.
    """
    description = read_description(folder)
    spec, tokens = read_tokens(folder)
    of_words = description["normalization"] is not None
    if of_words and description["method"] == "greedy":
        return GreedySegmenter(tokens)
    try:
        return HubSegmenter(_inside_words(spec), WORD_START) if of_words else HubSegmenter(spec)
    except Exception as error:  # the library raises bare exceptions of many kinds
        raise UserError(
            f"{Path(folder) / 'tokenizer.json'}: is damaged ({error}); build the vocabulary again"
        ) from error
