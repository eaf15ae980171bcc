"""How a tokenizer writes in its tokens what pieces write with `▁`, and the parts of a file.

Inside this library `▁` marks the start of words. BERT marks the inside of words instead (`##ing`),
GPT-2 writes a space as `Ġ`, one of the letters that it writes bytes with.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sagevocab.pieces import WORD_START

_BYTE_SPACE = "Ġ"  # GPT-2's letter for the byte of a space; `▁` is not among its letters
_APART = "\u241f"  # the symbol for a separator, which stands in no vocabulary


def piece_of_letters(token: str) -> str:
    """Return a token of letters of bytes as a piece."""
    return token.replace(_BYTE_SPACE, WORD_START)


def letters_of_piece(piece: str) -> str:
    """Return a piece of letters of bytes as the token that it was."""
    return piece.replace(WORD_START, _BYTE_SPACE)


def steps_of(part: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the steps of a pre-tokenizer or post-processor, however deep they are nested."""
    if part is None:
        return []
    inner = part.get("pretokenizers", part.get("processors"))
    return [part] if inner is None else [step for each in inner for step in steps_of(each)]


def unknown_of(model: Mapping[str, Any]) -> str | None:
    """Return the unknown token of a parsed model, if it has one."""
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

    No two are the same. A token whose piece another one has stays as it is; where it is that of
    another one, too, a mark follows. Bytes that have no form as a piece (more than one space, a
    newline) stay letters.

    Args:
        tokens: as the tokenizer has them.
        spec: the parsed `tokenizer.json`, which says how tokens are written.
    """
    prefix = spec["model"].get("continuing_subword_prefix")
    writes_bytes = '"ByteLevel"' in json.dumps([spec["normalizer"], spec["pre_tokenizer"]])
    found: dict[str, None] = {}
    for token in tokens:
        piece = token
        if prefix:
            is_inside = token.startswith(prefix) and token != prefix
            piece = token.removeprefix(prefix) if is_inside else WORD_START + token
        elif writes_bytes:
            piece = _from_bytes(token) or token
        piece = piece.replace("\n", "\\n")
        if piece in found:
            piece = token.replace("\n", "\\n")
        while piece in found:
            piece += _APART
        found[piece] = None
    return list(found)


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
