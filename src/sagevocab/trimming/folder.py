"""Folders of pruned tokenizers.

Files that have ids or pieces are written anew (`tokenizer_config.json`, sentencepiece's `.model`),
or left out, as `tokenizer.json` says the same (vocab.json, merges.txt, vocab.txt, ...).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.files import atomic_folder
from sagevocab.huggingface.detect import path_of, tokenizer_json
from sagevocab.huggingface.export import check_output, disk_errors, write_tokenizer
from sagevocab.huggingface.sentencepiece import ordinary_pieces, parse_model
from sagevocab.huggingface.special_tokens import roles_of

OLD_IDS = "old_ids.npy"
ENTRIES_BEFORE = "entries_before_pruning"  # of tokenizer_config.json
_TEMPLATES = "additional_chat_templates"
# Files beside a tokenizer.json that go along.
_KNOWN = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def files_beside(source: Any) -> dict[str, bytes]:
    """Return what goes along of a tokenizer's folder, by name; of an object, what it saves.

    A `tokenizer.json` beside a `tokenizer_config.json` is its folder.
    """
    path = path_of(source)
    if path is not None:
        file = tokenizer_json(Path(path))
        is_folder = Path(path).is_dir() or file.with_name("tokenizer_config.json").exists()
        return _read(file.parent) if is_folder and file.name == "tokenizer.json" else {}
    if not hasattr(source, "save_pretrained"):
        return {}
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as place:
        source.save_pretrained(place)
        return _read(Path(place))


def sources_of(source: Any) -> list[Path]:
    """Return where a tokenizer was read from: nothing or one path."""
    place = path_of(source) or getattr(source, "name_or_path", None)
    return [Path(place)] if place and Path(place).exists() else []


def _read(folder: Path) -> dict[str, bytes]:
    templates = folder.glob(f"{_TEMPLATES}/*")
    found = [*(folder / name for name in _KNOWN), *sorted(folder.glob("*.model")), *templates]
    return {str(file.relative_to(folder)): file.read_bytes() for file in found if file.is_file()}


def write_folder(
    output: Path,
    tokenizer: Tokenizer,
    old_ids: np.ndarray,
    before: int,
    files: Mapping[str, bytes],
    *,
    force: bool,
    sources: Iterable[Path] = (),
) -> None:
    """Write the folder of a pruned tokenizer.

    Args:
        output: a new folder.
        tokenizer: the pruned one.
        old_ids: int64[entries], by new id.
        before: how many entries the tokenizer had.
        files: what stood beside the tokenizer.json before.
        force: replace a tokenizer that is there.
        sources: what was read; the folder is, holds or lies in none of them.

    Raises:
        UserError: it cannot be written, or holds something.
    """
    check_output(output, force, sources)
    with disk_errors(output), atomic_folder(output, replace=force) as folder:
        write_tokenizer(folder / "tokenizer.json", tokenizer)
        np.save(folder / OLD_IDS, old_ids)
        for name, content in _made(tokenizer, old_ids, before, files).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)


def _made(
    tokenizer: Tokenizer, old_ids: np.ndarray, before: int, files: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the files beside the tokenizer.json, by name."""
    spec = json.loads(tokenizer.to_str())
    entries = tokenizer.get_vocab(with_added_tokens=True)
    new_id = {int(old): new for new, old in enumerate(old_ids)}
    made = {}
    for name, content in files.items():
        if name == "tokenizer_config.json":
            made[name] = _json({**_renumbered(content, new_id), ENTRIES_BEFORE: before})
        elif name.endswith(".model"):
            made[name] = _sentencepiece_model(content, entries, name)
        else:
            made[name] = content
    if "tokenizer_config.json" not in made:
        roles = roles_of(token["content"] for token in spec["added_tokens"])
        config = {"tokenizer_class": "PreTrainedTokenizerFast", **roles, ENTRIES_BEFORE: before}
        made["tokenizer_config.json"] = _json(config)
    return made


def _renumbered(content: bytes, new_id: Mapping[int, int]) -> dict[str, Any]:
    """Return a tokenizer_config.json with the new numbers of added tokens."""
    try:
        config = {**json.loads(content)}
        if decoder := config.get("added_tokens_decoder"):
            config["added_tokens_decoder"] = {
                str(new_id[int(number)]): token for number, token in decoder.items()
            }
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            "tokenizer: tokenizer_config.json is damaged, or of another tokenizer; save it again"
        ) from error
    return config


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _sentencepiece_model(content: bytes, entries: Mapping[str, int], name: str) -> bytes:
    """Return a sentencepiece model without the pieces that have gone."""
    model = parse_model(content, name)
    ordinary = {piece.piece for piece in ordinary_pieces(model)}
    kept = [one for one in model.pieces if one.piece in entries or one.piece not in ordinary]
    del model.pieces[:]
    model.pieces.extend(kept)
    return model.SerializeToString()
