"""How the word types of a corpus are segmented, and how that changes as pieces leave.

Pieces go by their rank of frequency, so that those most met lie together wherever they are looked
up; an uncovered character has the number behind the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sagevocab.vocab.compiled import compiled
from sagevocab.vocab.decoding import Ablations, Decoder, Segmentation, put_runs

# What is new about a type: its tokens, or an ablation only.
TOKENS, ABLATION = np.int8(2), np.int8(1)


class View(NamedTuple):
    """How every word type is segmented: with all pieces, and without each that is of interest."""

    tokens: Segmentation
    ablations: Ablations


def no_tokens(types: int) -> View:
    """Return a view in which no word type has tokens."""
    offsets, nothing = np.zeros(types + 1, np.int64), np.zeros(0, np.int32)
    ablations = Ablations(offsets, nothing, nothing, nothing, np.zeros(1, np.int64), nothing)
    return View(Segmentation(nothing, offsets), ablations)


def make_view(decoder: Decoder, alive: np.ndarray, wanted: np.ndarray, rank: np.ndarray) -> View:
    """Segment every type with the pieces `alive`, and without each that is `wanted`.

    rank: int32[pieces + 1], the numbers to use; its last entry, at -1, that of UNCOVERED.
    """
    tokens = decoder.segment(alive)
    ablations = decoder.ablate(alive, wanted, tokens)
    return View(
        tokens._replace(ids=rank[tokens.ids]),
        ablations._replace(pieces=rank[ablations.pieces], ids=rank[ablations.ids]),
    )


def follow(
    view: View, gone: np.ndarray, decoder: Decoder, alive: np.ndarray, wanted: np.ndarray,
    rank: np.ndarray,
) -> tuple[View, np.ndarray]:  # fmt: skip
    """Return the view after the pieces `gone` left, and what is new about each type (int8[types]).

    gone, alive, wanted: bool[pieces], by their number in the full vocabulary. Only types that show
    a piece that is gone, as a token or in the place of a piece that is wanted, are segmented anew.
    """
    order = rank[:-1]
    by_rank = np.zeros((2, len(rank)), dtype=bool)
    by_rank[0, order], by_rank[1, order] = gone, wanted
    news = _find_news(view, by_rank[0], by_rank[1])
    types = np.flatnonzero(news)
    part = make_view(decoder.only(types), alive, wanted, rank)
    runs = put_runs(*view.tokens, types, *part.tokens)
    return View(Segmentation(*runs), _put_ablations(view.ablations, types, part.ablations)), news


@compiled
def _find_news(view, gone, wanted):
    news = np.zeros(len(view.tokens.offsets) - 1, np.int8)
    first, pieces, _, _, offsets, ids = view.ablations
    for kind in range(len(news)):
        for at in range(view.tokens.offsets[kind], view.tokens.offsets[kind + 1]):
            if gone[view.tokens.ids[at]]:
                news[kind] = TOKENS
        for ablation in range(first[kind], first[kind + 1]):
            if news[kind] or not wanted[pieces[ablation]]:
                continue
            for at in range(offsets[ablation], offsets[ablation + 1]):
                if gone[ids[at]]:
                    news[kind] = ABLATION
    return news


@compiled
def _put_ablations(old, which, new):
    """Put new ablations of some types (ascending) in the place of the old ones."""
    total, room = len(old.pieces) + len(new.pieces), len(old.ids) + len(new.ids)
    first, offsets = np.zeros(len(old.first), np.int64), np.zeros(total + 1, np.int64)
    pieces, begins = np.empty(total, np.int32), np.empty(total, np.int32)
    ends, ids = np.empty(total, np.int32), np.empty(room, np.int32)
    n = at = k = 0
    for kind in range(len(first) - 1):
        source, row = old, kind
        if k < len(which) and which[k] == kind:
            source, row = new, k
            k += 1
        for ablation in range(source.first[row], source.first[row + 1]):
            pieces[n], begins[n] = source.pieces[ablation], source.begins[ablation]
            ends[n] = source.ends[ablation]
            for token in range(source.offsets[ablation], source.offsets[ablation + 1]):
                ids[at] = source.ids[token]
                at += 1
            n += 1
            offsets[n] = at
        first[kind + 1] = n
    pieces, begins, ends = pieces[:n].copy(), begins[:n].copy(), ends[:n].copy()
    return Ablations(first, pieces, begins, ends, offsets[: n + 1].copy(), ids[:at].copy())
