"""Folders that this project wrote: what they say of themselves, and their pieces."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError

METHODS = ("greedy", "merges", "unigram", "external")  # how words of a folder are segmented


def read_description(folder: str | Path) -> dict[str, Any]:
    """Return the entry `sagevocab` of `tokenizer_config.json`: method, normalization, ...

    Raises:
        UserError: there is no such file or entry.
    """
    path = Path(folder) / "tokenizer_config.json"
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        description = json.loads(path.read_text(encoding="utf-8"))["sagevocab"]
        if description["method"] in METHODS:
            return description
    raise UserError(
        f"{path}: does not describe a vocabulary of this project, or is damaged; build or import "
        "it first"
    )


def is_project_folder(folder: str | Path) -> bool:
    """Return whether this project wrote the tokenizer in `folder`, and no other program since.

    `save_pretrained` of `transformers` carries the entry `sagevocab` on and leaves `pieces.txt`
    out: the tokens may be others now, so that is a folder of Hugging Face like any other.
    """
    path = Path(folder) / "tokenizer_config.json"
    has_entry = path.is_file() and b'"sagevocab"' in path.read_bytes()
    return has_entry and (Path(folder) / "pieces.txt").exists()


def read_tokens(folder: str | Path) -> tuple[dict[str, Any], list[str]]:
    """Return a folder's parsed `tokenizer.json`, and its tokens by id without the special ones.

    Raises:
        UserError: it is missing or damaged.
    """
    path = Path(folder) / "tokenizer.json"
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
        specials = {token["content"] for token in spec["added_tokens"]}
        entries = spec["model"]["vocab"]
        tokens = [entry if isinstance(entry, str) else entry[0] for entry in entries]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path}: is damaged or missing; build the vocabulary again") from error
    return spec, [token for token in tokens if token not in specials]
