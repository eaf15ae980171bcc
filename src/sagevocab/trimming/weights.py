"""`prune_model`: the rows of a model that go with a pruned tokenizer.

Every tensor with a dimension of the vocabulary keeps the rows of `old_ids`; all others stay as they
are, to the byte. Files are written tensor by tensor: memory holds one at a time.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sagevocab.errors import UserError
from sagevocab.files import atomic_folder, write_json
from sagevocab.huggingface.export import check_output, disk_errors
from sagevocab.huggingface.pretrained import load_hub
from sagevocab.trimming.folder import ENTRIES_BEFORE, OLD_IDS

# Parts of names of tensors that have a row for each token.
_OF_VOCABULARY = re.compile(
    r"(^|\.)(embed_tokens|wte|word_embeddings?|embed_in|embed_out|tok_embeddings|token_embedding"
    r"|shared|lm_head|output|final_logits_bias|cls\.predictions|predictions|vocab_projector|lm_loss"
    r"|generator_lm_head|pred_layer\.proj)(\.|$)|(^|\.)embeddings\.weight$|^decoder\.(weight|bias)$"
)
# Each has a row an id, so another length is not that of the configuration's vocabulary.
_EMBEDDINGS = re.compile(
    r"(^|\.)(embed_tokens|wte|word_embeddings?|embed_in|tok_embeddings)\.weight$"
)
_OF_POSITIONS = re.compile(r"position|(^|\.)wpe\.")
# Keys of configurations that hold ids of tokens, and those that look as if they did.
_ID = re.compile(
    r"(^|_)token_(ids?|index)$|^(bos|eos|pad|unk|mask|sep|cls)_(id|index)$|suppress_tokens$"
    r"|^(bad|force)_words_ids$"
)
_LIKE_AN_ID = re.compile(r"_(ids?|index|to_id)$|^sequence_bias$")
_SAME_SIZE = ("vocab_size", "decoder_vocab_size")
_BLOCK_BYTES = 1 << 24
_INDEX = "model.safetensors.index.json"
_CONFIGURATIONS = ("config.json", "generation_config.json")


def prune_model(
    model: str | Path,
    tokenizer: str | Path,
    output: str | Path,
    *,
    pad_to_multiple_of: int = 1,
    force: bool = False,
) -> None:
    """Write a model whose embeddings and outputs are those of a pruned tokenizer.

    Hidden states of the same tokens are equal to the bit; logits are those of the tokens left.

    Args:
        model: folder with a config.json and safetensors files; its pieces are compared with those
            of the tokenizer if it has a tokenizer.json, else only their number is.
        tokenizer: folder that `prune` wrote; its files are copied.
        output: a new folder.
        pad_to_multiple_of: rows of zeros are added until their number is a multiple of this.
        force: replace a tokenizer or model that is there.

    Raises:
        UserError: the model is of a form that is not known, or of another tokenizer.
    """
    _check_arguments(model, tokenizer, output, pad_to_multiple_of)
    source, pruned, output = Path(model), Path(tokenizer), Path(output)
    check_output(output, force, [source, pruned])
    old_ids, entries = _old_ids(pruned)
    size = len(old_ids) + -len(old_ids) % pad_to_multiple_of
    files = sorted(source.glob("*.safetensors"))
    if not files or not (source / "config.json").exists():
        raise UserError(
            f"model: {source} is not a folder with a config.json and safetensors files; download "
            "the model or save it so"
        )
    rows = _rows_of(_configuration(source / "config.json"), source)
    # Rows without an id fill a model up: some hundreds.
    if not entries <= rows <= 1.1 * entries + 1024:
        raise UserError(
            f"model: {source} has {rows} rows, and the tokenizer had {entries} entries; give the "
            "model of this tokenizer"
        )
    _check_pieces(source, pruned, old_ids)
    vocabulary = _Vocabulary(rows, old_ids, size)
    with disk_errors(output), atomic_folder(output, replace=force) as folder:
        for file in pruned.iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        for name in _CONFIGURATIONS:
            if (source / name).exists():
                changed = vocabulary.configured(_configuration(source / name), source / name)
                write_json(folder / name, changed)
        plans = {file: _plan(file, vocabulary) for file in files}
        if not any(tensor.axis is not None for plan in plans.values() for tensor in plan):
            raise UserError(f"model: {source} has no tensor with {rows} rows")
        for file, plan in plans.items():
            _write(file, folder / file.name, plan, vocabulary)
        if (source / _INDEX).exists():
            index = _configuration(source / _INDEX)
            total = sum(tensor.size for plan in plans.values() for tensor in plan)
            write_json(folder / _INDEX, {**index, "metadata": {"total_size": total}})


def _check_arguments(model: Any, tokenizer: Any, output: Any, pad_to_multiple_of: Any) -> None:
    for name, value in {"model": model, "tokenizer": tokenizer, "output": output}.items():
        if not isinstance(value, str | os.PathLike):
            raise UserError(f"{name}: {type(value).__name__} is not a path; give a saved folder")
    if type(pad_to_multiple_of) is not int or pad_to_multiple_of < 1:
        raise UserError(f"pad_to_multiple_of: {pad_to_multiple_of!r} is not a whole number from 1")


def _old_ids(folder: Path) -> tuple[np.ndarray, int]:
    """Return the old id of each entry of a pruned tokenizer, and how many entries it had.

    Raises:
        UserError: `prune` did not write the folder, or it is damaged.
    """
    if not (folder / OLD_IDS).exists():
        raise UserError(f"tokenizer: {folder} has no {OLD_IDS}; give a folder that prune wrote")
    try:
        old_ids = np.load(folder / OLD_IDS, allow_pickle=False)
        return old_ids, int(_configuration(folder / "tokenizer_config.json")[ENTRIES_BEFORE])
    except (OSError, ValueError, KeyError, TypeError, EOFError, UserError) as error:
        raise UserError(f"tokenizer: {folder} is damaged; prune again") from error


def _check_pieces(source: Path, pruned: Path, old_ids: np.ndarray) -> None:
    """Refuse a model whose folder has a tokenizer.json with other pieces at the old ids."""
    if not (source / "tokenizer.json").exists():
        return
    whole, reduced = load_hub(source, "model"), load_hub(pruned, "tokenizer")
    for new, old in enumerate(old_ids.tolist()):
        before, now = whole.id_to_token(old), reduced.id_to_token(new)
        if before != now:
            raise UserError(
                f"model: id {old} is {before!r} in {source}/tokenizer.json, and {now!r} in the "
                f"tokenizer that was pruned to {pruned}; give the model of this tokenizer"
            )


def _configuration(file: Path) -> dict[str, Any]:
    try:
        found = {**json.loads(file.read_text(encoding="utf-8"))}
        json.dumps(found, ensure_ascii=False).encode()  # halves of surrogate pairs cannot be
        return found
    except (ValueError, TypeError) as error:
        raise UserError(f"{file}: is not a JSON object ({error}); copy it again") from error


def _rows_of(config: Mapping[str, Any], source: Path) -> int:
    """Return how many rows a model's embeddings have; refuse forms with several vocabularies.

    Raises:
        UserError: it is quantized, or has no vocabulary, or more than one.
    """
    if {"quantization_config", "compression_config"} & {*config}:
        raise UserError(f"model: {source} is quantized; prune the model before it is")
    sizes = _sizes(config)
    found = set().union(*sizes.values())
    if "vocab_size" not in sizes or not {*sizes} <= {*_SAME_SIZE} or len(found) != 1:
        named = ", ".join(sorted(sizes)) or "no vocab_size"
        raise UserError(f"model: {source}/config.json has {named}; only one vocabulary is known")
    return found.pop()


def _sizes(config: Mapping[str, Any]) -> dict[str, set[int]]:
    """Return each key of a size of a vocabulary, with all its values."""
    found: dict[str, set[int]] = {}
    waiting = [config]
    while waiting:
        for key, value in waiting.pop().items():
            if isinstance(value, dict):
                waiting.append(value)
            elif "vocab_size" in key and key != "type_vocab_size" and isinstance(value, int):
                found.setdefault(key, set()).add(value)
    return found


@dataclass(frozen=True)
class _Vocabulary:
    """What happens to rows: before, `rows`; now those of old_ids (sorted), then zeros to `size`."""

    rows: int
    old_ids: np.ndarray
    size: int

    def configured(self, config: Any, file: Path) -> Any:
        """Return a configuration with the new size and the new ids, nested ones, too."""
        new = {int(old): number for number, old in enumerate(self.old_ids)}

        def renumbered(value: Any, key: str) -> Any:
            if isinstance(value, list):
                return [renumbered(one, key) for one in value]
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                return value
            if value not in new:
                raise UserError(
                    f"{file}: {key} is {value}, which was pruned; prune again with keep= of that "
                    "piece, or change the key"
                )
            return new[value]

        def changed(value: Any, key: str) -> Any:
            if key in _SAME_SIZE:
                return self.size
            if key == "forced_decoder_ids":  # pairs of a place in the output and an id
                return [[place, renumbered(one, key)] for place, one in value or []] or value
            if _ID.search(key):
                return renumbered(value, key)
            if _LIKE_AN_ID.search(key) and value not in (None, [], {}):
                raise UserError(
                    f"{file}: {key} may hold ids of tokens, and how is not known; take it out"
                )
            if isinstance(value, dict):
                return {name: changed(one, str(name)) for name, one in value.items()}
            return value

        return changed(config, "")


@dataclass(frozen=True)
class _Tensor:
    """A tensor of a file. axis: its dimension of the vocabulary, or None; size: bytes to write."""

    name: str
    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int
    axis: int | None
    new_shape: tuple[int, ...]
    size: int


def _header(file: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file, and where its data begin."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        try:
            header = json.loads(opened.read(length))
            stops = [_stop(one) for name, one in header.items() if name != "__metadata__"]
        except (ValueError, LookupError, TypeError, AttributeError, MemoryError) as error:
            raise UserError(f"model: {file} is damaged; copy it again") from error
    end = max(stops, default=0)
    if file.stat().st_size != 8 + length + end:
        raise UserError(f"model: {file} is cut; copy it again")
    return header, 8 + length


def _stop(said: Mapping[str, Any]) -> int:
    """Return where the data of a tensor end, as its entry in the header says.

    Raises:
        ValueError: the entry contradicts itself.
    """
    begin, end = said["data_offsets"]
    numbers = [begin, end, *said["shape"]]
    bits = 8 * (end - begin)
    is_sound = all(isinstance(number, int) and number >= 0 for number in numbers)
    if not is_sound or bits < 0 or bits % max(1, math.prod(said["shape"])):
        raise ValueError("bytes and shape do not fit")
    return end


def _plan(file: Path, vocabulary: _Vocabulary) -> list[_Tensor]:
    """Return the tensors of a file in their order, with what becomes of them.

    Raises:
        UserError: one has as many rows as the vocabulary, and is not known to belong to it.
    """
    header, start = _header(file)
    tensors = []
    for name, said in header.items():
        if name == "__metadata__":
            continue
        shape, (begin, end) = tuple(said["shape"]), said["data_offsets"]
        axes = [axis for axis, length in enumerate(shape) if length == vocabulary.rows]
        if _OF_POSITIONS.search(name):
            axes = []
        is_known = _OF_VOCABULARY.search(name) is not None
        if axes and (not is_known or len(axes) > 1):
            raise UserError(
                f"model: {file.name} has {name} of shape {list(shape)}; one side is as long as the "
                f"vocabulary ({vocabulary.rows}), and a tensor of this name is not known to be its"
            )
        if not axes and _EMBEDDINGS.search(name):
            raise UserError(
                f"model: {file.name} has {name} of shape {list(shape)}, and the configuration "
                f"{vocabulary.rows} rows; correct vocab_size in config.json"
            )
        axis = axes[0] if axes else None
        new_shape = tuple(
            vocabulary.size if number == axis else length for number, length in enumerate(shape)
        )
        size = end - begin if axis is None else (end - begin) // shape[axis] * vocabulary.size
        places = (start + begin, start + end)
        tensors.append(_Tensor(name, said["dtype"], shape, *places, axis, new_shape, size))
    return sorted(tensors, key=lambda tensor: tensor.begin)


def _write(source: Path, target: Path, plan: list[_Tensor], vocabulary: _Vocabulary) -> None:
    """Write a safetensors file with the rows that stay."""
    header, place = {}, 0
    if (metadata := _header(source)[0].get("__metadata__")) is not None:
        header["__metadata__"] = metadata
    for tensor in plan:
        offsets = [place, place + tensor.size]
        header[tensor.name] = {
            "dtype": tensor.kind,
            "shape": list(tensor.new_shape),
            "data_offsets": offsets,
        }
        place = offsets[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with source.open("rb") as old, target.open("wb") as new:
        new.write(len(text).to_bytes(8, "little") + text)
        for tensor in plan:
            _write_tensor(old, new, tensor, vocabulary)


def _write_tensor(old: BinaryIO, new: BinaryIO, tensor: _Tensor, vocabulary: _Vocabulary) -> None:
    """Write a tensor, or those of its rows that stay, in their order, and rows of zeros."""
    old.seek(tensor.begin)
    data = old.read(tensor.end - tensor.begin)
    if tensor.axis is None:
        new.write(data)
        return
    before = math.prod(tensor.shape[: tensor.axis])
    row = len(data) // (before * vocabulary.rows)  # bytes
    old_ids = vocabulary.old_ids
    step = max(1, _BLOCK_BYTES // row)
    for part in np.frombuffer(data, np.uint8).reshape(before, vocabulary.rows, row):
        for first in range(0, len(old_ids), step):
            new.write(part[old_ids[first : first + step]])
        new.write(bytes((vocabulary.size - len(old_ids)) * row))
