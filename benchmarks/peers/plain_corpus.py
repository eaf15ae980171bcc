"""A corpus and a BPE model on which SaGe 1.0's peculiarities have nothing to work on.

The model has no piece of `▁` and one character: words are merged first, and then `▁` to what they
begin with. In no line does a piece of two or more letters stand twice, token or not. Every piece is
a token somewhere. Lines begin with a word whose beginning is a piece of more than `▁`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from sentencepiece import sentencepiece_model_pb2

from sagevocab import bpe
from sagevocab.pieces import WORD_START
from sagevocab.segment import MergeSegmenter
from sagevocab.state import atomic_path

SPECIALS = ("<unk>", "<s>", "</s>")


def plain_pieces(trained: Sequence[str], words: Sequence[str]) -> list[str]:
    """Make such a model's pieces of a trained one's, in the order of merges.

    Pieces that repeat another are left out, and openings that no word begins with: no merge builds
    upon an opening.
    """
    inner = [piece for piece in trained if WORD_START not in piece]
    merged = [piece for piece in inner if len(piece) > 1]
    merged = [piece for piece in merged if not any(piece.count(part) > 1 for part in merged)]
    characters = [WORD_START, *(piece for piece in inner if len(piece) == 1)]
    pieces = [*merged, *(WORD_START + piece for piece in merged), *characters]
    words = usable_words(words, pieces)
    used = set().union(*tokens_of(words, pieces).values())
    return [piece for piece in pieces if piece in used or piece[0] != WORD_START]


def merges_of(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """Return the merges of pieces that stand in the order of their ranks."""
    model = sentencepiece_model_pb2.ModelProto()
    for rank, piece in enumerate(pieces):
        model.pieces.add(piece=piece, score=-rank)
    return bpe.merges_of_model(model)


def tokens_of(words: Iterable[str], pieces: Sequence[str]) -> dict[str, list[str]]:
    """Segment each word by merges."""
    segmenter = MergeSegmenter(pieces, merges_of(pieces), pieces)
    return {word: [pieces[n] for n in segmenter.segment(WORD_START + word)] for word in words}


def pieces_within(word: str, pieces: Sequence[str]) -> list[str]:
    """List the pieces of two or more letters in a word, each as often as it is there."""
    return [
        piece for piece in pieces if len(piece) > 1 for _ in range((WORD_START + word).count(piece))
    ]


def usable_words(words: Sequence[str], pieces: Sequence[str]) -> list[str]:
    """Return the words in which no piece stands twice."""
    within = {word: pieces_within(word, pieces) for word in words}
    return [word for word in words if len(set(within[word])) == len(within[word])]


def plain_lines(words: Sequence[str], pieces: Sequence[str], count: int, length: int) -> list[str]:
    """Draw lines of at most `length` words without a repeated piece; rare tokens come first.

    A piece that is no token in `words` is a word itself.

    Raises:
        ValueError: the lines do not show every piece as a token.
    """
    long = [piece for piece in pieces if len(piece) > 1]
    usable = usable_words(words, pieces)
    used = set().union(*tokens_of(usable, pieces).values())
    usable += [piece for piece in long if piece not in used and piece[0] != WORD_START]
    within = {word: pieces_within(word, pieces) for word in usable}
    tokens, drawn = tokens_of(usable, pieces), random.Random(1)
    seen: dict[str, int] = dict.fromkeys(pieces, 0)
    lines = []
    for _ in range(count):
        order = sorted(usable, key=lambda w: (min(seen[t] for t in tokens[w]), drawn.random()))
        line: list[str] = []
        present: set[str] = set()
        for word in order:
            if len(line) < length and present.isdisjoint(within[word]):
                line.append(word)
                present.update(within[word])
        for token in (token for word in line for token in tokens[word]):
            seen[token] += 1
        line.sort(key=lambda w: (tokens[w][0] == WORD_START, drawn.random()))
        lines.append(" ".join(line))
    if missing := [piece for piece in long if not seen[piece]]:
        raise ValueError(f"no token: {missing}")
    return lines


def write_model(trained: Path, path: Path, pieces: Sequence[str]) -> None:
    """Write a trained model anew with other pieces."""
    model = bpe.read_model(trained)
    specials = [piece for piece in model.pieces if piece.piece in SPECIALS]
    del model.pieces[:]
    model.pieces.extend(specials)
    for rank, piece in enumerate(pieces):
        model.pieces.add(piece=piece, score=-rank)
    model.trainer_spec.vocab_size = len(model.pieces)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
