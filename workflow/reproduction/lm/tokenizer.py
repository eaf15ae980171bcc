"""The tokenizer of a vocabulary's or a model's folder, as transformers loads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from reproduction.lm.encoder import TextEncoder
from sagevocab.errors import UserError
from sagevocab.state import fingerprint

# What a masked language model needs, by the names that tokenizer_config.json uses.
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")


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
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # tokenizers raises nothing more specific
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"{folder / 'tokenizer.json'}: is not a tokenizer ({reason}); build it again"
        ) from error
