"""What tables of frequencies reach on the words that a language model predicts: its floors.

A model that does no better than the frequencies of pieces has learnt nothing of contexts, and says
nothing about a vocabulary. Each floor predicts the same held-out words as the model (`heldout`),
and is estimated from the training text, of which every word is encoded by itself, too:

- `unigram`: how often a piece occurs;
- `placed`: how often it occurs at this place of a word of so many pieces, smoothed by the unigrams.

The unigrams are smoothed by one more of every piece: nothing has probability 0. Neither knows any
other word.

Model and floors are given how many pieces a word is, which says more where a vocabulary splits
words more finely. So the code of that number is measured as well. Added to either, it makes a code
of the whole word, comparable between vocabularies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reproduction.lm.heldout import open_heldout
from sagevocab.corpus.text import read_lines

if TYPE_CHECKING:  # it loads transformers, which tables and figures do without
    from reproduction.lm.tokenizer import TextEncoder

FLOORS = ("unigram", "placed")
_ENCODED_AT_ONCE = 1 << 16
_PLACE = ["pieces", "place"]


def measure_floors(train: str | Path, shards: str | Path, encoder: TextEncoder) -> pd.DataFrame:
    """Return the code lengths of the held-out words, without a language model.

    Args:
        train: the lines that models are trained on.
        shards: folder of `build_shards` with the held-out words.
        encoder: the tokenizer's.

    Returns:
        One row a held-out line, as in heldout.parquet: line, words, characters; count_nats (-log p
        of the numbers of pieces, summed over the words) and, given these numbers, unigram_nats and
        placed_nats (of the pieces).

    Raises:
        UserError: a file is missing, damaged or was made with another tokenizer.
    """
    held = open_heldout(shards, encoder)
    seen, words = _training_pieces(read_lines(train), encoder)
    asked = held.pieces()
    by_piece = _negative_logs(seen, asked, ordinary=int(encoder.ordinary.sum()))
    by_word = {f"{name}_nats": held.by_word(nats, asked) for name, nats in by_piece.items()}
    count_nats = -np.log(_count_probabilities(words, held.words["pieces"].to_numpy()))
    return held.by_line(count_nats=count_nats, **by_word)


# --- pieces with the number of pieces of their word, and the place in it


def _training_pieces(lines: Iterable[str], encoder: TextEncoder) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the pieces of the training text, and its words by their number of pieces.

    The frame has pieces, place, piece and times, how often that occurs. The other is
    int64[most + 1]. Of both, words that would not be asked are left out.
    """
    counts = Counter(word for line in lines for word in line.split())
    names, times = list(counts), np.fromiter(counts.values(), np.int64, len(counts))
    parts = (names[at : at + _ENCODED_AT_ONCE] for at in range(0, len(names), _ENCODED_AT_ONCE))
    ids = [pieces for part in parts for pieces in encoder.encode(part)]
    lengths = np.array(list(map(len, ids)), dtype=np.int64)

    frame = pd.DataFrame({"piece": np.fromiter(chain.from_iterable(ids), dtype=np.int64)})
    frame["word"] = np.repeat(np.arange(len(ids)), lengths)
    frame["place"], frame["pieces"] = frame.groupby("word").cumcount(), lengths[frame["word"]]
    frame["times"] = times[frame["word"]]

    usable = np.array([bool(pieces) and encoder.unk not in pieces for pieces in ids], dtype=bool)
    of_words = np.bincount(lengths[usable], times[usable]).astype(np.int64)
    return frame[usable[frame["word"]]], of_words


# --- probabilities


def _count_probabilities(words: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Return the probability that a word is of so many pieces.

    words: of the training text, by their number of pieces. One more word is shared out over all
    numbers, 2^-n of it to n pieces.
    """
    seen = np.append(words, np.zeros(max(0, pieces.max(initial=0) + 1 - len(words))))
    return (seen[pieces] + 2.0**-pieces) / (words.sum() + 1)


def _negative_logs(
    seen: pd.DataFrame, asked: pd.DataFrame, *, ordinary: int
) -> dict[str, np.ndarray]:
    """Return -log p of each piece asked by each floor, float64; ordinary: how many pieces exist."""
    times = seen.groupby("piece")["times"].sum().reindex(asked["piece"], fill_value=0)
    unigram = (times.to_numpy() + 1) / (seen["times"].sum() + ordinary)
    placed = _interpolated(seen, asked, _PLACE, unigram)
    return {name: -np.log(p) for name, p in zip(FLOORS, (unigram, placed), strict=True)}


def _interpolated(
    seen: pd.DataFrame, asked: pd.DataFrame, context: list[str], lower: np.ndarray
) -> np.ndarray:
    """Return p(piece | context) after Witten and Bell (1991), method C, interpolated.

    p = (c(context, piece) + t · lower) / (c(context) + t), where t pieces were seen in the context:
    the more of them, the more likely is one that was not.
    """
    pairs = seen.groupby([*context, "piece"], as_index=False)["times"].sum()
    contexts = pairs.groupby(context, as_index=False)["times"].agg(all="sum", distinct="size")
    found = asked.merge(pairs, how="left").merge(contexts, how="left").fillna(0)
    weighed = found["times"] + found["distinct"] * lower
    total = found["all"] + found["distinct"]
    return np.where(total > 0, weighed / np.maximum(total, 1), lower)
