"""Tokenizers from elsewhere and this project's own: import, use and export of any of them.

A list of pieces is segmented greedily, a sentencepiece model by its merges or likelihoods, and a
Hugging Face tokenizer as it segments by itself. An imported tokenizer gets this project's special
tokens with ids 0 to 4; its pieces follow in the order that they had.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.files import atomic_folder, path_text
from sagevocab.huggingface.adapter import adapt_hub_tokenizer
from sagevocab.huggingface.detect import kind_of, path_of, require_tokenizer
from sagevocab.huggingface.encoder import Encoder
from sagevocab.huggingface.export import (
    Card,
    check_output,
    disk_errors,
    export_greedy,
    export_merges,
    export_unigram,
    write_folder,
)
from sagevocab.huggingface.folders import is_own_folder, read_folder_pieces
from sagevocab.huggingface.pipelines import Frame, WordFrame
from sagevocab.huggingface.pretrained import load_hub, tokenizer_of
from sagevocab.huggingface.sentencepiece import (
    export_model,
    is_bpe,
    merges_of_model,
    open_model,
    pieces_of_model,
    scores_of_model,
    tokenizer_of_model,
)
from sagevocab.pieces import listed_pieces
from sagevocab.settings import WordSettings

# --- import


def import_external(
    path: str | Path, folder: str | Path, words: WordSettings, card: Card | None, key: str
) -> None:
    """Bring the tokenizer at `path` into the folder form of this project.

    path: a Hugging Face folder or its tokenizer.json; a sentencepiece `.model`; or a list with one
    piece a line, `▁` at the start of words. words: for a list; the others bring their own
    normalisation. key: the configuration key that `path` is from.

    Raises:
        UserError: there is nothing at `path`, or it is none of these.
    """
    path = Path(path)
    require_tokenizer(path, key)
    kind = kind_of(path)
    if kind == "hub":
        _write_adapted(folder, load_hub(path, key), words, card, key)
    elif kind == "model":
        _import_model(path, folder, words, card, key)
    else:
        export_greedy(folder, listed_pieces(path, key), words, card)


def _write_adapted(
    folder: str | Path, tokenizer: Tokenizer, words: WordSettings, card: Card | None, key: str
) -> None:
    adapted, pieces = adapt_hub_tokenizer(tokenizer, key)
    write_folder(folder, adapted, pieces, "external", WordFrame(words), card)


def _import_model(
    path: Path, folder: str | Path, words: WordSettings, card: Card | None, key: str
) -> None:
    model, rule = open_model(path, key)
    words = WordSettings(rule, words.max_word_chars)
    pieces = pieces_of_model(model)
    if is_bpe(model):
        export_merges(folder, pieces, merges_of_model(model), words, card)
    else:
        export_unigram(folder, pieces, scores_of_model(model), words, card)


def import_object(source: Any, folder: str | Path, words: WordSettings) -> None:
    """Bring a tokenizer into `folder`.

    source: of `train`, of `transformers` (fast ones) or of `tokenizers`; or a list of pieces.

    Raises:
        UserError: it is none of these.
    """
    frame = getattr(source, "frame", None)
    if isinstance(frame, Frame):
        export_greedy(folder, source.pieces, frame)
    elif isinstance(source, list | tuple):
        export_greedy(folder, listed_pieces(source, "tokenizer"), words)
    else:
        tokenizer = tokenizer_of(source, "tokenizer")
        _write_adapted(folder, tokenizer, words, None, "tokenizer")


@contextmanager
def as_own_folder(source: Any, words: WordSettings) -> Iterator[Path]:
    """Yield a folder of this project's form: `source` if it is one, else a copy for the time being.

    source: a path, or an object that `import_object` takes.

    Raises:
        UserError: there is not a tokenizer at a path, or the object is none.
    """
    path = path_of(source)
    if path is not None and is_own_folder(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
        if path is None:
            import_object(source, folder, words)
        else:
            import_external(path, folder, words, None, "tokenizer")
        yield Path(folder)


# --- use


def load(path: str | Path) -> Encoder:
    """Load a tokenizer: a folder of this project or of Hugging Face, a `.model`, a list of pieces.

    A model keeps its ids; a list gets the ids that `sagevocab export` gives it.

    Raises:
        UserError: it is none of these.
    """
    if not isinstance(path, str | PathLike):
        raise UserError(
            f"tokenizer: {type(path).__name__} is not a path; give the path of a tokenizer"
        )
    path = Path(path)
    if kind_of(path) == "hub":
        _check_own(path)
        return Encoder(load_hub(path, "tokenizer"), path)
    require_tokenizer(path)
    if kind_of(path) == "model":
        return Encoder(tokenizer_of_model(path, "tokenizer")[0], path)
    with as_own_folder(path, WordSettings()) as folder:
        return Encoder(load_hub(folder, "tokenizer"), path)


def _check_own(path: Path) -> None:
    """Refuse a folder of this project whose pieces.txt does not fit."""
    if is_own_folder(path):
        read_folder_pieces(path)


# --- export


def convert(
    path: str | Path, output: str | Path, *, words: WordSettings, force: bool = False
) -> None:
    """Write pieces as a folder for `AutoTokenizer`, whole or not at all.

    Args:
        path: a list of pieces or a sentencepiece `.model`.
        output: the new folder.
        words: how text becomes words, for a list.
        force: replace a tokenizer that is there.

    Raises:
        UserError: `path` is neither, or `output` cannot be written.
    """
    path, output = Path(path), Path(output)
    require_tokenizer(path)
    if kind_of(path) == "hub":
        raise UserError(
            f"{path}: is a tokenizer of Hugging Face, which AutoTokenizer loads as it is; give a "
            "sentencepiece .model or a list of pieces, or copy it"
        )
    if output.resolve() in (path.resolve(), *path.resolve().parents):
        raise UserError(f"{output}: is or holds the vocabulary to export; give another output")
    check_output(output, force)
    with disk_errors(output), atomic_folder(output, replace=force) as folder:
        if kind_of(path) == "model":
            export_model(path, folder, "tokenizer")
        else:
            card = Card("und", "Unnamed language", f"`{path_text(path.name)}`, imported")
            export_greedy(folder, listed_pieces(path, "tokenizer"), words, card)
