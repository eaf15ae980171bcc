"""What tables of frequencies reach on the words that a language model predicts: its floors.

A model that does no better than the frequencies of pieces has learnt nothing of contexts, and says
nothing about a vocabulary. Each floor predicts the same held-out words as the model (`heldout`),
and is estimated from the training text, of which every word is encoded by itself, too:

- `unigram`: how often a piece occurs;
- `placed`: how often it occurs at this place of a word of so many pieces;
- `bigram`: the same, after the piece before it, which may be of the word before.

Each is smoothed by the one above it, the unigrams by one more of every piece: nothing has
probability 0. The first two know no other word: they are free of context.

Model and floors are given how many pieces a word is, which says more where a vocabulary splits
words more finely. So the code of that number is measured as well. Added to either, it makes a code
of the whole word, comparable between vocabularies.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.lm.encoder import TextEncoder, load_encoder
from reproduction.lm.heldout import HeldoutWords, open_heldout
from sagevocab.text import read_lines

FLOORS = ("unigram", "placed", "bigram")
# Those that see no other word; the second knows more.
CONTEXT_FREE = FLOORS[:2]

_ENCODED_AT_ONCE = 1 << 16
_PLACE = ["pieces", "place"]


def measure_floors(train: str | Path, shards: str | Path, vocabulary: str | Path) -> pd.DataFrame:
    """Return the code lengths of the held-out words, without a language model.

    Args:
        train: the lines that models are trained on.
        shards: folder of `build_shards` with the held-out words.
        vocabulary: folder of the tokenizer.

    Returns:
        One row a held-out line, as in heldout.parquet: line, words, characters; count_nats (-log p
        of the numbers of pieces, summed over the words) and, given these numbers, unigram_nats,
        placed_nats and bigram_nats (of the pieces).

    Raises:
        UserError: a file is missing, damaged or was made with another tokenizer.
    """
    encoder = load_encoder(vocabulary)
    held = open_heldout(shards, encoder)
    seen, words = _training_pieces(read_lines(train), encoder)
    asked, word = _asked_pieces(held)
    by_piece = _negative_logs(seen, asked, ordinary=int(encoder.ordinary.sum()))
    _, _, pieces, characters = held.asked.T
    count = len(pieces)
    by_word = {"count": -np.log(_count_probabilities(words, pieces))} | {
        name: np.bincount(word, weights=nats, minlength=count) for name, nats in by_piece.items()
    }
    frame = pd.DataFrame({"line": held.lines})
    frame["words"] = held.by_line(np.ones(count)).astype(np.int64)
    frame["characters"] = held.by_line(characters).astype(np.int64)
    return frame.assign(**{f"{name}_nats": held.by_line(nats) for name, nats in by_word.items()})


# --- pieces with the number of pieces of their word, their place in it and the piece before


@dataclass(frozen=True)
class _Types:
    """The distinct words of a text as pieces.

    ids: int64[pieces], those of all words one after another. starts, lengths: int64[words], of each
    word in `ids`. usable: bool[words], whether it has a piece and none is unknown: such words alone
    are predicted.
    """

    ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    usable: np.ndarray


def _training_pieces(lines: Iterable[str], encoder: TextEncoder) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the pieces of the training text, and its words by their number of pieces.

    The frame has pieces, place, previous, piece and times, how often that occurs. The other is
    int64[most + 1]. Of both, words that would not be asked are left out.
    """
    names, words, opens = _index_words(lines)
    types = _encode(names, encoder)
    times = np.bincount(words, minlength=len(names))
    seen = pd.concat([_inner_pieces(types, times), _opening_pieces(types, words, opens, encoder)])
    lengths, weights = types.lengths[types.usable], times[types.usable]
    return seen, np.bincount(lengths, weights=weights).astype(np.int64)


def _inner_pieces(types: _Types, times: np.ndarray) -> pd.DataFrame:
    """Return all pieces but the first of each word; times: how often each word occurs."""
    word = np.repeat(np.arange(len(types.lengths)), types.lengths)
    place = np.arange(len(types.ids)) - types.starts[word]
    at = np.flatnonzero((place > 0) & types.usable[word])
    found = _pieces(types.lengths[word[at]], place[at], types.ids[at - 1], types.ids[at])
    return found.assign(times=times[word[at]])


def _opening_pieces(
    types: _Types, words: np.ndarray, opens: np.ndarray, encoder: TextEncoder
) -> pd.DataFrame:
    """Return the first piece of each word, after the last one of the word before it.

    words: int64, the text. opens: bool, whether a line begins with the word.
    """
    # A word of no piece is as good as unknown to the word after it.
    ids = np.append(types.ids, encoder.unk)
    last = ids[np.where(types.lengths > 0, types.starts + types.lengths - 1, -1)]
    before = np.where(opens, encoder.cls, np.roll(last[words], 1))
    first = types.usable[words]
    count = max(1, len(types.lengths))
    pairs, times = np.unique(before[first] * count + words[first], return_counts=True)
    previous, word = np.divmod(pairs, count)
    return _pieces(types.lengths[word], 0, previous, ids[types.starts[word]]).assign(times=times)


def _pieces(
    pieces: np.ndarray, place: np.ndarray | int, previous: np.ndarray, piece: np.ndarray
) -> pd.DataFrame:
    columns = {"pieces": pieces, "place": place, "previous": previous, "piece": piece}
    return pd.DataFrame(columns).astype(np.int64)


def _index_words(lines: Iterable[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the distinct words; the text as their numbers, int64; where lines begin, bool."""
    numbers: dict[str, int] = {}
    words, lengths = array("i"), array("i")
    for line in lines:
        found = line.split()
        words.extend([numbers.setdefault(word, len(numbers)) for word in found])
        lengths.append(len(found))
    opens = np.zeros(len(words) + 1, dtype=bool)
    opens[np.cumsum(lengths, dtype=np.int64) - np.array(lengths)] = True
    return list(numbers), np.array(words, dtype=np.int64), opens[:-1]


def _encode(words: list[str], encoder: TextEncoder) -> _Types:
    ids, lengths = array("i"), array("i")
    for start in range(0, len(words), _ENCODED_AT_ONCE):
        for pieces in encoder.encode(words[start : start + _ENCODED_AT_ONCE]):
            ids.extend(pieces)
            lengths.append(len(pieces))
    flat, sizes = np.array(ids, dtype=np.int64), np.array(lengths, dtype=np.int64)
    unknown = np.repeat(np.arange(len(words)), sizes)[flat == encoder.unk]
    usable = (sizes > 0) & (np.bincount(unknown, minlength=len(words)) == 0)
    return _Types(flat, np.cumsum(sizes) - sizes, sizes, usable)


def _asked_pieces(held: HeldoutWords) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the pieces of the words asked, and of which word (0, 1, ...) each is."""
    row, start, pieces, _ = held.asked.T
    word = np.repeat(np.arange(len(row)), pieces)
    place = np.arange(len(word)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    at = held.offsets[row[word]] + start[word] + place
    return _pieces(pieces[word], place, held.ids[at - 1], held.ids[at]), word


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
    bigram = _interpolated(seen, asked, [*_PLACE, "previous"], placed)
    return {name: -np.log(p) for name, p in zip(FLOORS, (unigram, placed, bigram), strict=True)}


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
