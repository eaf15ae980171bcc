"""Vocabularies as Hugging Face folders that `AutoTokenizer.from_pretrained` loads.

A folder holds `tokenizer.json`, `tokenizer_config.json` (whose entry `sagevocab` says how this
library segments with it), `pieces.txt` and a model card, `README.md`. The tokenizers give the ids
of this library's segmenters; what they have in common is in `pipelines`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models

from sagevocab.errors import UserError
from sagevocab.files import write_json, write_text
from sagevocab.huggingface.pipelines import Pipeline, WordPipeline, split_uncovered
from sagevocab.pieces import UNKNOWN_ID, write_pieces
from sagevocab.settings import WordSettings
from sagevocab.validation import check_flags


@dataclass(frozen=True)
class Card:
    """What a model card says besides the pieces.

    language: code. language_name, method: in words. rows: what else made it, by name.
    """

    language: str
    language_name: str
    method: str
    rows: Mapping[str, Any] = field(default_factory=dict)


# --- folders


def export_greedy(
    folder: str | Path,
    pieces: Sequence[str],
    words: WordSettings | Pipeline,
    card: Card | None = None,
) -> None:
    """Write a vocabulary that is segmented by greedy longest match (paper, Section 3).

    Args:
        folder: where its files go.
        pieces: by id.
        words: how text becomes words, with BERT's special tokens; or any other pipeline.
        card: None writes no model card.

    Raises:
        ValueError: a character of a piece, or `▁`, is not a piece: greedy matching has no floor.
    """
    pipeline = words if isinstance(words, Pipeline) else WordPipeline(words)
    write_folder(folder, pipeline.tokenizer(pieces), pieces, "greedy", pipeline, card)


def export_merges(
    folder: str | Path,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]],
    words: WordSettings,
    card: Card | None = None,
) -> None:
    """Write a vocabulary that is segmented by its byte-pair merges.

    Args:
        folder: where its files go.
        pieces: by id.
        merges: by rank.
        words: how text becomes words.
        card: None writes no model card.
    """
    pipeline = WordPipeline(words)
    model = models.BPE(
        vocab=pipeline.numbered(pieces),
        merges=list(merges),
        unk_token=pipeline.unknown,
        fuse_unk=False,
    )
    write_folder(folder, pipeline.around(model, []), pieces, "merges", pipeline, card)


def export_unigram(
    folder: str | Path,
    pieces: Sequence[str],
    scores: Sequence[float],
    words: WordSettings,
    card: Card | None = None,
) -> None:
    """Write a vocabulary that is segmented into its likeliest pieces.

    Special tokens get a score so low that the model never chooses them. Characters without a piece
    are split off, so that each becomes an `[UNK]` of its own.

    Args:
        folder: where its files go.
        pieces: by id.
        scores: their log probabilities.
        words: how text becomes words.
        card: None writes no model card.
    """
    pipeline = WordPipeline(words)
    tokens = pipeline.tokens(pieces)
    specials = len(tokens) - len(pieces)
    entries = zip(tokens, [unlikely(scores)] * specials + list(scores), strict=True)
    model = models.Unigram(list(entries), unk_id=UNKNOWN_ID, byte_fallback=False)
    tokenizer = pipeline.around(model, [split_uncovered(pieces)])
    write_folder(folder, tokenizer, pieces, "unigram", pipeline, card)


def unlikely(scores: Iterable[float]) -> float:
    """Return a log probability so low that a model with these never chooses its piece."""
    return 10 * min(scores) - 100


def write_folder(
    folder: str | Path,
    tokenizer: Tokenizer,
    pieces: Sequence[str],
    method: str,
    pipeline: Pipeline,
    card: Card | None,
) -> None:
    """Write a tokenizer's folder.

    Args:
        folder: where its files go.
        tokenizer: of Hugging Face.
        pieces: by id.
        method: how `segmenter.load_segmenter` segments.
        pipeline: all of the tokenizer but its pieces.
        card: None writes no model card.
    """
    folder = Path(folder)
    configuration = {
        **pipeline.configuration(),
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "sagevocab": {
            "method": method,
            "normalization": pipeline.normalization,
            "max_word_chars": pipeline.max_word_chars,
        },
    }
    write_pieces(folder / "pieces.txt", pieces)
    write_tokenizer(folder / "tokenizer.json", tokenizer)
    write_json(folder / "tokenizer_config.json", configuration)
    if card is not None:
        write_text(folder / "README.md", model_card(card, pieces, pipeline))


def write_tokenizer(path: Path, tokenizer: Tokenizer) -> None:
    """Write a tokenizer.json that older versions of `tokenizers` read, too.

    They read a merge as `a b`; newer ones write pairs, which pieces with a space need.
    """
    text = tokenizer.to_str(pretty=True)
    spec = json.loads(text)
    merges = spec["model"].get("merges")
    if merges and not any(" " in piece for merge in merges for piece in merge):
        spec["model"]["merges"] = [" ".join(merge) for merge in merges]
        text = json.dumps(spec, indent=2, ensure_ascii=False)
    write_text(path, text)


def check_output(folder: str | Path, force: bool, sources: Iterable[str | Path] = ()) -> None:
    """Refuse a folder that a vocabulary cannot be written to.

    Args:
        folder: to write.
        force: whether it may replace a tokenizer.
        sources: files and folders that are read; they stay as they are, even with `force`.

    Raises:
        UserError: it is a file, or its place cannot be written; or it exists and is not a
            tokenizer's, or `force` is not given; or it is, holds or lies in a source.
    """
    check_flags(force=force)
    folder = Path(folder)
    for source in sources:
        place, read = folder.resolve(), Path(source).resolve()
        if place == read or place in read.parents or read in place.parents:
            raise UserError(f"{folder}: is, holds or lies in what is read, {source}; give another")
    _check_place(folder)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: is a file; give the name of a new folder")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / "tokenizer_config.json").exists():
        raise UserError(f"{folder}: holds something else than a tokenizer; give another folder")
    if not force:
        raise UserError(
            f"{folder}: already exists; give another folder, or force to replace this one"
        )


def _check_place(folder: Path) -> None:
    """Refuse a folder that cannot be made, before hours of training and not after them."""
    place = next(parent for parent in folder.resolve().parents if parent.exists())
    if not place.is_dir():
        raise UserError(f"{folder}: cannot be written ({place} is a file); give another place")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(
            f"{folder}: cannot be written (no permission for {place}); give another place"
        )


@contextmanager
def disk_errors(place: str | Path) -> Iterator[None]:
    """Raise a UserError for what keeps `place` from being written: no permission, no space, ..."""
    try:
        yield
    except OSError as error:
        where = error.filename or place
        raise UserError(
            f"{where}: cannot be written ({error.strerror or error}); make room or give another "
            f"place ({place} is left as it was)"
        ) from error


# --- model cards


def model_card(card: Card, pieces: Sequence[str], pipeline: Pipeline | None = None) -> str:
    """Return the README of a vocabulary's folder, with the front matter that model hubs read.

    Args:
        card: what it says.
        pieces: of the vocabulary.
        pipeline: of the tokenizer; one with BERT's special tokens if left out.
    """
    pipeline = pipeline or WordPipeline(WordSettings())
    specials = pipeline.special_tokens
    rows = {
        "Language": f"{card.language_name} (`{card.language}`)",
        "Method": card.method,
        "Pieces": f"{len(pieces):,}",
        "Special tokens": ", ".join(f"`{token}`" for token in specials) or "none",
        **card.rows,
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
```

`▁` marks the start of a word; no piece crosses a space. `pieces.txt` lists the pieces in id order.
"""


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
