"""A vocabulary folder as a language model uses it: ids of text, ids of the special tokens.

Text never becomes a special token: a line that spells `[MASK]` is encoded as its characters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.state import fingerprint

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
    """

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int
    size: int
    ordinary: np.ndarray
    digest: str
    _tokenizer: Tokenizer = field(repr=False)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]


def load_encoder(folder: str | Path) -> TextEncoder:
    """Open the vocabulary or model `folder` that `AutoTokenizer` would open.

    Raises:
        UserError: the folder has no readable tokenizer.json, or the tokenizer lacks a special
            token that a masked language model needs.
    """
    folder = Path(folder)
    tokenizer = _read_tokenizer(folder / "tokenizer.json")
    roles = _special_ids(folder, tokenizer)
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values())
    ordinary = np.ones(size, dtype=bool)
    ordinary[[*roles.values()]] = False
    for token_id, token in tokenizer.get_added_tokens_decoder().items():
        ordinary[token_id] &= not token.special
    return TextEncoder(
        pad=roles["pad_token"],
        unk=roles["unk_token"],
        cls=roles["cls_token"],
        sep=roles["sep_token"],
        mask=roles["mask_token"],
        size=size,
        ordinary=ordinary,
        digest=fingerprint(folder / "tokenizer.json", roles),
        _tokenizer=tokenizer,
    )


def _read_tokenizer(path: Path) -> Tokenizer:
    if not path.is_file():
        raise UserError(f"{path}: is missing; name the folder of a vocabulary")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more specific
        raise UserError(f"{path}: is not a tokenizer ({error}); build it again") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _special_ids(folder: Path, tokenizer: Tokenizer) -> dict[str, int]:
    names = _special_names(folder)
    missing = [role for role in ROLES if tokenizer.token_to_id(names.get(role) or "") is None]
    if missing:
        raise UserError(
            f"{folder / 'tokenizer_config.json'}: names no {', '.join(missing)} of the vocabulary; "
            "a masked language model needs all of them, or leave this tokenizer out of "
            "lm.tokenizers"
        )
    return {role: tokenizer.token_to_id(names[role]) for role in ROLES}


def _special_names(folder: Path) -> dict[str, str]:
    names: dict[str, str] = {}
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / file).is_file():
            entries = json.loads((folder / file).read_text(encoding="utf-8"))
            names |= {role: _content(entries[role]) for role in ROLES if entries.get(role)}
    return names


def _content(token: str | dict[str, str]) -> str:
    return token["content"] if isinstance(token, dict) else token
