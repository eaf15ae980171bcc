"""A vocabulary as a language model uses it: ids of text, ids of the special tokens.

Text never becomes a special token: a line that spells `[MASK]` is encoded as its characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

IGNORED = -100  # PyTorch's label for "nothing to predict here"


@dataclass(frozen=True)
class TextEncoder:
    """Encodes text without special tokens, and knows the ids of the special tokens.

    Attributes:
        pad, unk, cls, sep, mask: ids of the special tokens.
        size: number of ids, special tokens included; ids run from 0 to size - 1.
        ordinary: bool[size], False for the ids of special tokens.
        digest: changes with anything that could change an id.
        _tokenizer: transformers' own; `tokenizer.load_encoder` makes all of this of it.
    """

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int
    size: int
    ordinary: np.ndarray
    digest: str
    _tokenizer: Any = field(repr=False)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        if not texts:  # which transformers refuses
            return []
        return self._tokenizer(
            list(texts),
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
