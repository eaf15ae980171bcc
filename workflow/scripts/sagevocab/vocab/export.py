"""Vocabularies as Hugging Face folders that `AutoTokenizer.from_pretrained` loads.

A folder holds `tokenizer.json`, `tokenizer_config.json` (with an entry `sagevocab` that says how
this library segments with it), `pieces.txt` and a model card, `README.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from sagevocab.state import write_json, write_text
from sagevocab.vocab.hub import greedy_tokenizer, merge_tokenizer, unigram_tokenizer
from sagevocab.vocab.pieces import FIRST_PIECE_ID, SPECIAL_TOKENS, write_pieces
from sagevocab.vocab.settings import WordSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL_MAX_LENGTH = 512  # BERT's


@dataclass(frozen=True)
class Card:
    """What a model card tells beside the vocabulary itself.

    language: code. language_name, method: in words. source: description of what the training corpus
    was made of, as `data.sources` writes it; None if the vocabulary was not trained here.
    settings: what else made it, by name.
    """

    language: str
    language_name: str
    method: str
    source: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def described(cls, files: Sequence[str], **fields: Any) -> Card:
        """Make a card of its fields; the source is as it was retrieved, if there is a file of it.

        files: the description beside a retrieved corpus, or nothing.
        """
        for file in files:
            fields["source"] = json.loads(Path(file).read_text(encoding="utf-8"))
        return cls(**fields)


def export_greedy(
    folder: str | Path, pieces: Sequence[str], words: WordSettings, card: Card
) -> None:
    """Write a vocabulary that is segmented by greedy longest match (paper, Section 3).

    Every character of a piece, and `▁`, must be a piece.
    """
    tokenizer = greedy_tokenizer(pieces, words.normalization, words.max_word_chars)
    write_folder(folder, tokenizer, pieces, "greedy", words, card)


def export_merges(
    folder: str | Path,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]],
    words: WordSettings,
    card: Card,
) -> None:
    """Write a vocabulary that is segmented by its byte-pair merges, given by rank."""
    tokenizer = merge_tokenizer(pieces, merges, words.normalization, words.max_word_chars)
    write_folder(folder, tokenizer, pieces, "merges", words, card)


def export_unigram(
    folder: str | Path,
    pieces: Sequence[str],
    scores: Sequence[float],
    words: WordSettings,
    card: Card,
) -> None:
    """Write a vocabulary that is segmented into its likeliest pieces, given log probabilities."""
    tokenizer = unigram_tokenizer(pieces, scores, words.normalization, words.max_word_chars)
    write_folder(folder, tokenizer, pieces, "unigram", words, card)


def write_folder(
    folder: str | Path,
    tokenizer: Tokenizer,
    pieces: Sequence[str],
    method: str,
    words: WordSettings | None,
    card: Card,
) -> None:
    """Write a tokenizer whose ids 0 to 4 are the special tokens and whose pieces follow.

    method: how `segment.load_segmenter` is to segment. words: None for a foreign tokenizer, which
    normalises and splits as it likes.
    """
    folder = Path(folder)
    write_pieces(folder / "pieces.txt", pieces)
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=True))
    write_json(folder / "tokenizer_config.json", _configuration(method, words))
    write_text(folder / "README.md", model_card(card, pieces))


def _configuration(method: str, words: WordSettings | None) -> dict[str, Any]:
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return {
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
        told = f"the file{'s' * (len(files) > 1)} {' and '.join(files)}"
        return "; ".join(filter(None, [source.get("title"), source.get("licence"), told]))
    told = [source.get("title") or f"`{name}`", source.get("licence"), source.get("origin")]
    if source.get("instead_of"):
        told.append(f"in the place of `{source['instead_of']}`, which could not be had")
    return "; ".join(part for part in told if part)
