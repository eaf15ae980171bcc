"""Hugging Face tokenizers as they segment by themselves, with this library's special tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer

from sagevocab.huggingface.export import unlikely
from sagevocab.huggingface.markers import readable_pieces, steps_of
from sagevocab.huggingface.pipelines import add_special_tokens, renumbered_added
from sagevocab.huggingface.pretrained import parsed, unknown_of
from sagevocab.huggingface.special_tokens import BERT
from sagevocab.pieces import FIRST_PIECE_ID, SPECIAL_TOKENS, UNKNOWN_ID, tokens_by_id

_SPACES = [
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    {"type": "Strip", "strip_left": True, "strip_right": True},
]
# What lets pre-tokenizers that open words with a space or `▁` do it for every word.
_OPENS_EVERY_WORD = {
    "ByteLevel": {"add_prefix_space": True},
    "Metaspace": {"prepend_scheme": "always"},
}


def adapt_hub_tokenizer(tokenizer: Tokenizer, key: str) -> tuple[Tokenizer, list[str]]:
    """Renumber a tokenizer: this project's special tokens first, then its pieces by their ids.

    Normalisation, splitting into words, model and decoder stay, except for what makes the pieces of
    a word depend on its place in a text: surrounding and repeated spaces are dropped, and a word
    that opens a text is treated like any other. Returns the tokenizer and its pieces in `▁`
    notation.

    Raises:
        UserError: it has parts of its own code.
    """
    spec = parsed(tokenizer, key)
    tokens = _kept_tokens(tokenizer, spec)
    _renumber(spec["model"], tokens)
    numbers = {token: number for number, token in enumerate(tokens, start=FIRST_PIECE_ID)}
    spec["added_tokens"] = renumbered_added(spec["added_tokens"], numbers)
    own = [spec["normalizer"]] if spec["normalizer"] else []
    spec["normalizer"] = {"type": "Sequence", "normalizers": [*_SPACES, *own]}
    for step in steps_of(spec["pre_tokenizer"]):
        step.update(_OPENS_EVERY_WORD.get(step["type"], {}))
    spec.update(post_processor=None, truncation=None, padding=None)
    adapted = Tokenizer.from_str(json.dumps(spec))
    add_special_tokens(adapted, BERT)
    return adapted, readable_pieces(tokens, spec)


def _kept_tokens(tokenizer: Tokenizer, spec: Mapping[str, Any]) -> list[str]:
    """Return every token but the special ones, by id."""
    specials = {token["content"] for token in spec["added_tokens"] if token["special"]}
    specials |= {*SPECIAL_TOKENS, unknown_of(spec["model"])}
    return [token for token in tokens_by_id(tokenizer) if token not in specials]


def _renumber(model: dict[str, Any], tokens: Sequence[str]) -> None:
    """Give the special tokens ids 0 to 4 and `tokens` the ids after these, in place."""
    has_unknown = unknown_of(model) is not None
    if model["type"] == "Unigram":
        scores = dict(model["vocab"])
        lowest = unlikely(scores.values())
        model["vocab"] = [[token, lowest] for token in SPECIAL_TOKENS]
        model["vocab"] += [[token, scores.get(token, lowest)] for token in tokens]
        model["unk_id"] = UNKNOWN_ID if has_unknown else None
        return
    model["vocab"] = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *tokens])}
    if has_unknown:
        model["unk_token"] = SPECIAL_TOKENS[UNKNOWN_ID]
