"""What a masked language model makes of held-out words (`heldout`), so that vocabularies compare.

All pieces of an asked word are hidden and predicted from left to right, each with those before it
shown: the chain rule inside the word (Kauf and Ivanova 2023, "A Better Way to Do Masked Language
Model Scoring"). Pass j over a line shows the first j - 1 pieces of each asked word, hides the
others and scores piece j of each word that has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from reproduction.lm.heldout import HeldoutWords

# Rows are padded to a multiple of this, so that a device sees few shapes.
PADDED_TO = 16
SUMMARY = tuple(
    f"heldout_{name}" for name in ("bits_per_character", "word_accuracy", "loss", "accuracy")
)
_NONE = -1  # where a row predicts fewer pieces than others


def score_words(
    logits_of: Callable[..., torch.Tensor], held: HeldoutWords, *, pad: int, batch: int
) -> pd.DataFrame:
    """Ask the model the words of every line.

    Args:
        logits_of: a model in evaluation mode; see `MaskedModel.forward`. The caller turns gradients
            off, and puts the inputs on the model's device.
        held: what to ask.
        pad: id of [PAD].
        batch: rows at once; it changes no score beyond rounding.

    Returns:
        One row a line: line, words, characters, pieces, nats (-log p, summed), right_words (all of
        whose pieces are the most probable), right_pieces. A line without a word left has zeros.
    """
    pieces = held.pieces()
    nats, hits = np.zeros(len(pieces)), np.zeros(len(pieces), dtype=bool)
    labels = torch.from_numpy(pieces["piece"].to_numpy(copy=True))
    passes = _Passes(held, pieces, pad)
    for asked, inputs in DataLoader(passes, batch, collate_fn=passes.collate):
        logits = logits_of(**inputs)
        answers = labels[asked].flatten().to(logits.device)
        losses = -logits.log_softmax(-1).gather(1, answers.unsqueeze(1)).squeeze(1)
        is_wanted = asked.flatten() != _NONE
        scored = asked.flatten()[is_wanted].numpy()
        nats[scored] = losses.double().cpu()[is_wanted]
        hits[scored] = (logits.argmax(-1) == answers).cpu()[is_wanted]
    right = held.by_word(hits, pieces)
    frame = held.by_line(
        pieces=held.words["pieces"],
        nats=held.by_word(nats, pieces),
        right_words=right == held.words["pieces"],
        right_pieces=right,
    )
    return frame.astype(dict.fromkeys(["pieces", "right_words", "right_pieces"], np.int64))


class _Passes(Dataset):
    """All passes over all lines, short lines first."""

    def __init__(self, held: HeldoutWords, pieces: pd.DataFrame, pad: int) -> None:
        self._held, self._pieces, self._pad = held, pieces, pad
        self._of_row = pieces.groupby("row").indices
        self._predicted = pieces.groupby(["row", "place"]).indices
        self._order = sorted(self._predicted, key=lambda one: len(held.rows[one[0]]))
        self._positions = torch.from_numpy(pieces["position"].to_numpy(copy=True))

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the ids of the line, as shown, and which of `pieces` are predicted."""
        row, step = self._order[number]
        own = self._pieces.iloc[self._of_row[row]]
        shown = self._held.rows[row].copy()
        shown[own["position"][own["place"] >= step]] = self._held.mask
        return torch.from_numpy(shown), torch.from_numpy(self._predicted[row, step])

    def collate(self, passes: list[tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor, dict]:
        """Return the pieces predicted, int64[rows, most], filled up with _NONE; the inputs."""
        shown, asked = zip(*passes, strict=True)
        inputs = pad_sequence(shown, batch_first=True, padding_value=self._pad)
        inputs = functional.pad(inputs, (0, -inputs.shape[1] % PADDED_TO), value=self._pad)
        asked = pad_sequence(asked, batch_first=True, padding_value=_NONE)
        positions = self._positions[asked].where(asked != _NONE, 0)
        present = inputs != self._pad
        return asked, {"input_ids": inputs, "positions": positions, "attention_mask": present}


def summarise_words(frame: pd.DataFrame) -> dict[str, float]:
    """Return the scores of all lines together by their names in SUMMARY; NaN for no words.

    They are bits a character of the asked words (the spaces between not counted), the share of
    words that are right, nats a piece, the share of pieces that are right.
    """
    totals = frame.drop(columns="line").sum()
    if not totals["words"]:
        return dict.fromkeys(SUMMARY, math.nan)
    values = (
        totals["nats"] / math.log(2) / totals["characters"],
        totals["right_words"] / totals["words"],
        totals["nats"] / totals["pieces"],
        totals["right_pieces"] / totals["pieces"],
    )
    return dict(zip(SUMMARY, values, strict=True))
