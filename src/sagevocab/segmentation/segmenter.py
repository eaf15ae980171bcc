"""Segmenters: how a word becomes pieces of a finished vocabulary.

A segmenter works inside one word (`▁` and all) and gives piece numbers, positions in its list of
pieces; a character that no piece covers is one UNCOVERED (-1), the exported `[UNK]`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from sagevocab.segmentation.decoder import (
    UNCOVERED,
    Decoder,
    build_merges,
    build_trie,
    longest_matches,
)


class Segmenter(ABC):
    """How one tokenizer segments words.

    pieces: the vocabulary, without special tokens, in id order.
    """

    pieces: list[str]

    @abstractmethod
    def segment_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Segment many words: int32 piece numbers one after another, int64[words + 1] offsets."""

    def segment(self, word: str) -> list[int]:
        """Segment one word into piece numbers."""
        return self.segment_words([word])[0].tolist()


class GreedySegmenter(Segmenter):
    """Longest match from the left, single characters as the floor (paper, Section 3).

    Where not even one character matches, that character is UNCOVERED.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        """Take the vocabulary."""
        self.pieces = list(pieces)
        self._trie = build_trie(self.pieces)

    def segment_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Segment many words: int32 piece numbers one after another, int64[words + 1] offsets."""
        return longest_matches(words, self._trie)


class MergeSegmenter(Segmenter):
    """Byte-pair merges by rank with the full list; then pieces not in the vocabulary fall apart.

    A piece falls apart into the two it was merged from in that word, and these in turn, as with
    sentencepiece's `set_vocabulary`.
    """

    def __init__(
        self, pieces: Sequence[str], merges: Sequence[tuple[str, str]], full_pieces: Sequence[str]
    ) -> None:
        """Take the vocabulary, the merges by rank, and all pieces that `merges` join or make.

        Raises:
            ValueError: `full_pieces` lacks one of `pieces` or a part of a merge.
        """
        self.pieces = list(pieces)
        numbers = {piece: number for number, piece in enumerate(self.pieces)}
        self._merges = build_merges(full_pieces, merges)
        # One place more than there are pieces, so that UNCOVERED (-1) stays what it is.
        kept = [numbers.pop(piece, UNCOVERED) for piece in full_pieces]
        if numbers:
            raise ValueError(f"the merges' vocabulary lacks the piece {next(iter(numbers))!r}")
        self._numbers = np.array([*kept, UNCOVERED], dtype=np.int32)

    def segment_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Segment many words: int32 piece numbers one after another, int64[words + 1] offsets."""
        decoder = Decoder.merging(words, self._merges)
        ids, offsets = decoder.segment(self._numbers[:-1] != UNCOVERED)
        return self._numbers[ids], offsets


def make_segmenter(
    decoder: str,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    full_pieces: Sequence[str] | None = None,
) -> Segmenter:
    """Make the segmenter of a decoder of SaGe, `greedy` or `merges`.

    Args:
        decoder: `greedy` or `merges`.
        pieces: of the vocabulary.
        merges: by rank, for `merges`.
        full_pieces: all that `merges` join or make; `pieces` if left out.

    Returns:
        The segmenter.
    """
    if decoder == "merges":
        return MergeSegmenter(pieces, merges or (), full_pieces or pieces)
    return GreedySegmenter(pieces)
