"""Segmenters of folders: greedy, or as the tokenizer of Hugging Face in them segments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sagevocab.errors import UserError
from sagevocab.huggingface.folders import read_description, read_folder_pieces
from sagevocab.huggingface.markers import readable_pieces, steps_of
from sagevocab.pieces import FIRST_PIECE_ID, WORD_START, encode_batch
from sagevocab.segmentation.decoder import UNCOVERED
from sagevocab.segmentation.segmenter import GreedySegmenter, Segmenter


class HubSegmenter(Segmenter):
    """A Hugging Face tokenizer, word by word.

    Of our own frame only the pre-tokenizer's splits inside a word and the model are used: words
    come normalised and with their `▁`. A tokenizer with another frame sees each word after a space,
    and normalises and splits it as it likes.
    """

    def __init__(self, folder: Path, pieces: Sequence[str], method: str, *, external: bool) -> None:
        """Load `tokenizer.json` of `folder`; external: its frame is another's.

        Raises:
            UserError: it is damaged.
        """
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        try:
            text = path.read_text(encoding="utf-8")
            self._tokenizer = Tokenizer.from_str(text if external else _inside_words(text))
        except Exception as error:  # the library raises bare exceptions of many kinds
            raise UserError(f"{path}: is damaged ({error}); build the vocabulary again") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._space = " " if external else WORD_START
        self.pieces = list(pieces)
        # By number, not by name: the tokenizer's own notation may differ from `pieces.txt`.
        self._numbers = np.full(self._tokenizer.get_vocab_size(), UNCOVERED, dtype=np.int32)
        ids = self._piece_ids(method)
        self._numbers[ids] = np.arange(len(self.pieces))
        if external and method == "greedy":  # others are readable in `pieces.txt`
            self.pieces = readable_pieces(map(self._tokenizer.id_to_token, ids), json.loads(text))

    def _piece_ids(self, method: str) -> list[int]:
        """Return the ids of the pieces: in another's frame, all but those of added tokens."""
        if method != "greedy":
            return list(range(FIRST_PIECE_ID, FIRST_PIECE_ID + len(self.pieces)))
        added = self._tokenizer.get_added_tokens_decoder()
        return [number for number in range(len(self._numbers)) if number not in added]

    def segment_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Segment many words: int32 piece numbers one after another, int64[words + 1] offsets."""
        texts = [word.replace(WORD_START, self._space) for word in words]
        ids = [encoding.ids for encoding in encode_batch(self._tokenizer, texts)]
        offsets = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        return self._numbers[np.fromiter(chain.from_iterable(ids), dtype=np.int64)], offsets


def _inside_words(tokenizer: str) -> str:
    """Drop from a `tokenizer.json` what makes words out of text and finds special tokens in it."""
    spec: dict[str, Any] = json.loads(tokenizer)
    steps = [one for one in steps_of(spec["pre_tokenizer"]) if one["type"] != "Metaspace"]
    spec["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps} if steps else None
    spec.update(normalizer=None, post_processor=None, added_tokens=[])
    return json.dumps(spec)


def load_segmenter(folder: str | Path) -> Segmenter:
    """Load the segmenter of a vocabulary folder, as `tokenizer_config.json` describes it.

    Raises:
        UserError: the folder is not one that this project wrote, or is damaged.
    """
    folder = Path(folder)
    description, pieces = read_description(folder), read_folder_pieces(folder)
    method, of_words = description["method"], description["normalization"] is not None
    if method == "greedy" and of_words:
        return GreedySegmenter(pieces)
    return HubSegmenter(folder, pieces, method, external=not of_words)
