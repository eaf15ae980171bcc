"""Lists of pieces, which people write and sentencepiece leaves beside a model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.pieces import SPECIAL_TOKENS, WORD_START, missing_characters

log = logging.getLogger(__name__)

_SPECIALS = {*SPECIAL_TOKENS, "<unk>", "<s>", "</s>", "<pad>", "<mask>"}


def listed_pieces(source: Path | Sequence[Any], key: str) -> list[str]:
    """Return the pieces of a list, and after them the single characters that it lacks.

    source: a file with one piece a line, or a list in Python.

    Raises:
        UserError: as `checked_pieces`.
    """
    if isinstance(source, Path):
        return with_characters(read_list(source, key), source)
    return with_characters(checked_pieces(source, key), "the list of pieces")


def with_characters(pieces: list[str], name: str | Path) -> list[str]:
    """Return the pieces of `name`, and after them the characters that greedy segmentation needs."""
    added = missing_characters(pieces)
    if added:
        log.warning("%s: %d characters of its pieces are added as pieces", name, len(added))
    return pieces + added


def read_list(path: Path, key: str) -> list[str]:
    """Read one piece a line; a score may follow after a tab, as in sentencepiece's .vocab files.

    Empty lines and special tokens are left out.

    Raises:
        UserError: this is no such list, or a piece crosses a space or is there twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{key}: {path} is not UTF-8 text; give a list of pieces, a .model or a folder"
        ) from error
    pieces = (line.removesuffix("\r").split("\t")[0] for line in lines)
    return checked_pieces(pieces, key, str(path))


def checked_pieces(pieces: Iterable[Any], key: str, path: str | None = None) -> list[str]:
    """Return the pieces of a list; empty ones and special tokens are left out.

    path: of the file that lists them, one a line; None for a list in Python.

    Raises:
        UserError: one is no text, crosses a space or is there twice, or there is none.
    """
    found: dict[str, int] = {}
    name = path or "the list"
    for number, piece in enumerate(pieces, start=1):
        place = f"{key}: {path}:{number}" if path else f"{key}: item {number}"
        if not isinstance(piece, str):
            raise UserError(f"{place} of the list is no text; give strings")
        if piece in {"", *_SPECIALS}:
            continue
        if WORD_START in piece[1:] or " " in piece or "\n" in piece:
            raise UserError(f"{place}: the piece {piece!r} crosses a space; take such pieces out")
        if found.setdefault(piece, number) != number:
            where = f"{'line' if path else 'item'} {found[piece]}"
            raise UserError(f"{place}: {piece!r} is on {where} already; remove one of them")
    if not found:
        raise UserError(f"{key}: {name} holds no pieces; give a list with one on each line")
    if not any(piece.startswith(WORD_START) for piece in found):
        raise UserError(
            f"{key}: no piece in {name} starts with {WORD_START}, which marks the start of words; "
            "write the list so, or give the Hugging Face folder it is from"
        )
    return list(found)
