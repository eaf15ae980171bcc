"""Token shards: a corpus as rows of ids that training maps into memory, made once per tokenizer.

The lines of the corpus, in order, are one stream of tokens, cut into rows of equal length:

    [CLS] t t t t … t [SEP]

Rows start and end anywhere in a line (`▁` still marks where words start), no token is lost, and
only the last row is filled up with [PAD]. Ids are uint16 where they fit, else uint32. Beside the
rows stand the held-out words that the model predicts (`heldout`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from reproduction.lm.heldout import FILE as HELDOUT
from reproduction.lm.heldout import HeldoutSettings, write_heldout
from reproduction.lm.tokenizer import TextEncoder, load_encoder
from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError
from sagevocab.files import atomic_path, read_json, write_json

log = logging.getLogger(__name__)

LINES_AT_ONCE = 4096
REPORT_EVERY = 100 * LINES_AT_ONCE


@dataclass(frozen=True)
class Shard:
    """Rows to train on.

    rows: int[rows, sequence_length], memory-mapped. tokens (special ones left out), characters: how
    many they hold.
    """

    rows: np.ndarray
    tokens: int
    characters: int


def build_shards(
    train: str | Path,
    heldout: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    *,
    sequence_length: int,
    questions: HeldoutSettings,
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
    counts = _write_rows(output / "train.npy", train, encoder, sequence_length)
    if not counts["tokens"]:
        raise UserError(f"{train}: holds no text to train on; check the corpus of this language")
    asked = write_heldout(
        output / HELDOUT, heldout, encoder, questions, sequence_length=sequence_length
    )
    log.info("%s: %s", output / HELDOUT, asked)
    write_json(output / "index.json", {"asked": asked, "train": counts})


def open_shard(folder: str | Path) -> Shard:
    """Open the rows to train on in `folder`."""
    counts = read_json(Path(folder) / "index.json")["train"]
    rows = np.load(Path(folder) / "train.npy", mmap_mode="r", allow_pickle=False)
    return Shard(rows, counts["tokens"], counts["characters"])


def _write_rows(path: Path, text: str | Path, encoder: TextEncoder, length: int) -> dict[str, int]:
    """Write a text as rows; return how many lines, characters, tokens and rows it has."""
    dtype = np.uint16 if encoder.size <= np.iinfo(np.uint16).max + 1 else np.uint32
    parts, lines, characters = [np.zeros(0, dtype)], 0, 0
    rest = iter(read_lines(text))
    while batch := list(islice(rest, LINES_AT_ONCE)):
        parts.append(np.fromiter(chain.from_iterable(encoder.encode(batch)), dtype))
        lines += len(batch)
        characters += sum(map(len, batch))
        if lines % REPORT_EVERY == 0:
            log.info("%d lines", lines)
    stream = np.concatenate(parts)
    rows = _packed(stream, encoder, length)
    with atomic_path(path) as temporary:
        np.save(temporary, rows)
    counts = {
        "lines": lines,
        "characters": characters,
        "tokens": len(stream),
        "unknown": int((stream == encoder.unk).sum()),
        "rows": len(rows),
    }
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
