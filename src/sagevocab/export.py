"""Vocabularies as Hugging Face folders that `AutoTokenizer.from_pretrained` loads.

A folder holds `tokenizer.json`, `tokenizer_config.json` (whose entry `sagevocab` says how this
library segments with it), `pieces.txt` and a model card, `README.md`.

The tokenizers give the ids of this library's segmenters. They share one frame: sentencepiece's
normalisation, `▁` at the start of words, words cut at `max_word_chars`, BERT's special tokens with
ids 0 to 4 and its `[CLS] A [SEP] B [SEP]`. Text that spells a special token becomes that token,
unless the caller asks for `split_special_tokens`; the library takes it as text. What follows a
special token without a space is the inside of a word (`[MASK]ing`); a space before a special token
gives no piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

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
from sagevocab.pieces import (
    FIRST_PIECE_ID,
    SPECIAL_TOKENS,
    UNKNOWN_ID,
    WORD_START,
    missing_characters,
    write_pieces,
)
from sagevocab.settings import WordSettings
from sagevocab.state import write_json, write_text
from sagevocab.words import hub_normalizer

MODEL_MAX_LENGTH = 512  # BERT's
UNKNOWN = SPECIAL_TOKENS[UNKNOWN_ID]
_NO_LIMIT = 1_000_000_000  # characters in a word: words are cut before the model sees them


@dataclass(frozen=True)
class Card:
    """What a model card says besides the pieces.

    language: code. language_name, method: in words. source: description of the training corpus as
    `data.sources` writes it; None if the vocabulary was not trained here. settings: what else
    made it, by name.
    """

    language: str
    language_name: str
    method: str
    source: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


# --- folders


def export_greedy(
    folder: str | Path, pieces: Sequence[str], words: WordSettings, card: Card | None = None
) -> None:
    """Write a vocabulary that is segmented by greedy longest match (paper, Section 3).

    The model is `WordPiece` without a prefix for the inside of words. It gives up a whole word for
    one character that it cannot match, so characters without a piece are split off before.

    Raises:
        ValueError: a character of a piece, or `▁`, is no piece; greedy matching has no floor then.
    """
    if missing := missing_characters(pieces):
        raise ValueError(f"the character {missing[0]!r} is part of a piece but no piece itself")
    model = models.WordPiece(
        vocab=_numbered(pieces),
        unk_token=UNKNOWN,
        continuing_subword_prefix="",
        max_input_chars_per_word=_NO_LIMIT,
    )
    steps = [_split_uncovered(pieces), _split_special_tokens(pieces)]
    write_folder(folder, _framed(model, words, steps), pieces, "greedy", words, card)


def export_merges(
    folder: str | Path,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]],
    words: WordSettings,
    card: Card | None = None,
) -> None:
    """Write a vocabulary that is segmented by its byte-pair merges, given by rank."""
    model = models.BPE(
        vocab=_numbered(pieces), merges=list(merges), unk_token=UNKNOWN, fuse_unk=False
    )
    write_folder(folder, _framed(model, words, []), pieces, "merges", words, card)


def export_unigram(
    folder: str | Path,
    pieces: Sequence[str],
    scores: Sequence[float],
    words: WordSettings,
    card: Card | None = None,
) -> None:
    """Write a vocabulary that is segmented into its likeliest pieces, given log probabilities.

    Special tokens get one so low that the model never chooses them. Characters without a piece are
    split off, so that each becomes an `[UNK]` of its own.
    """
    _numbered(pieces)
    lowest = 10 * min(scores) - 100
    entries = [(token, lowest) for token in SPECIAL_TOKENS]
    entries += zip(pieces, scores, strict=True)
    model = models.Unigram(entries, unk_id=UNKNOWN_ID, byte_fallback=False)
    tokenizer = _framed(model, words, [_split_uncovered(pieces)])
    write_folder(folder, tokenizer, pieces, "unigram", words, card)


def write_folder(
    folder: str | Path,
    tokenizer: Tokenizer,
    pieces: Sequence[str],
    method: str,
    words: WordSettings | None,
    card: Card | None,
) -> None:
    """Write a tokenizer whose ids 0 to 4 are the special tokens and whose pieces follow.

    method: how `segment.load_segmenter` segments. words: None for a tokenizer from elsewhere, which
    has a normalisation and a word splitting of its own. card: None writes no model card.
    """
    folder = Path(folder)
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    configuration = {
        **dict(zip(roles, SPECIAL_TOKENS, strict=True)),
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "model_max_length": MODEL_MAX_LENGTH,
        "clean_up_tokenization_spaces": False,
        "sagevocab": {
            "method": method,
            "normalization": words.normalization if words else None,
            "max_word_chars": words.max_word_chars if words else None,
        },
    }
    write_pieces(folder / "pieces.txt", pieces)
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=True))
    write_json(folder / "tokenizer_config.json", configuration)
    if card is not None:
        write_text(folder / "README.md", model_card(card, pieces))


def check_output(folder: str | Path, force: bool) -> None:
    """Refuse a folder that a vocabulary cannot be written to.

    Raises:
        UserError: it is a file; or it exists and is not a tokenizer's, or `force` is not given.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; give the name of a new folder")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / "tokenizer_config.json").exists():
        raise UserError(f"{folder}: holds something else than a tokenizer; give another folder")
    if not force:
        raise UserError(
            f"{folder}: is there already; give another folder, or replace it with force=True"
        )


