"""Hugging Face tokenizers from elsewhere, read as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.huggingface.detect import path_of, tokenizer_json


def load_hub(source: Any, key: str) -> Tokenizer:
    """Return the tokenizer of Hugging Face that is at a path, or that an object is or has.

    Args:
        source: a folder, a `tokenizer.json`, or a tokenizer of `tokenizers` or `transformers`.
        key: what messages begin with.

    Raises:
        UserError: it is none of these.
    """
    path = path_of(source)
    if path is not None:
        return _read(tokenizer_json(Path(path)), key)
    tokenizer = getattr(source, "backend_tokenizer", source)
    if not isinstance(tokenizer, Tokenizer):
        raise UserError(
            f"{key}: {type(source).__name__} is not a tokenizer that can be read; give a folder, "
            "a file, or a fast tokenizer of transformers or tokenizers"
        )
    return tokenizer


def _read(file: Path, key: str) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare exceptions of many kinds
        raise UserError(
            f"{key}: {file} cannot be read as a tokenizer of Hugging Face ({error}); copy it "
            "again, or load it with AutoTokenizer of transformers and save it"
        ) from error


def parsed(tokenizer: Tokenizer, key: str) -> dict[str, Any]:
    """Return the parsed `tokenizer.json` of a tokenizer.

    Args:
        tokenizer: of Hugging Face.
        key: what messages begin with.

    Raises:
        UserError: it has parts that are Python code, or segments at random.
    """
    try:
        spec = json.loads(tokenizer.to_str())
    except Exception as error:  # the library raises bare exceptions
        raise UserError(
            f"{key}: has parts that are Python code and cannot be written ({error}); give "
            "one that a tokenizer.json holds whole"
        ) from error
    if spec["model"].get("dropout"):
        raise UserError(f"{key}: segments at random (dropout); set model.dropout to None")
    return spec
