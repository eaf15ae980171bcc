"""What kind of tokenizer there is at a path, and what it is called.

Nothing heavy is imported: the plan of a workflow looks at tokenizers, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.files import path_text

ADVICE = "check the path; a tokenizer of the hub is downloaded first (hf download NAME)"
_TO_GIVE = "give a Hugging Face folder, a sentencepiece .model or a list of pieces"


def kind_of(path: Path) -> str:
    """Return what kind of tokenizer a path names: hub, model or list."""
    if path.is_dir() or path.suffix == ".json":
        return "hub"
    return "model" if path.suffix == ".model" else "list"


def require_tokenizer(path: Path, key: str = "tokenizer", to_give: str = _TO_GIVE) -> None:
    """Refuse a path where there is nothing.

    Args:
        path: of the tokenizer.
        key: what the message begins with.
        to_give: what to give, for the message.

    Raises:
        UserError: there is neither file nor folder.
    """
    if not path.exists():
        raise UserError(f"{key}: {path} does not exist; {to_give}; {ADVICE}")


def tokenizer_json(path: Path) -> Path:
    """Return the file of the Hugging Face tokenizer at a path: in a folder, or the file itself."""
    return path / "tokenizer.json" if path.is_dir() else path


# --- what it is called


def path_of(source: Any) -> str | os.PathLike | None:
    """Return where a tokenizer is: the path that it is, or knows; None for an object without."""
    path = getattr(source, "path", source)
    return path if isinstance(path, str | os.PathLike) else None


def name_of(source: Any) -> str:
    """Return what a tokenizer is called: its path, the name that it knows, or its class."""
    path = path_of(source)
    if path is not None:
        return path_text(os.fspath(path))
    if isinstance(source, list | tuple):
        return "a list of pieces"
    return str(getattr(source, "name_or_path", "") or type(source).__name__)
