"""Tokenizers of Hugging Face's `tokenizers` that give the ids of this library's segmenters.

Every one has the same frame: sentencepiece's normalisation, words opened by `▁`, words cut at
`max_word_chars`, BERT's special tokens with ids 0 to 4 and its `[CLS] A [SEP] B [SEP]`. Text that
spells a special token is that special token, unless the caller asks for `split_special_tokens`; to
the library it is always text. What follows a special token without a space is the inside of a word
(`[MASK]ing`), and the space before one leaves nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from sagevocab.errors import UserError
from sagevocab.vocab.pieces import FIRST_PIECE_ID, SPECIAL_TOKENS, UNKNOWN_ID, WORD_START
from sagevocab.vocab.words import character_map

UNKNOWN = SPECIAL_TOKENS[UNKNOWN_ID]
_NO_LIMIT = 1_000_000_000  # of characters in a word: words are cut before the model sees them


def greedy_tokenizer(pieces: Sequence[str], normalization: str, max_word_chars: int) -> Tokenizer:
    """Return the tokenizer that matches the longest piece from the left inside each word.

    It is `WordPiece` without a prefix for the inside of words. That model gives up a whole word for
    one character it cannot match, so characters without a piece are split off before.

    Raises:
        ValueError: a character is part of a piece but no piece; greedy matching has no floor then.
    """
    if missing := missing_characters(pieces):
        raise ValueError(f"the character {missing[0]!r} is part of a piece but no piece itself")
    model = models.WordPiece(
        vocab=_numbered(pieces),
        unk_token=UNKNOWN,
        continuing_subword_prefix="",
        max_input_chars_per_word=_NO_LIMIT,
    )
    steps = [_chunks(max_word_chars), _uncovered(pieces), _no_special_inside(pieces)]
    return _framed(model, normalization, steps)


def merge_tokenizer(
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]],
    normalization: str,
    max_word_chars: int,
) -> Tokenizer:
    """Return the tokenizer that merges neighbours by rank, as sentencepiece does."""
    model = models.BPE(
        vocab=_numbered(pieces), merges=list(merges), unk_token=UNKNOWN, fuse_unk=False
    )
    return _framed(model, normalization, [_chunks(max_word_chars)])


def unigram_tokenizer(
    pieces: Sequence[str], scores: Sequence[float], normalization: str, max_word_chars: int
) -> Tokenizer:
    """Return the tokenizer that takes the likeliest pieces of each word.

    scores: log probability of each piece. Special tokens get one so low that the model itself never
    chooses them. Characters without a piece are split off, each for an `[UNK]` of its own.
    """
    _numbered(pieces)
    lowest = 10 * min(scores) - 100
    entries = [(token, lowest) for token in SPECIAL_TOKENS]
    entries += zip(pieces, scores, strict=True)
    model = models.Unigram(entries, unk_id=UNKNOWN_ID, byte_fallback=False)
    return _framed(model, normalization, [_chunks(max_word_chars), _uncovered(pieces)])


def missing_characters(pieces: Sequence[str]) -> list[str]:
    """Return the characters that are part of a piece, or `▁`, and no piece themselves; sorted."""
    return sorted({WORD_START, *"".join(pieces)} - set(pieces))


def add_special_tokens(tokenizer: Tokenizer) -> None:
    """Give BERT's special tokens their meaning; the model has them under ids 0 to 4 already."""
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, SPECIAL_TOKENS.index(token)) for token in SPECIAL_TOKENS[2:4]],
    )


def _framed(
    model: models.Model, normalization: str, steps: Iterable[pre_tokenizers.PreTokenizer]
) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = _normalizer(normalization)
    # "first": only what opens a text gets a `▁` that its own space did not give it.
    words = pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="first", split=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, *steps])
    tokenizer.decoder = decoders.Metaspace(replacement=WORD_START, prepend_scheme="always")
    add_special_tokens(tokenizer)
    return tokenizer


def _normalizer(rule: str) -> normalizers.Normalizer:
    """Return `words.Normalizer`, except that it keeps a space that opens the text.

    It may follow a special token; the pre-tokenizer makes one `▁` of it.
    """
    charsmap = character_map(rule)
    return normalizers.Sequence(
        ([normalizers.Precompiled(charsmap)] if charsmap else [])
        + [
            normalizers.Replace(WORD_START, " "),
            normalizers.Replace(Regex(r"\A\s+"), " "),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(left=False, right=True),
        ]
    )


def _chunks(max_word_chars: int) -> pre_tokenizers.PreTokenizer:
    """Cut words as `words.split_words` does.

    `(?m)` lets the dot match a newline; `\\G` spares a search from each character of a short word.
    """
    return pre_tokenizers.Split(Regex(rf"\G(?m).{{{max_word_chars}}}"), "isolated")


def _uncovered(pieces: Iterable[str]) -> pre_tokenizers.PreTokenizer:
    """Split off every character that is no piece."""
    alphabet = sorted(piece for piece in pieces if len(piece) == 1)
    escaped = "".join(f"\\x{{{ord(character):X}}}" for character in alphabet)
    return pre_tokenizers.Split(Regex(f"[^{escaped}]"), "isolated")


def _no_special_inside(pieces: Sequence[str]) -> pre_tokenizers.PreTokenizer:
    """Cut a special token that normalised text spells, lest the model match it like a piece.

    The cut is where no piece reaches over it, so that it changes nothing else.
    """
    cuts = [(token, _free_cut(token, pieces)) for token in SPECIAL_TOKENS]
    heads = [f"{re.escape(token[:cut])}(?={re.escape(token[cut:])})" for token, cut in cuts]
    return pre_tokenizers.Split(Regex("|".join(heads)), "merged_with_previous")


def _free_cut(token: str, pieces: Sequence[str]) -> int:
    """Return the first place inside `token` that no piece reaches over; 1 if there is none."""
    pairs = {piece[at : at + 2] for piece in pieces for at in range(len(piece) - 1)}
    return next((cut for cut in range(1, len(token)) if token[cut - 1 : cut + 1] not in pairs), 1)


def _numbered(pieces: Sequence[str]) -> dict[str, int]:
    """Number the special tokens and the pieces.

    Raises:
        UserError: a piece is spelt like a special token.
    """
    if taken := sorted(set(SPECIAL_TOKENS).intersection(pieces)):
        raise UserError(
            f"vocabulary: {taken[0]!r} is a piece and a special token; "
            "take it out of the corpus or of the list of pieces"
        )
    numbers = {token: number for number, token in enumerate(SPECIAL_TOKENS)}
    return numbers | {piece: FIRST_PIECE_ID + number for number, piece in enumerate(pieces)}
