"""The tokenizer of a vocabulary's or a model's folder, as a language model uses it.

Text never becomes a special token: a line that spells `[MASK]` is encoded as its characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from sagevocab.errors import UserError
from sagevocab.files import fingerprint

IGNORED = -100  # PyTorch's label for "nothing to predict here"
# What a masked language model needs, by the names that tokenizer_config.json uses.
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")


@dataclass(frozen=True)
class TextEncoder:
    """Encodes text without special tokens, and knows the ids of the special tokens.

    Attributes:
        pad, unk, cls, sep, mask: ids of the special tokens.
        size: number of ids, special tokens included; ids run from 0 to size - 1.
        ordinary: bool[size], False for the ids of special tokens.
        digest: changes with anything that could change an id.
        _tokenizer: transformers' own; `load_encoder` makes all of this of it.
    """

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int
    size: int
    ordinary: np.ndarray
    digest: str
    _tokenizer: PreTrainedTokenizerFast = field(repr=False)

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


def load_encoder(folder: str | Path) -> TextEncoder:
    """Open the tokenizer of a vocabulary or model.

    Raises:
        UserError: the folder holds none, or it lacks a special token that a masked language model
            needs.
    """
    folder = Path(folder)
    tokenizer = load_tokenizer(folder)
    roles = {role: getattr(tokenizer, f"{role}_id") for role in ROLES}
    missing = [role for role, token_id in roles.items() if token_id is None]
    if missing:
        raise UserError(
            f"{folder / 'tokenizer_config.json'}: names no {', '.join(missing)} of the vocabulary; "
            "a masked language model needs all of them, or leave this tokenizer out of "
            "lm.tokenizers"
        )
    ordinary = np.ones(1 + max(tokenizer.get_vocab().values()), dtype=bool)
    ordinary[tokenizer.all_special_ids] = False
    return TextEncoder(
        *roles.values(),
        size=len(ordinary),
        ordinary=ordinary,
        digest=fingerprint(folder / "tokenizer.json", roles),
        _tokenizer=tokenizer,
    )


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a vocabulary or model.

    Raises:
        UserError: the folder holds none.
    """
    if not (folder / "tokenizer.json").is_file():
        raise UserError(f"{folder / 'tokenizer.json'}: is missing; name the folder of a vocabulary")
    try:
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # tokenizers raises nothing more specific
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"{folder / 'tokenizer.json'}: is not a tokenizer ({reason}); build it again"
        ) from error
