"""`prune_model`: the rows of a model that go with a pruned tokenizer.

Every tensor with a dimension of the vocabulary keeps the rows of `old_ids`; all others stay as they
are, to the byte. Files are written tensor by tensor: memory holds a block of rows at a time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sagevocab.errors import UserError
from sagevocab.files import atomic_folder, read_json, write_json
from sagevocab.huggingface.export import check_output, disk_errors
from sagevocab.trimming.folder import OLD_IDS

# Parts of names of tensors that have a row for each token.
_OF_VOCABULARY = re.compile(
    r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|embed_out|tok_embeddings|shared|lm_head"
    r"|output|final_logits_bias|cls\.predictions|predictions|vocab_projector|lm_loss"
    r"|generator_lm_head)(\.|$)"
)
_ID = re.compile(r"_token_ids?$|suppress_tokens$|^bad_words_ids$|^forced_decoder_ids$")
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
        model: folder with a config.json and safetensors files.
        tokenizer: folder that `prune` wrote; its files are copied.
        output: a new folder. force: replace a tokenizer or model that is there.
        pad_to_multiple_of: rows of zeros are added until their number is a multiple of this.

    Raises:
        UserError: the model is of a form that is not known, or of another tokenizer.
    """
    source, pruned, output = Path(model), Path(tokenizer), Path(output)
    check_output(output, force)
    if not (pruned / OLD_IDS).exists():
        raise UserError(f"tokenizer: {pruned} has no {OLD_IDS}; give a folder that prune wrote")
    old_ids = np.load(pruned / OLD_IDS)
    size = len(old_ids) + -len(old_ids) % pad_to_multiple_of
    files = sorted(source.glob("*.safetensors"))
    if not files or not (source / "config.json").exists():
        raise UserError(f"model: {source} has no config.json with safetensors files; save it so")
    rows = _rows_of(read_json(source / "config.json"), source)
    if old_ids.max() >= rows:
        raise UserError(
            f"model: {source} has {rows} rows, and the tokenizer had the id {old_ids.max()}; give "
            "the model of this tokenizer"
        )
    vocabulary = _Vocabulary(rows, old_ids, size)
    with disk_errors(output), atomic_folder(output, replace=force) as folder:
        for file in pruned.iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        for name in _CONFIGURATIONS:
            if (source / name).exists():
                changed = vocabulary.configured(read_json(source / name), source / name)
                write_json(folder / name, changed)
        plans = {file: _plan(file, vocabulary) for file in files}
        if not any(tensor.axis is not None for plan in plans.values() for tensor in plan):
            raise UserError(f"model: {source} has no tensor with {rows} rows")
        for file, plan in plans.items():
            _write(file, folder / file.name, plan, vocabulary)
        if (source / _INDEX).exists():
            index = read_json(source / _INDEX)
            total = sum(tensor.size for plan in plans.values() for tensor in plan)
            write_json(folder / _INDEX, {**index, "metadata": {"total_size": total}})


def _rows_of(config: Mapping[str, Any], source: Path) -> int:
    """Return how many rows a model's embeddings have; refuse forms with several vocabularies.

    Raises:
        UserError: it is quantized, or has no vocabulary, or more than one.
    """
    if "quantization_config" in config:
        raise UserError(f"model: {source} is quantized; prune the model before it is")
    sizes = dict(_sizes(config))
    if set(sizes) != {"vocab_size"} or len(found := sizes["vocab_size"]) != 1:
        named = ", ".join(sorted(sizes)) or "no vocab_size"
        raise UserError(f"model: {source}/config.json has {named}; only one vocabulary is known")
    return found.pop()


def _sizes(config: Mapping[str, Any]) -> Iterator[tuple[str, set[int]]]:
    """Yield each key of a size of a vocabulary, with all its values."""
    found: dict[str, set[int]] = {}
    waiting = [config]
    while waiting:
        for key, value in waiting.pop().items():
            if isinstance(value, dict):
                waiting.append(value)
            elif "vocab_size" in key and key != "type_vocab_size" and isinstance(value, int):
                found.setdefault(key, set()).add(value)
    yield from found.items()


@dataclass(frozen=True)
class _Vocabulary:
    """What happens to rows: before, `rows`; now those of old_ids, then zeros up to `size`."""

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

        def changed(part: Mapping[str, Any]) -> dict[str, Any]:
            return {
                key: self.size
                if key == "vocab_size"
                else changed(value)
                if isinstance(value, dict)
                else renumbered(value, key)
                if _ID.search(key)
                else value
                for key, value in part.items()
            }

        return changed(config)


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
        return json.loads(opened.read(length)), 8 + length


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
        is_known = _OF_VOCABULARY.search(name) is not None
        if axes and (not is_known or len(axes) > 1):
            raise UserError(
                f"model: {file.name} has {name} of shape {list(shape)}, and nothing says whether "
                f"{vocabulary.rows} is its vocabulary; such models are not known"
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
    data = np.memmap(source, np.uint8, mode="r")
    with target.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in plan:
            if tensor.axis is None:
                for begin in range(tensor.begin, tensor.end, _BLOCK_BYTES):
                    file.write(data[begin : min(tensor.end, begin + _BLOCK_BYTES)])
            else:
                _write_rows(file, data[tensor.begin : tensor.end], tensor, vocabulary)


def _write_rows(file: BinaryIO, data: np.ndarray, tensor: _Tensor, vocabulary: _Vocabulary) -> None:
    """Write the rows that stay, and rows of zeros."""
    before = math.prod(tensor.shape[: tensor.axis])
    rows = data.reshape(before, vocabulary.rows, -1)
    step = max(1, _BLOCK_BYTES // rows.shape[2])
    for number in range(before):
        for first in range(0, len(vocabulary.old_ids), step):
            chosen = vocabulary.old_ids[first : first + step]
            file.write(np.ascontiguousarray(rows[number, chosen]))
        file.write(bytes((vocabulary.size - len(vocabulary.old_ids)) * rows.shape[2]))
