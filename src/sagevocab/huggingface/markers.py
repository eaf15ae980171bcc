"""Notations of pieces: how a tokenizer writes in its tokens what pieces write with `▁`.

Inside this library `▁` marks the start of words. BERT marks the inside of words instead (`##ing`),
GPT-2 writes a space as `Ġ`, one of the letters that it writes bytes with. A notation reads tokens
as pieces, for people and for counts.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sagevocab.pieces import WORD_START

BYTE_SPACE = "Ġ"  # GPT-2's letter for the byte of a space; `▁` is none of its letters
# Noncharacters, which no text holds, for what pieces cannot: a `▁` of the text, a line end.
_LITERAL_MARK, _LINE_END = "\ufdd0", "\ufdd1"


class Notation:
    """A notation with a mark of its own for the start of words, or none.

    mark: it stands where pieces have `▁`, and the other way round.
    """

    def __init__(self, mark: str = WORD_START) -> None:
        """Take the mark."""
        pairs = {mark: WORD_START, WORD_START: mark, "\n": _LINE_END, _LINE_END: "\n"}
        self._swapped = str.maketrans(pairs)

    def piece(self, token: str) -> str:
        """Return the piece of a token, or the word of a text as the tokenizer's model gets it."""
        return token.translate(self._swapped)

    def token(self, piece: str) -> str:
        """Return the token of a piece."""
        return piece.translate(self._swapped)


class Prefixed(Notation):
    """A notation with a prefix inside words: `##ing` is `ing`, `play` is `▁play`."""

    def __init__(self, prefix: str) -> None:
        """Take the prefix."""
        super().__init__()
        self._prefix = prefix
        self._hidden = str.maketrans({WORD_START: _LITERAL_MARK, "\n": _LINE_END})

    def piece(self, token: str) -> str:
        """Return the piece of a token."""
        hidden = token.translate(self._hidden)
        is_inside = token.startswith(self._prefix) and token != self._prefix
        return hidden.removeprefix(self._prefix) if is_inside else WORD_START + hidden


def notation_of(spec: Mapping[str, Any]) -> Notation:
    """Return the notation of a parsed `tokenizer.json`."""
    if prefix := spec["model"].get("continuing_subword_prefix"):
        return Prefixed(prefix)
    if writes_bytes(spec):
        return Notation(BYTE_SPACE)
    steps = steps_of(spec["pre_tokenizer"])
    marks = [step["replacement"] for step in steps if step["type"] == "Metaspace"]
    return Notation(*marks[:1])


def writes_bytes(spec: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer's words are letters of bytes."""
    return '"ByteLevel"' in json.dumps([spec["normalizer"], spec["pre_tokenizer"]])


def steps_of(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the steps of a pre-tokenizer or post-processor, however deep they are nested."""
    if part is None:
        return []
    inner = part.get("pretokenizers", part.get("processors"))
    return [part] if inner is None else [step for each in inner for step in steps_of(each)]


def unknown_of(model: Mapping[str, Any]) -> str | None:
    """Return a parsed model's own unknown token, if it has one."""
    if model["type"] != "Unigram":
        return model.get("unk_token")
    return None if model["unk_id"] is None else model["vocab"][model["unk_id"]][0]


def merges_of(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a parsed BPE's merges by rank, which files have as pairs or as `a b`."""
    given = model["merges"]
    return [tuple(one.split(" ")) if isinstance(one, str) else tuple(one) for one in given]


# --- pieces to read


def readable_pieces(tokens: Iterable[str], spec: Mapping[str, Any]) -> list[str]:
    """Return the pieces of tokens, with the text that letters of bytes stand for.

    A token of bytes that has no such form (more than one space, a newline), or whose form another
    one has, stays as it is; a mark after it keeps it apart from a form that is spelt like it.

    Args:
        tokens: as the tokenizer has them.
        spec: the parsed `tokenizer.json`, which determines the notation.
    """
    notation = notation_of(spec)
    if isinstance(notation, Prefixed) or not writes_bytes(spec):
        return list(map(notation.piece, tokens))
    taken: dict[str, None] = {}
    for token in tokens:
        form = (_from_bytes(token) or token).replace("\n", "\\n")
        if form in taken:
            form = token.replace("\n", "\\n")
        while form in taken:
            form += "\u241f"  # the symbol for a separator, which stands in no vocabulary
        taken[form] = None
    return list(taken)


def _from_bytes(token: str) -> str | None:
    letters = _bytes_of_letters()
    if not letters.keys() >= set(token):
        return None
    data = bytes(letters[letter] for letter in token)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:  # part of a character: as sentencepiece writes bytes
        return "".join(f"<0x{byte:02X}>" for byte in data)
    word = text.removeprefix(" ")
    return None if word != word.strip() else WORD_START * text.startswith(" ") + word


@functools.cache
def _bytes_of_letters() -> dict[str, int]:
    """Return the byte that each of GPT-2's letters stands for."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in shown]
    letters = {chr(byte): byte for byte in shown}
    return letters | {chr(256 + number): byte for number, byte in enumerate(others)}
