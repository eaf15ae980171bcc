"""Words of held-out lines that a masked language model predicts, so that vocabularies compare.

Whatever the tokenizer, a model predicts the same words (separated by white space) of every line:
the share `lm.pretrain.mask_rate` of them, at least one, drawn from the seed, the line's place and
its number of words. Each word is encoded by itself, as in tagging, and the line becomes a row:

    [CLS] t t t t … t [SEP]

All pieces of an asked word are hidden and predicted from left to right, each with those before it
shown: the chain rule inside the word (Kauf and Ivanova 2023, "A Better Way to Do Masked Language
Model Scoring"). Pass j over a line shows the first j - 1 pieces of each asked word, hides the
others and scores piece j of each word that has one.

An asked word is left out under a tokenizer that gives it an unknown piece or none, or that puts it
beyond the longest row. Comparisons pair the lines of which two tokenizers keep as many words and
characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from reproduction.lm.encoder import IGNORED, TextEncoder
from sagevocab.errors import UserError
from sagevocab.state import read_npz, write_npz
from sagevocab.text import read_lines

if TYPE_CHECKING:
    import torch

FILE = "heldout.npz"
# Rows are padded to a multiple of this, so that a device sees few shapes.
PADDED_TO = 16
_ASKED = 7  # its own random stream beside those of training
_Pass = tuple[int, int, np.ndarray]  # row, step, the words asked in the row


@dataclass(frozen=True)
class HeldoutSettings:
    """Which words are predicted.

    lines: how many held-out lines, at even distances; 0 asks nothing. rate: share of a line's words
    (at least one is predicted). seed: draws them.
    """

    lines: int
    rate: float
    seed: int


NOTHING = HeldoutSettings(lines=0, rate=0.0, seed=0)


@dataclass(frozen=True)
class HeldoutWords:
    """Held-out lines as one tokenizer's ids, and the words asked in them.

    Attributes:
        lines: int64[lines], where each stands in the held-out text.
        ids: int64[tokens], the rows one after the other, [CLS] and [SEP] included.
        offsets: int64[lines + 1], where each row starts in `ids`.
        asked: int64[words, 4], by row: the row (0, 1, ...), the place of the word's first piece in
            it, the word's pieces, the word's characters.
        mask: the id that hides a piece.
    """

    lines: np.ndarray
    ids: np.ndarray
    offsets: np.ndarray
    asked: np.ndarray
    mask: int

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.lines)

    def row(self, number: int) -> np.ndarray:
        """Return the ids of a line: int64[its tokens]."""
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def by_line(self, of_words: np.ndarray) -> np.ndarray:
        """Return the sums of a value of every word asked: float64[lines]."""
        return np.bincount(self.asked[:, 0], weights=of_words, minlength=len(self))


def write_heldout(
    path: str | Path,
    text: str | Path,
    encoder: TextEncoder,
    settings: HeldoutSettings,
    *,
    sequence_length: int,
) -> dict[str, int]:
    """Write what `encoder` makes of lines of the held-out `text`.

    Returns the numbers of lines, of words asked and of words left out.

    Raises:
        UserError: the text can't be read.
    """
    chosen = _spread([line.split() for line in read_lines(text)], settings.lines)
    rows, asked, left_out = [], [], 0
    for row, (number, words) in enumerate(chosen):
        ids = encoder.encode(words)
        places = asked_words(len(words), number, settings)
        found = list(_entries(row, words, ids, places, encoder, sequence_length))
        rows.append(_row(ids, encoder, sequence_length))
        left_out += len(places) - len(found)
        asked += found
    write_npz(
        path,
        tokenizer=np.array(encoder.digest),
        lines=np.array([number for number, _ in chosen], dtype=np.int64),
        ids=np.concatenate([*rows, np.zeros(0)]).astype(np.uint32),
        offsets=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        asked=np.array(asked, dtype=np.int32).reshape(-1, 4),
    )
    return {"lines": len(rows), "words": len(asked), "left_out": left_out}


def asked_words(words: int, line: int, settings: HeldoutSettings) -> np.ndarray:
    """Return which of a line's words are predicted, ascending, whatever the tokenizer."""
    count = min(words, max(1, round(settings.rate * words)))
    rng = np.random.default_rng([settings.seed, _ASKED, line])
    return np.sort(rng.choice(words, size=count, replace=False))


