"""Hugging Face tokenizers from elsewhere, read as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.huggingface.detect import tokenizer_json


def load_hub(path: Path, key: str) -> Tokenizer:
    """Load a Hugging Face folder or `tokenizer.json` as it is; nothing is downloaded.

    Raises:
        UserError: it is neither.
    """
    file = tokenizer_json(path, key)
    try:
        return Tokenizer.from_file(str(file)) if file else _converted(path)
    except Exception as error:  # the library raises bare exceptions of many kinds
        if file:
            problem = f"{file} is not a Hugging Face tokenizer, or is damaged ({error})"
            raise UserError(f"{key}: {problem}; copy or build it again, or give another") from error
        problem = f"{path} is not a Hugging Face tokenizer folder ({error})"
        raise UserError(f"{key}: {problem}; give one with a tokenizer.json") from error


def _converted(folder: Path) -> Tokenizer:
    """Let `transformers` make a `tokenizer.json` of an older folder; nothing is downloaded."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        advice = "pip install 'sagevocab[transformers]', or give a folder with a tokenizer.json"
        raise UserError(f"{folder}: needs the package transformers; {advice}") from error

    tokenizer = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    return tokenizer.backend_tokenizer


def tokenizer_of(source: Any, key: str) -> Tokenizer:
    """Return the tokenizer that an object is, or that one of `transformers` has.

    Raises:
        UserError: it is neither.
    """
    tokenizer = getattr(source, "backend_tokenizer", source)
    if not isinstance(tokenizer, Tokenizer):
        raise UserError(
            f"{key}: {type(source).__name__} is not a tokenizer that can be read; give a folder, "
            "a file, a list of pieces, or a fast tokenizer of transformers or tokenizers"
        )
    return tokenizer


def parsed(tokenizer: Tokenizer, key: str) -> dict[str, Any]:
    """Return the parsed `tokenizer.json` of a tokenizer.

    Raises:
        UserError: it has parts of its own code.
    """
    try:
        return json.loads(tokenizer.to_str())
    except Exception as error:  # of parts that are Python code
        raise UserError(
            f"{key}: this tokenizer has parts of its own code and cannot be written ({error}); "
            "give one that a tokenizer.json holds whole"
        ) from error
