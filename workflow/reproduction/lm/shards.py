"""Token shards: a corpus as rows of ids that training maps into memory, made once per tokenizer.

The lines of the corpus, in order, are one stream of tokens, cut into rows of equal length:

    [CLS] t t t t … t [SEP]

Rows start and end anywhere in a line (`▁` still marks where words start), no token is lost, and
only the last row is filled up with [PAD]. Ids are uint16 where they fit, else uint32. Beside the
rows stand the held-out words that the model predicts (`heldout`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from reproduction.lm.encoder import TextEncoder
from reproduction.lm.heldout import FILE as HELDOUT
from reproduction.lm.heldout import NOTHING, HeldoutSettings, write_heldout
from reproduction.lm.tokenizer import load_encoder
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, write_json
from sagevocab.text import read_lines

log = logging.getLogger(__name__)

# Raise this when the same text and tokenizer give other rows or questions: shards are then made
# and models trained anew.
RESULT_VERSION = 1
LINES_AT_ONCE = 4096
REPORT_EVERY = 100 * LINES_AT_ONCE


@dataclass
class ShardCounts:
    """What a shard holds: lines and their characters, tokens (special ones left out), rows."""

    lines: int = 0
    characters: int = 0
    tokens: int = 0
    unknown: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Shard:
    """A shard opened for reading: `rows` is int[counts.rows, sequence_length], memory-mapped."""

    rows: np.ndarray
    counts: ShardCounts
    path: Path


def build_shards(
    train: str | Path,
    heldout: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    *,
    sequence_length: int,
    questions: HeldoutSettings = NOTHING,
) -> None:
    """Write `train.npy`, `heldout.npz` and `index.json` into the folder `output`.

    Args:
        train: lines to train on.
        heldout: lines to ask words of; may be empty.
        vocabulary: folder of the tokenizer.
        output: folder of the shards.
        sequence_length: tokens of a row, [CLS] and [SEP] included.
        questions: which words of the held-out lines are predicted.

    Raises:
        UserError: there is no text to train on, or a file can't be read.
    """
    encoder, output = load_encoder(vocabulary), Path(output)
    counts = _write_shard(output / "train.npy", train, encoder, sequence_length)
    if counts.tokens == 0:
        raise UserError(f"{train}: holds no text to train on; check the corpus of this language")
    asked = write_heldout(
        output / HELDOUT, heldout, encoder, questions, sequence_length=sequence_length
    )
    log.info("%s: %s", output / HELDOUT, asked)
    index = {
        "asked": asked,
        "sequence_length": sequence_length,
        "tokenizer": encoder.digest,
        "train": asdict(counts),
    }
    write_json(output / "index.json", index)


def open_shard(folder: str | Path, encoder: TextEncoder) -> Shard:
    """Open the rows to train on in `folder`.

    Raises:
        UserError: they are missing, damaged or were made with another tokenizer than `encoder`.
    """
    folder = Path(folder)
    try:
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        made_with = index["tokenizer"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder / 'index.json'}: no index of shards; build them first") from error
    if made_with != encoder.digest:
        raise UserError(
            f"{folder}: these shards were made with another tokenizer; delete the folder and "
            "build them with this one"
        )
    counts = ShardCounts(**index["train"])
    return _mapped(folder / "train.npy", counts, (counts.rows, index["sequence_length"]))


def _mapped(path: Path, counts: ShardCounts, expected: tuple[int, int]) -> Shard:
    try:
        # An empty file can't be mapped.
        rows = np.load(path, mmap_mode="r" if counts.rows else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path}: cannot be read ({error}); build the shards again") from error
    if rows.shape != expected:
        raise UserError(f"{path}: is {rows.shape}, not {expected}; build the shards again")
    return Shard(rows=rows, counts=counts, path=path)


def _write_shard(
    path: Path, lines: str | Path, encoder: TextEncoder, sequence_length: int
) -> ShardCounts:
    counts = ShardCounts()
    dtype = np.uint16 if encoder.size <= np.iinfo(np.uint16).max + 1 else np.uint32
    batches = [ids.astype(dtype) for ids in _token_batches(read_lines(lines), encoder, counts)]
    rows = _packed(np.concatenate([np.zeros(0, dtype), *batches]), encoder, sequence_length)
    counts.rows = len(rows)
    with atomic_path(path) as temporary:
        np.save(temporary, rows)
    log.info("%s: %s", path, counts)
    return counts


def _packed(stream: np.ndarray, encoder: TextEncoder, length: int) -> np.ndarray:
    """Return a stream of tokens as rows: int[rows, length]; only the last may hold padding."""
    body = length - 2
    full, rest = divmod(len(stream), body)
    rows = np.full((full + bool(rest), length), encoder.pad, dtype=stream.dtype)
    rows[:, 0] = encoder.cls
    rows[:full, 1:-1], rows[:full, -1] = stream[: full * body].reshape(full, body), encoder.sep
    if rest:
        rows[-1, 1 : rest + 1], rows[-1, rest + 1] = stream[full * body :], encoder.sep
    return rows


def _token_batches(
    lines: Iterable[str], encoder: TextEncoder, counts: ShardCounts
) -> Iterator[np.ndarray]:
    lines = iter(lines)
    while batch := list(islice(lines, LINES_AT_ONCE)):
        ids = [np.asarray(line, dtype=np.int64) for line in encoder.encode(batch)]
        tokens = np.concatenate(ids)
        counts.lines += len(batch)
        counts.characters += sum(map(len, batch))
        counts.tokens += tokens.size
        counts.unknown += int((tokens == encoder.unk).sum())
        if counts.lines % REPORT_EVERY == 0:
            log.info("%d lines, %d tokens", counts.lines, counts.tokens)
        yield tokens
