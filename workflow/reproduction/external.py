"""Tokenizers from elsewhere: a cheap look at them, and their import into the form of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.files import read_json, write_json, write_text
from sagevocab.huggingface.detect import kind_of, require_tokenizer, tokenizer_json
from sagevocab.pieces import NO_MODEL, listed_pieces, read_list, tokens_by_id, write_pieces
from sagevocab.settings import WordSettings

_FIRST_BYTE = b"\n"  # of a sentencepiece model: protobuf's tag of the first piece


def check_external(path: str | Path, key: str) -> None:
    """Refuse what is clearly no tokenizer; it reads a file and imports nothing heavy.

    Args:
        path: as of `import_external`, which checks all the rest.
        key: the configuration key that it is from.

    Raises:
        UserError: there is nothing at `path`, or it is not a tokenizer.
    """
    path = Path(path)
    require_tokenizer(path, key)
    if kind_of(path) == "list":
        read_list(path, key)
    if kind_of(path) == "model" and not path.read_bytes().startswith(_FIRST_BYTE):
        raise UserError(f"{key}: {path} {NO_MODEL}")
    if kind_of(path) == "hub":
        file = tokenizer_json(path)
        try:
            json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{key}: {file} is not a tokenizer; copy it again, or load it with AutoTokenizer "
                "of transformers and save it"
            ) from error


def import_external(path: str | Path, folder: str | Path, words: WordSettings, key: str) -> None:
    """Bring a tokenizer into the form that the run has its tokenizers in.

    Args:
        path: a Hugging Face folder or `tokenizer.json`, which stays as it is; a sentencepiece
            `.model`; or a list with one piece a line, `▁` at the start of words.
        folder: where its files go.
        words: how text becomes words, for a list; a model brings its normalisation.
        key: the configuration key that `path` is from.

    Raises:
        UserError: there is nothing at `path`, or it is none of these.
    """
    from sagevocab.huggingface.export import export_greedy

    path = Path(path)
    require_tokenizer(path, key)
    if kind_of(path) == "hub":
        _import_hub(path, Path(folder), key)
    elif kind_of(path) == "model":
        _import_model(path, folder, words, key)
    else:
        export_greedy(folder, listed_pieces(path, key), words)


def _import_hub(path: Path, folder: Path, key: str) -> None:
    from sagevocab.huggingface.pretrained import load_hub, parsed
    from sagevocab.huggingface.segmenter import HubSegmenter

    tokenizer = load_hub(path, key)
    spec = parsed(tokenizer, key)
    write_pieces(folder / "pieces.txt", HubSegmenter(spec).pieces)
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=True))
    described = {
        **_roles(path, spec, tokens_by_id(tokenizer)),
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "sagevocab": {"method": "external", "normalization": None, "max_word_chars": None},
    }
    write_json(folder / "tokenizer_config.json", described)


def _roles(path: Path, spec: dict[str, Any], tokens: Sequence[str]) -> dict[str, str]:
    """Return the roles of tokens: as the folder's files say, else by their spelling."""
    from sagevocab.huggingface.special_tokens import SPELLINGS, roles_of

    given: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        written = read_json(path / name) if (path / name).is_file() else {}
        if not isinstance(written, dict):
            raise UserError(f"{path / name}: is not a JSON object; save the tokenizer again")
        given.update(written)
    roles = {role: given[role] for role in SPELLINGS if given.get(role)}
    if roles:
        named = {
            role: one.get("content") if isinstance(one, dict) else one
            for role, one in roles.items()
        }
        return {role: token for role, token in named.items() if token in tokens}
    return roles_of(token["content"] for token in spec["added_tokens"] if token["special"])


def _import_model(path: Path, folder: str | Path, words: WordSettings, key: str) -> None:
    from sagevocab.huggingface.export import export_merges, export_unigram
    from sagevocab.huggingface.sentencepiece import (
        is_bpe,
        merges_of_model,
        open_model,
        pieces_of_model,
        scores_of_model,
    )

    model, rule = open_model(path, key)
    words = WordSettings(rule, words.max_word_chars)
    if is_bpe(model):
        export_merges(folder, pieces_of_model(model), merges_of_model(model), words)
    else:
        export_unigram(folder, pieces_of_model(model), scores_of_model(model), words)
