"""Pieces, the entries of a vocabulary, and the files of a folder that say what they are.

Pieces are sentencepiece's: `▁` marks a word's start and no piece crosses a space. Special tokens
are no pieces: they take the ids before the first piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagevocab.errors import UserError
from sagevocab.state import write_text

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

METHODS = ("greedy", "merges", "unigram", "external")  # how words of a folder are segmented
WORD_START = "▁"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FIRST_PIECE_ID = len(SPECIAL_TOKENS)
UNKNOWN_ID = SPECIAL_TOKENS.index("[UNK]")
# What is said of a file that should be a sentencepiece model.
NO_MODEL = (
    "is no sentencepiece model, or was cut; copy it again or train it again, or, if it is a list "
    "of pieces, let its name end in .txt"
)
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")  # of a model or data set
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def is_single_character(piece: str) -> bool:
    """Return whether `piece` is one character, with or without `▁` before it; `▁` itself is.

    Such pieces are never pruned (paper, Section 3, footnote on single-character tokens).
    """
    return len(piece.removeprefix(WORD_START)) <= 1


def prunable(pieces: Sequence[str]) -> list[bool]:
    """Return which pieces may be pruned: those of several characters that have pieces, too.

    A piece that holds a character without a piece of its own stays, so that the words that it
    covers stay covered. Only vocabularies from elsewhere have such pieces.
    """
    singles = set(filter(is_single_character, pieces))

    def covered(piece: str) -> bool:
        marked = piece.startswith(WORD_START) and WORD_START not in singles
        rest = piece[2:] if marked else piece
        return singles.issuperset(rest) and (not marked or piece[:2] in singles)

    return [not is_single_character(piece) and covered(piece) for piece in pieces]


def check_singles(pieces: Sequence[str], final_size: int) -> None:
    """Check that pruning `pieces` to a size leaves the single characters.

    Raises:
        UserError: there are more of them than that.
    """
    singles = prunable(pieces).count(False)
    if final_size < singles:
        raise UserError(
            f"vocabulary.final_size: {final_size} is below the {singles} single characters, which "
            "are never pruned; raise it, or start from fewer characters (where they are trained, "
            "lower vocabulary.character_coverage or turn vocabulary.ascii off)"
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
                f"{path}:{line}: {piece!r} is on line {seen[piece]} already; remove one of them"
            )
        seen[piece] = line
    if not seen:
        raise UserError(f"{path}: holds no piece; put one piece on each line")


def tokens_by_id(tokenizer: Tokenizer) -> list[str]:
    """Return every token of a Hugging Face tokenizer, by its id."""
    numbers = tokenizer.get_vocab()
    return sorted(numbers, key=numbers.__getitem__)


def encode_batch(tokenizer: Tokenizer, texts: list[str]) -> list[Encoding]:
    """Encode texts with a Hugging Face tokenizer, without special tokens.

    Raises:
        UserError: it cannot: one without an unknown token has none for some character, or a text
            holds half a surrogate pair.
    """
    try:
        return tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    except Exception as error:  # the library raises nothing more specific
        for text in texts:
            if half := _HALF_PAIR.search(text):
                raise UserError(
                    f"text: holds half a surrogate pair at position {half.start() + 1}; decode it "
                    "anew, or give text.encode('utf-8', 'replace').decode()"
                ) from error
        raise UserError(
            f"tokenizer: cannot segment this text ({error}); give one with an unknown token"
        ) from error


# --- folders that this project wrote


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
    from sagevocab.notation import notation_of

    vocabulary = spec["model"]["vocab"]
    tokens = [token if isinstance(token, str) else token[0] for token in vocabulary]
    if description["method"] == "external":
        return tokens[FIRST_PIECE_ID:]
    specials = {token["content"] for token in spec["added_tokens"]}
    tokens = [token for token in tokens if token not in specials]
    if description["normalization"] is not None:
        return tokens
    return list(map(notation_of(spec).piece, tokens))


def piece_length(piece: str, count_word_start: bool = False) -> int:
    """Return the length of a piece in characters, with or without its `▁`.

    A byte, written as `<0xE6>`, counts as one.
    """
    piece = _BYTE.sub("?", piece)
    marked = piece.startswith(WORD_START) and not count_word_start
    return len(piece) - len(WORD_START) if marked else len(piece)
