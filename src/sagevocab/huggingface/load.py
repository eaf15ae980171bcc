"""Tokenizers to use and to write, from elsewhere or of this project."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from sagevocab.errors import SettingError, UserError
from sagevocab.files import atomic_folder, path_text, write_json
from sagevocab.huggingface.detect import kind_of, name_of, path_of, require_tokenizer
from sagevocab.huggingface.encoder import Encoder
from sagevocab.huggingface.export import (
    Card,
    check_output,
    disk_errors,
    export_greedy,
    write_tokenizer,
)
from sagevocab.huggingface.folders import is_project_folder
from sagevocab.huggingface.pipelines import WordPipeline
from sagevocab.huggingface.pretrained import load_hub, parsed
from sagevocab.huggingface.segmenter import HubSegmenter, load_segmenter
from sagevocab.huggingface.sentencepiece import tokenizer_of_model
from sagevocab.pieces import listed_pieces
from sagevocab.segmentation.segmenter import GreedySegmenter, Segmenter
from sagevocab.settings import WordSettings

# --- use


def load(path: str | Path) -> Encoder:
    """Load a tokenizer: a folder of this project or of Hugging Face, a `.model`, a list of pieces.

    A model keeps its ids; a list gets the ids that `sagevocab export` gives it.

    Args:
        path: of the folder or file.

    Returns:
        What encodes and decodes text.

    Raises:
        UserError: it is none of these.
    """
    if not isinstance(path, str | PathLike):
        raise UserError(
            f"tokenizer: {type(path).__name__} is not a path; give the path of a tokenizer"
        )
    path = Path(path)
    require_tokenizer(path)
    if kind_of(path) != "list":
        return Encoder(_tokenizer_at(path), path)
    pipeline = WordPipeline(WordSettings())
    return Encoder(pipeline.tokenizer(listed_pieces(path, "tokenizer")), path)


def _tokenizer_at(path: Path) -> Tokenizer:
    """Read a tokenizer of Hugging Face or a sentencepiece model."""
    is_model = kind_of(path) == "model"
    return tokenizer_of_model(path, "tokenizer")[0] if is_model else load_hub(path, "tokenizer")


def segmenter_of(source: Any) -> Segmenter:
    """Return the segmenter of a tokenizer.

    Args:
        source: a path (folder, `tokenizer.json`, sentencepiece `.model`, list of pieces), a list of
            pieces, what `train` or `load` returns, or a tokenizer of `transformers` or
            `tokenizers`.

    Raises:
        UserError: it is none of these.
    """
    if isinstance(source, list | tuple):
        return GreedySegmenter(listed_pieces(source, "tokenizer"))
    if isinstance(getattr(source, "pipeline", None), WordPipeline):
        return GreedySegmenter(source.pieces)
    if path := path_of(source):
        return _segmenter_at(Path(path))
    tokenizer = source.tokenizer() if isinstance(source, Encoder) else load_hub(source, "tokenizer")
    return HubSegmenter(parsed(tokenizer, f"tokenizer: {name_of(source)}"))


def _segmenter_at(path: Path) -> Segmenter:
    require_tokenizer(path)
    if is_project_folder(path):
        return load_segmenter(path)
    if kind_of(path) == "list":
        return GreedySegmenter(listed_pieces(path, "tokenizer"))
    return HubSegmenter(parsed(_tokenizer_at(path), f"tokenizer: {path_text(path)}"))


# --- export


def convert(
    path: str | Path, output: str | Path, words: Mapping[str, Any] = {}, *, force: bool = False
) -> None:
    """Write pieces as a folder for `AutoTokenizer`, whole or not at all.

    Args:
        path: a list of pieces or a sentencepiece `.model`.
        output: the new folder.
        words: those of `WordSettings` that the user sets; of a list alone, as a model brings them.
        force: replace a tokenizer that is there.

    Raises:
        UserError: `path` is neither, or brings itself what is set, or `output` cannot be written.
    """
    path, output = Path(path), Path(output)
    require_tokenizer(path)
    if kind_of(path) == "hub":
        raise UserError(
            f"{path}: is a tokenizer of Hugging Face, which AutoTokenizer loads as it is; give a "
            "sentencepiece .model or a list of pieces, or copy it"
        )
    if kind_of(path) == "model" and words:
        raise SettingError(next(iter(words)), f"{path} says itself what words are; leave it out")
    settings = WordSettings(**words)
    check_output(output, force, [path])
    with disk_errors(output), atomic_folder(output, replace=force) as folder:
        if kind_of(path) == "model":
            tokenizer, configuration = tokenizer_of_model(path, "tokenizer")
            write_tokenizer(folder / "tokenizer.json", tokenizer)
            write_json(folder / "tokenizer_config.json", configuration)
        else:
            card = Card("und", "Unnamed language", f"`{path_text(path.name)}`, imported")
            export_greedy(folder, listed_pieces(path, "tokenizer"), settings, card)
