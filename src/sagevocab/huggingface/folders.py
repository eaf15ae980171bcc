"""Folders that this project wrote: what they say of themselves, and their pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.huggingface.markers import notation_of
from sagevocab.pieces import FIRST_PIECE_ID, read_pieces

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


def is_own_folder(folder: str | Path) -> bool:
    """Return whether this project wrote the tokenizer in `folder`, and no other program since.

    `save_pretrained` of `transformers` carries the entry `sagevocab` on and leaves `pieces.txt`
    out: the tokens may be others now, so that is a folder of Hugging Face like any other.
    """
    path = Path(folder) / "tokenizer_config.json"
    has_entry = path.is_file() and b'"sagevocab"' in path.read_bytes()
    return has_entry and (Path(folder) / "pieces.txt").exists()


def read_folder_pieces(folder: str | Path) -> list[str]:
    """Read a folder's `pieces.txt`; in a folder of this project it must fit `tokenizer.json`.

    Raises:
        UserError: a file is missing or damaged, or one does not fit the other.
    """
    folder = Path(folder)
    path = folder / "tokenizer.json"
    pieces = read_pieces(folder / "pieces.txt")
    if not is_own_folder(folder):
        return pieces
    description = read_description(folder)
    try:
        tokens = _tokens_of(json.loads(path.read_text(encoding="utf-8")), description)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path}: is damaged or missing; build the vocabulary again") from error
    external = description["method"] == "external"
    fits = len(tokens) == len(pieces) if external else tokens == pieces
    if not fits:
        raise UserError(
            f"{folder / 'pieces.txt'}: lists other pieces than the tokenizer.json beside it; "
            "one of them is damaged, so build the vocabulary again"
        )
    return pieces


def _tokens_of(spec: Mapping[str, Any], description: Mapping[str, Any]) -> list[str]:
    """Return the tokens of a folder's `tokenizer.json` but the special ones, written as pieces.

    Those of an external tokenizer stay in a notation of their own.
    """
    vocabulary = spec["model"]["vocab"]
    tokens = [token if isinstance(token, str) else token[0] for token in vocabulary]
    if description["method"] == "external":
        return tokens[FIRST_PIECE_ID:]
    specials = {token["content"] for token in spec["added_tokens"]}
    tokens = [token for token in tokens if token not in specials]
    if description["normalization"] is not None:
        return tokens
    return list(map(notation_of(spec).piece, tokens))