@contextmanager
def disk_errors(place: str | Path) -> Iterator[None]:
    """Raise a UserError for what keeps `place` from being written: no permission, no space, ..."""
    try:
        yield
    except BrokenPipeError:  # of the program that reads what we print
        raise
    except OSError as error:
        where = error.filename or place
        raise UserError(
            f"{where}: cannot be written ({error.strerror or error}); make room or give another "
            f"place ({place} is left as it was)"
        ) from error


# --- model cards


def model_card(card: Card, pieces: Sequence[str]) -> str:
    """Return the README of a vocabulary's folder, with the front matter that model hubs read."""
    rows = {
        "Language": f"{card.language_name} (`{card.language}`)",
        "Method": card.method,
        "Pieces": f"{len(pieces):,}, ids from {FIRST_PIECE_ID}",
        "Special tokens": ", ".join(f"`{token}`" for token in SPECIAL_TOKENS) + ", ids from 0",
        "Training corpus": describe_source(card.source),
        **{name: str(value) for name, value in card.settings.items()},
    }
    table = "\n".join(f"| {name} | {_cell(value)} |" for name, value in rows.items())
    return f"""---
language: {card.language}
library_name: transformers
tags: [tokenizer, subword]
---

# {_cell(card.language_name)} subword vocabulary: {card.method}

| | |
|---|---|
{table}

```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")
tokenizer.tokenize("...")
```

`▁` marks the start of a word; no piece crosses a space. `pieces.txt` lists the pieces in id order,
without the special tokens. A character without a piece becomes one `[UNK]`.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def describe_source(source: Mapping[str, Any] | None) -> str:
    """Say in words what a corpus was made of.

    source: a resolved source of `data.sources`: kind, name, and what its data set is.
    """
    if source is None:
        return "not trained here"
    kind, name = source["kind"], source["name"]
    if kind == "path":
        files = [f"`{PurePath(file).name}`" for file in ([name] if isinstance(name, str) else name)]
        listed = f"the file{'s' * (len(files) > 1)} {' and '.join(files)}"
        return "; ".join(filter(None, [source.get("title"), source.get("licence"), listed]))
    parts = [source.get("title") or f"`{name}`", source.get("licence"), source.get("origin")]
    if source.get("instead_of"):
        parts.append(f"in the place of `{source['instead_of']}`, which could not be had")
    return "; ".join(part for part in parts if part)


# --- tokenizers


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
    model: models.Model, words: WordSettings, steps: Iterable[pre_tokenizers.PreTokenizer]
) -> Tokenizer:
    """Return a tokenizer of `model`; steps: what splits a word before the model sees it."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = _normalizer(words.normalization)
    # "first": the opening word of a text gets a `▁`; every other has one of the space before it.
    opening = pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="first", split=True)
    # As `words.split_words` cuts. `(?m)` lets the dot match a newline; `\G` spares a search from
    # each character of a short word.
    cut = pre_tokenizers.Split(Regex(rf"\G(?m).{{{words.max_word_chars}}}"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([opening, cut, *steps])
    tokenizer.decoder = decoders.Metaspace(replacement=WORD_START, prepend_scheme="always")
    add_special_tokens(tokenizer)
    return tokenizer


def _normalizer(rule: str) -> normalizers.Normalizer:
    """Return `words.Normalizer`, except that it keeps one space that opens the text.

    The text may follow a special token; the pre-tokenizer makes a `▁` of the space.
    """
    return hub_normalizer(
        rule,
        normalizers.Replace(Regex(r"\A\s+"), " "),
        normalizers.Replace(Regex(" {2,}"), " "),
        normalizers.Strip(left=False, right=True),
    )


def _split_uncovered(pieces: Iterable[str]) -> pre_tokenizers.PreTokenizer:
    """Split off every character that is no piece."""
    alphabet = sorted(piece for piece in pieces if len(piece) == 1)
    escaped = "".join(f"\\x{{{ord(character):X}}}" for character in alphabet)
    return pre_tokenizers.Split(Regex(f"[^{escaped}]"), "isolated")


def _split_special_tokens(pieces: Sequence[str]) -> pre_tokenizers.PreTokenizer:
    """Cut special tokens that normalised text spells, so that the model does not match them.

    The cut is at the first place that no piece reaches over, so it changes nothing else; if there
    is no such place, after the first character.
    """
    pairs = {piece[at : at + 2] for piece in pieces for at in range(len(piece) - 1)}
    heads = []
    for token in SPECIAL_TOKENS:
        free = (at for at in range(1, len(token)) if token[at - 1 : at + 1] not in pairs)
        cut = next(free, 1)
        heads.append(f"{re.escape(token[:cut])}(?={re.escape(token[cut:])})")
    return pre_tokenizers.Split(Regex("|".join(heads)), "merged_with_previous")


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
    return {token: number for number, token in enumerate([*SPECIAL_TOKENS, *pieces])}
