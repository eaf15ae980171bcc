"""Special tokens of a tokenizer: their order, their roles, and what goes around a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sagevocab.errors import UserError
from sagevocab.pieces import SPECIAL_TOKENS, UNKNOWN_ID, WORD_START

UNKNOWN = SPECIAL_TOKENS[UNKNOWN_ID]
END_OF_TEXT = "<|endoftext|>"  # GPT-2's
# By the names of `tokenizer_config.json`; the rest of a list are additional special tokens.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "pad_token": ("[PAD]", "<pad>", "<|pad|>"),
    "unk_token": ("[UNK]", "<unk>", "<|unk|>"),
    "cls_token": ("[CLS]", "<cls>"),
    "sep_token": ("[SEP]", "<sep>"),
    "mask_token": ("[MASK]", "<mask>", "<|mask|>"),
    "bos_token": ("[BOS]", "<s>", "<bos>", "<|startoftext|>", "<|begin_of_text|>", END_OF_TEXT),
    "eos_token": ("[EOS]", "</s>", "<eos>", "<|end_of_text|>", END_OF_TEXT),
}


@dataclass(frozen=True)
class SpecialTokens:
    """The special tokens of a tokenizer.

    tokens: in the order of their ids, which begin at 0. roles: token by its role in
    `tokenizer_config.json`. as_bert: whether [CLS] and [SEP] go around a text and a pair of texts,
    of 512 tokens at most.
    """

    tokens: tuple[str, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    as_bert: bool = False

    @property
    def unknown(self) -> str | None:
        """The token of what has no piece."""
        return self.roles.get("unk_token")

    def configuration(self) -> dict[str, Any]:
        """Return what `tokenizer_config.json` says of them."""
        roles = by_role(self.roles, self.tokens)
        if not self.as_bert:
            return {**roles, "model_input_names": ["input_ids", "attention_mask"]}
        names = ["input_ids", "token_type_ids", "attention_mask"]
        return {**roles, "model_input_names": names, "model_max_length": 512}


BERT = SpecialTokens(
    SPECIAL_TOKENS,
    dict(
        zip(
            ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"),
            SPECIAL_TOKENS,
            strict=True,
        )
    ),
    as_bert=True,
)
KINDS = {
    "bert": BERT,
    "gpt": SpecialTokens(
        (END_OF_TEXT,),
        {"bos_token": END_OF_TEXT, "eos_token": END_OF_TEXT, "pad_token": END_OF_TEXT},
    ),
    "none": SpecialTokens(()),
}


def special_tokens_of(
    given: str | Sequence[str] = "bert", *, lossless: bool = False
) -> SpecialTokens:
    """Return the special tokens that a user means.

    Args:
        given: `bert`, `gpt`, `none`, or the tokens themselves, as a list or with commas between,
            whose roles are found by well-known spellings.
        lossless: whether text is written in bytes; else `[UNK]` is added if no unknown token is
            among them.

    Returns:
        The tokens, with their roles.

    Raises:
        UserError: a token is there twice, or cannot be one.
    """
    if not isinstance(given, str | Sequence):
        raise UserError(f"special_tokens: {given!r} is not a list; give bert, gpt, none or a list")
    tokens = _kind(given) if isinstance(given, str) else _listed(given)
    if tokens.unknown is None and not lossless:
        roles = {**tokens.roles, "unk_token": UNKNOWN}
        tokens = replace(tokens, tokens=(*tokens.tokens, UNKNOWN), roles=roles)
    return tokens


def _kind(name: str) -> SpecialTokens:
    """Return a set by its name, or of the tokens that a text lists with commas between."""
    if "," in name or name[:1] in ("<", "["):
        return _listed(map(str.strip, name.split(",")))
    if name not in KINDS:
        raise UserError(
            f"special_tokens: {name!r} is unknown; choose {', '.join(KINDS)} or a list of tokens"
        )
    return KINDS[name]


def _listed(tokens: Iterable[str]) -> SpecialTokens:
    listed = tuple(tokens)
    for token in listed:
        if not isinstance(token, str) or len(token) < 2 or token.split() != [token]:
            raise UserError(
                f"special_tokens: {token!r} is not a token; give two characters or more, no spaces"
            )
        if listed.count(token) > 1:
            raise UserError(f"special_tokens: {token!r} is there twice; remove one of them")
    refuse_words(listed, "special_tokens")
    return SpecialTokens(listed, roles_of(listed))


def refuse_words(tokens: Iterable[str], place: str) -> None:
    """Refuse special tokens that are words: the tokenizer would cut texts at these words.

    Raises:
        UserError: there is one; it begins with `place`.
    """
    for token in tokens:
        if (word := token.removeprefix(WORD_START)).isalpha():
            raise UserError(
                f"{place}: the special token {token!r} is a word, at which texts would be cut; "
                f"spell it otherwise, such as '<{word}>'"
            )


def by_role(roles: Mapping[str, str], tokens: Iterable[str]) -> dict[str, Any]:
    """Return special tokens as `tokenizer_config.json` names them: by role, and the others."""
    others = [token for token in tokens if token not in roles.values()]
    return {**roles, "additional_special_tokens": others} if others else dict(roles)


def roles_of(tokens: Iterable[str]) -> dict[str, str]:
    """Return the roles that tokens have by their spelling; of two for one role, the first."""
    roles: dict[str, str] = {}
    for token in tokens:
        for role, spellings in SPELLINGS.items():
            if token in spellings:
                roles.setdefault(role, token)
    return roles
