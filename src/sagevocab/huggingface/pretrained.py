"""Hugging Face tokenizers from elsewhere, read as they are."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.huggingface.detect import tokenizer_json
from sagevocab.huggingface.special_tokens import SPELLINGS, roles_of


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


def hub_parts(source: Any, key: str) -> tuple[Tokenizer, dict[str, Any]]:
    """Return a tokenizer and its configuration, of a folder, a `tokenizer.json` or an object.

    Args:
        source: a path, a `tokenizers.Tokenizer`, or a tokenizer of `transformers`.
        key: what messages begin with.

    Raises:
        UserError: it is none of these, or is damaged.
    """
    if isinstance(source, Path):
        return load_hub(source, key), _configuration(source) if source.is_dir() else {}
    tokenizer = tokenizer_of(source, key)
    if tokenizer is source:
        return source, {}
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
        source.save_pretrained(folder)
        return hub_parts(Path(folder), key)


def _configuration(folder: Path) -> dict[str, Any]:
    """Return what a folder says of its tokenizer beside `tokenizer.json`."""
    found: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        with suppress(OSError, ValueError, TypeError):
            found.update(json.loads((folder / name).read_text(encoding="utf-8")))
    with suppress(OSError):
        found["chat_template"] = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    return found


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


def roles_in(
    configuration: Mapping[str, Any], spec: Mapping[str, Any], order: Sequence[str]
) -> dict[str, str]:
    """Return the roles of tokens: as configured, else by the spelling of special tokens."""
    special = [token["content"] for token in spec["added_tokens"] if token["special"]]
    given = {role: _content(configuration.get(role)) for role in SPELLINGS}
    known = set(order)
    if any(given.values()):
        return {role: token for role, token in given.items() if token in known}
    return roles_of(special)


def _content(token: Any) -> str | None:
    """Return the text of a token as configurations write it: as it is, or with its flags."""
    text = token.get("content") if isinstance(token, Mapping) else token
    return text if isinstance(text, str) else None