def _spread(lines: list[list[str]], wanted: int) -> list[tuple[int, list[str]]]:
    """Choose lines with words, at even distances; with their numbers (0, 1, ...)."""
    full = [(number, words) for number, words in enumerate(lines) if words]
    count = min(wanted, len(full))
    return [full[place * len(full) // count] for place in range(count)]


def _entries(
    row: int,
    words: list[str],
    ids: list[list[int]],
    places: Iterable[int],
    encoder: TextEncoder,
    sequence_length: int,
) -> Iterator[tuple[int, int, int, int]]:
    starts = np.cumsum([1, *map(len, ids)]).tolist()
    for place in places:
        pieces, start = ids[place], starts[place]
        fits = start + len(pieces) <= sequence_length - 1
        if pieces and fits and encoder.unk not in pieces:
            yield row, start, len(pieces), len(words[place])


def _row(ids: list[list[int]], encoder: TextEncoder, sequence_length: int) -> np.ndarray:
    body = [token for word in ids for token in word][: sequence_length - 2]
    return np.array([encoder.cls, *body, encoder.sep])


def open_heldout(folder: str | Path, encoder: TextEncoder) -> HeldoutWords:
    """Open the held-out words in the folder of a tokenizer's shards.

    Raises:
        UserError: they are missing, damaged or were made with another tokenizer than `encoder`.
    """
    path = Path(folder) / FILE
    arrays = read_npz(path)
    try:
        digest = str(arrays.pop("tokenizer"))
        wide = {name: values.astype(np.int64) for name, values in arrays.items()}
        held = HeldoutWords(**wide, mask=encoder.mask)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: holds no held-out words; build the shards again") from error
    if digest != encoder.digest:
        raise UserError(
            f"{path}: these words were encoded with another tokenizer; delete the folder and build "
            "the shards with this one"
        )
    return held


def score_words(
    logits_of: Callable[..., torch.Tensor],
    held: HeldoutWords,
    *,
    pad: int,
    put: Callable[[np.ndarray], Any],
    batch: int,
) -> pd.DataFrame:
    """Ask the model the words of every line.

    Args:
        logits_of: (inputs, positions, present) -> float32[rows * asked, V], of a model in
            evaluation mode; the caller turns gradients off.
        held: what to ask.
        pad: id of [PAD].
        put: copies an array to the model's device.
        batch: rows at once; it changes no score beyond rounding.

    Returns:
        One row a line: line, words, characters, pieces, nats (-log p, summed), right_words (all of
        whose pieces are the most probable), right_pieces. A line without a word left has zeros.
    """
    nats = np.zeros(len(held.asked))
    right = np.zeros(len(held.asked), dtype=np.int64)
    for passes in _passes(held, batch):
        inputs, present, positions, labels, words = _questions(held, passes, pad)
        logits = logits_of(put(inputs), put(positions), put(present))
        answers = put(np.maximum(labels, 0)).flatten()
        losses = -logits.log_softmax(-1).gather(1, answers.unsqueeze(1)).squeeze(1)
        hits = logits.argmax(-1) == answers
        scored = labels.flatten() != IGNORED
        # Two passes over a line may share a batch.
        asked = words.flatten()[scored]
        np.add.at(nats, asked, losses.double().cpu().numpy()[scored])
        np.add.at(right, asked, hits.cpu().numpy()[scored])
    return _by_line(held, nats, right)


def _passes(held: HeldoutWords, batch: int) -> Iterator[list[_Pass]]:
    """Yield batches of all passes over all lines, rows of like length together."""
    bounds = np.searchsorted(held.asked[:, 0], np.arange(len(held) + 1))
    passes = []
    for number in range(len(held)):
        words = np.arange(bounds[number], bounds[number + 1])
        deepest = held.asked[words, 2].max(initial=0)
        passes += [(number, step, words) for step in range(deepest)]
    passes.sort(key=lambda one: held.offsets[one[0] + 1] - held.offsets[one[0]])
    for start in range(0, len(passes), batch):
        yield passes[start : start + batch]


def _questions(held: HeldoutWords, passes: list[_Pass], pad: int) -> tuple[np.ndarray, ...]:
    """Return what the model sees and predicts, a row for each pass.

    inputs: int64[rows, length]. present: bool[rows, length], False on padding. positions, labels,
    words: int64[rows, asked], where it predicts, the ids that stood there (IGNORED where a row asks
    fewer words), and which word of `asked` that is.
    """
    rows = [_hidden(held, number, step, words) for number, step, words in passes]
    asking = [words[held.asked[words, 2] > step] for _, step, words in passes]
    length = PADDED_TO * math.ceil(max(map(len, rows)) / PADDED_TO)
    inputs = np.full((len(rows), length), pad, dtype=np.int64)
    present = np.zeros(inputs.shape, dtype=bool)
    positions = np.zeros((len(rows), max(map(len, asking))), dtype=np.int64)
    labels, words = np.full_like(positions, IGNORED), np.zeros_like(positions)
    for at, (row, asked, (number, step, _)) in enumerate(zip(rows, asking, passes, strict=True)):
        inputs[at, : len(row)], present[at, : len(row)] = row, True
        places = held.asked[asked, 1] + step
        positions[at, : len(asked)], words[at, : len(asked)] = places, asked
        labels[at, : len(asked)] = held.row(number)[places]
    return inputs, present, positions, labels, words


def _hidden(held: HeldoutWords, number: int, step: int, words: np.ndarray) -> np.ndarray:
    """Return a line's ids, of each asked word all pieces from number `step` on hidden."""
    row = held.row(number).copy()
    for _, start, pieces, _ in held.asked[words]:
        row[start + step : start + max(step, pieces)] = held.mask
    return row


def _by_line(held: HeldoutWords, nats: np.ndarray, right: np.ndarray) -> pd.DataFrame:
    _, _, pieces, characters = held.asked.T
    total = held.by_line
    frame = pd.DataFrame({"line": held.lines})
    frame["words"] = total(np.ones(len(pieces)))
    frame["characters"], frame["pieces"] = total(characters), total(pieces)
    frame["nats"] = total(nats)
    frame["right_words"], frame["right_pieces"] = total(right == pieces), total(right)
    whole = ["words", "characters", "pieces", "right_words", "right_pieces"]
    return frame.astype(dict.fromkeys(whole, "int64"))


def summarise_words(frame: pd.DataFrame) -> dict[str, float]:
    """Return the scores of all lines together; NaN when nothing is predicted.

    heldout_bits_per_character (of the asked words, the spaces between not counted),
    heldout_word_accuracy, heldout_loss (nats a piece), heldout_accuracy (share of pieces).
    """
    totals = frame.drop(columns="line").sum()
    if not totals["words"]:
        names = ("bits_per_character", "word_accuracy", "loss", "accuracy")
        return {f"heldout_{name}": math.nan for name in names}
    return {
        "heldout_bits_per_character": totals["nats"] / math.log(2) / totals["characters"],
        "heldout_word_accuracy": totals["right_words"] / totals["words"],
        "heldout_loss": totals["nats"] / totals["pieces"],
        "heldout_accuracy": totals["right_pieces"] / totals["pieces"],
    }
