"""Pieces, the entries of a vocabulary, and the file that lists them.

Pieces are sentencepiece's: `▁` marks a word's start and no piece crosses a space. Special tokens
are no pieces: they take the ids before the first piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sagevocab.errors import UserError
from sagevocab.state import write_text

WORD_START = "▁"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FIRST_PIECE_ID = len(SPECIAL_TOKENS)
UNKNOWN_ID = SPECIAL_TOKENS.index("[UNK]")


def is_single_character(piece: str) -> bool:
    """Tell whether `piece` is one character, with or without `▁` before it; `▁` itself is.

    Such pieces are never pruned (paper, Section 3, footnote on single-character tokens).
    """
    return len(piece.removeprefix(WORD_START)) <= 1


def read_pieces(path: str | Path) -> list[str]:
    """Read `pieces.txt`: one piece a line, in id order, without special tokens.

    Raises:
        UserError: the file is missing, not UTF-8, empty, has an empty line or repeats a piece.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); name a pieces.txt") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 (byte {error.start}); write it as UTF-8") from error
    pieces = text.removesuffix("\n").split("\n")
    _check(pieces, str(path))
    return pieces


def write_pieces(path: str | Path, pieces: Sequence[str]) -> None:
    """Write `pieces.txt`, whole or not at all.

    Raises:
        UserError: there is no piece, or one is empty, repeated or holds a newline.
    """
    _check(pieces, str(path))
    write_text(path, "".join(f"{piece}\n" for piece in pieces))


def _check(pieces: Sequence[str], path: str) -> None:
    seen: dict[str, int] = {}
    for line, piece in enumerate(pieces, start=1):
        if not piece or "\n" in piece:
            raise UserError(f"{path}:{line}: {piece!r} is no piece; put one piece on each line")
        if piece in seen:
            raise UserError(
                f"{path}:{line}: {piece!r} stands on line {seen[piece]} already; remove one of them"
            )
        seen[piece] = line
    if not seen:
        raise UserError(f"{path}: holds no piece; put one piece on each line")
