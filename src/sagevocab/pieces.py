"""Pieces, the entries of a vocabulary, and the files of a folder that say what they are.

Pieces are sentencepiece's: `▁` marks a word's start and no piece crosses a space. Special tokens
are not pieces: they take the ids before the first piece.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagevocab.errors import SettingError, UserError
from sagevocab.files import write_text

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

log = logging.getLogger(__name__)

WORD_START = "▁"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
UNKNOWN_ID = SPECIAL_TOKENS.index("[UNK]")
# What is said of a file that should be a sentencepiece model.
NO_MODEL = (
    "is not a sentencepiece model, or was cut; copy it again or train it again, or, if it is a "
    "list of pieces, let its name end in .txt"
)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_SHOWN = 60  # characters of a piece in a message
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def is_single_character(piece: str) -> bool:
    """Return whether `piece` is one character, with or without `▁` before it; `▁` itself is.

    Such pieces are never pruned (paper, Section 3, footnote on single-character tokens).
    """
    return len(piece.removeprefix(WORD_START)) <= 1


def prunable(pieces: Sequence[str]) -> list[bool]:
    """Return which pieces may be pruned: those of several characters."""
    return [not is_single_character(piece) for piece in pieces]


def check_singles(pieces: Sequence[str], vocab_size: int) -> None:
    """Check that pruning `pieces` to a size leaves the single characters.

    Raises:
        UserError: there are more of them than that.
    """
    singles = [piece for piece in pieces if is_single_character(piece)]
    if vocab_size < len(singles):
        # A larger initial vocabulary may have more of them: each with `▁` and without it.
        most = 2 * len({piece.removeprefix(WORD_START) for piece in singles})
        raise SettingError(
            "vocabulary.vocab_size",
            f"{vocab_size} is below the {len(singles)} single characters, which are never pruned; "
            f"set it to {most} or more, or start from fewer characters (where they are trained, "
            "lower vocabulary.character_coverage or turn vocabulary.ascii off)",
        )


def missing_characters(pieces: Sequence[str]) -> list[str]:
    """Return the characters that are part of a piece, or `▁`, and no piece themselves; sorted."""
    return sorted({WORD_START, *"".join(pieces)} - set(pieces))


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
        raise UserError(
            f"{path}: is not UTF-8 (byte {error.start}); write it as UTF-8, or copy or build it "
            "again if it was cut"
        ) from error
    return _distinct(enumerate(text.removesuffix("\n").split("\n"), 1), str(path), f"{path}:")


def write_pieces(path: str | Path, pieces: Sequence[str]) -> None:
    """Write `pieces.txt`, whole or not at all.

    Raises:
        UserError: there is not a piece, or one is empty, repeated or holds a newline.
    """
    pieces = _distinct(enumerate(pieces, start=1), str(path), f"{path}:")
    write_text(path, "".join(f"{piece}\n" for piece in pieces))


def _distinct(numbered: Iterable[tuple[int, str]], name: str, before: str) -> list[str]:
    """Return pieces without the number of the line or item that each comes with.

    In messages, name: of the list; before: what stands before a number.

    Raises:
        UserError: there is none, or one is empty, repeated or holds a newline.
    """
    found: dict[str, int] = {}
    for number, piece in numbered:
        if not piece or "\n" in piece:
            reason = f"{piece!r} is not a piece; put one piece on each line"
            raise UserError(f"{before}{number}: {reason}")
        if found.setdefault(piece, number) != number:
            reason = f"{piece!r} is there already ({found[piece]}); remove one of them"
            raise UserError(f"{before}{number}: {reason}")
    if not found:
        raise UserError(f"{name}: holds no pieces; give a list with one on each line")
    return list(found)


def tokens_by_id(tokenizer: Tokenizer) -> list[str]:
    """Return every token of a Hugging Face tokenizer, by its id."""
    numbers = tokenizer.get_vocab()
    return sorted(numbers, key=numbers.__getitem__)


def encode_batch(tokenizer: Tokenizer, texts: list[str]) -> list[Encoding]:
    """Encode texts with a Hugging Face tokenizer, without special tokens.

    Raises:
        UserError: it cannot: one without an unknown token has none for some character, or a text
            is not a string or holds half a surrogate pair.
    """
    try:
        return tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    except Exception as error:  # the library raises nothing more specific
        for text in texts:
            if not isinstance(text, str):
                raise UserError(
                    f"text: {type(text).__name__} is not a string; give strings alone"
                ) from error
            if half := _HALF_PAIR.search(text):
                raise UserError(
                    f"text: holds half a surrogate pair at position {half.start() + 1}; decode it "
                    "anew, or give text.encode('utf-8', 'replace').decode()"
                ) from error
        raise UserError(
            f"tokenizer: cannot segment this text ({error}); give one with an unknown token"
        ) from error


def piece_length(piece: str, count_word_start: bool = False) -> int:
    """Return the length of a piece in characters, with or without its `▁`.

    A byte, written as `<0xE6>`, counts as one.
    """
    piece = _BYTE.sub("?", piece)
    marked = piece.startswith(WORD_START) and not count_word_start
    return len(piece) - len(WORD_START) if marked else len(piece)


# --- lists that people write

_LISTED_SPECIALS = {*SPECIAL_TOKENS, "<unk>", "<s>", "</s>", "<pad>", "<mask>"}
_SCORED = re.compile(r"[^\t]+\t-?\d\S*")  # a line of sentencepiece's .vocab


def listed_pieces(source: Path | Sequence[Any], key: str) -> list[str]:
    """Return the pieces of a list, and after them the single characters that it lacks.

    Args:
        source: a file with one piece a line, or a list in Python.
        key: what messages begin with.

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
    """Read one piece a line.

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
    # Its ids and its segmentation would be lost.
    if _SCORED.fullmatch(lines[0].removesuffix("\r")):
        raise UserError(
            f"{key}: {path} lists pieces with scores, as sentencepiece does beside a model; give "
            "the .model itself"
        )
    return checked_pieces((line.removesuffix("\r") for line in lines), key, str(path))


def checked_pieces(pieces: Iterable[Any], key: str, path: str | None = None) -> list[str]:
    """Return the pieces of a list; empty ones and special tokens are left out.

    Args:
        pieces: of the list.
        key: what messages begin with.
        path: of the file that lists them, one a line; None for a list in Python.

    Raises:
        UserError: one is not text, crosses a space or is there twice, or there is none.
    """
    name = path or "the list"
    before = f"{key}: {path}:" if path else f"{key}: item "

    def ordinary() -> Iterator[tuple[int, str]]:
        for number, piece in enumerate(pieces, start=1):
            if not isinstance(piece, str):
                raise UserError(f"{before}{number} of the list is not text; give strings")
            if piece in {"", *_LISTED_SPECIALS}:
                continue
            if WORD_START in piece[1:] or " " in piece or "\n" in piece:
                shown = repr(piece) if len(piece) <= _SHOWN else f"{piece[:_SHOWN]!r}..."
                reason = f"the piece {shown} crosses a space; take such pieces out"
                raise UserError(f"{before}{number}: {reason}")
            yield number, piece

    found = _distinct(ordinary(), f"{key}: {name}", before)
    if not any(piece.startswith(WORD_START) for piece in found):
        raise UserError(
            f"{key}: no piece in {name} starts with {WORD_START}, which marks the start of words; "
            "write the list so"
        )
    return found
