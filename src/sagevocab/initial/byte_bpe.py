r"""Tokenizers that give every text back: words as letters of bytes, nothing normalised.

Text is split into words with the space before them, and runs of white space. This is GPT-2's rule
without its classes of letters, which put `'s` or digits apart: pieces decide on those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import UserError
from sagevocab.huggingface.pipelines import HubFrame, add_special_tokens
from sagevocab.huggingface.special_tokens import SpecialTokens
from sagevocab.initial.sentencepiece_models import TooManyPiecesError
from sagevocab.pieces import tokens_by_id

_SPACE = r"[ \t\n\r\f\v]"
_OTHER = r"[^ \t\n\r\f\v]"
WORD = f" ?{_OTHER}+|{_SPACE}+(?!{_OTHER})|{_SPACE}+"
_LETTERS = 256


def lossless_frame(specials: SpecialTokens, max_word_chars: int) -> HubFrame:
    """Return the frame of a tokenizer that gives every text back, without pieces.

    max_word_chars: longer words are cut there, in bytes but not inside a character.

    Raises:
        UserError: a special token would not be given back: its letters stand for bytes.
    """
    decoder = decoders.ByteLevel()
    for token in specials.tokens:
        if decoder.decode([token]) != token:
            raise UserError(
                f"special_tokens: {token!r} is read as bytes where text is written in these; use "
                "ASCII characters"
            )
    numbers = {token: number for number, token in enumerate(specials.tokens)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token=specials.unknown or ""))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORD), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoder
    add_special_tokens(tokenizer, specials)
    spec = json.loads(tokenizer.to_str())
    spec["model"] = {"unk_token": specials.unknown}
    return HubFrame(spec, specials.tokens, specials.configuration(), max_word_chars)


def train_bytes(
    corpus: WordCorpus,
    size: int,
    frame: HubFrame,
    max_piece_length: int,
    *,
    name: str,
    key: str,
) -> Tokenizer:
    """Train byte-level BPE on a corpus; its result depends on the lines alone.

    Args:
        corpus: of the words of the frame.
        size: number of pieces, the 256 letters among them.
        frame: without pieces.
        max_piece_length: in bytes.
        name: of the text, for messages.
        key: the setting that the size is from, for messages.

    Returns:
        The tokenizer, of which only the model counts.

    Raises:
        UserError: the text allows no vocabulary of this size.
    """
    if size < _LETTERS:
        raise UserError(f"{key}: {size} pieces are fewer than the 256 bytes; set it to more")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = frame.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=max_piece_length,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_lines(corpus, frame), trainer)
    found = tokens_by_id(tokenizer)
    if len(found) < size:
        raise TooManyPiecesError(size, len(found), name, key)
    return tokenizer


def _lines(corpus: WordCorpus, frame: HubFrame) -> Iterator[str]:
    """Yield the lines of a corpus as they were, for nothing of them is lost."""
    decoder = decoders.ByteLevel()
    texts = [decoder.decode([frame.notation.token(word)]) for word in corpus.types]
    for start, end in pairwise(corpus.line_offsets):
        yield "".join([texts[number] for number in corpus.tokens[start:end].tolist()])
