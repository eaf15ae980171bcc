"""One tokenizer on one corpus in numbers: sizes, shares and entropies, without intervals.

Characters and bytes are those of the normalised text, one space between words, without line ends.
A word is what the corpus holds as one: words longer than `max_word_chars` count by their chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.pieces import WORD_START, is_single_character, piece_length
from sagevocab.segmentation.counts import Counts

Numbers = Sequence[float] | np.ndarray


def renyi_entropy(counts: Numbers, alpha: float) -> float:
    """Return the Rényi entropy of order `alpha` in bits, 0 without observations.

    Order 1 is Shannon's entropy (the limit).

    Raises:
        ValueError: alpha is negative or not finite.
    """
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be finite and at least 0, not {alpha}")
    seen = np.asarray(counts, dtype=float)
    seen = seen[seen > 0]
    if not seen.size:
        return 0.0
    shares = seen / seen.sum()
    if alpha == 1:
        return float(-(shares * np.log2(shares)).sum()) + 0.0
    return float(np.log2((shares**alpha).sum()) / (1 - alpha)) + 0.0


def efficiency(counts: Numbers, alpha: float = 1.0) -> float:
    """Return the Rényi entropy as a share of its maximum, log2 of the number of counts.

    Args:
        counts: of every piece of the vocabulary, unseen ones included.
        alpha: the order; 1 is Shannon's.

    Source: Zouhar et al. 2023, "Tokenization and the Noiseless Channel" (alpha = 2.5).
    """
    return renyi_entropy(counts, alpha) / float(np.log2(len(counts))) if len(counts) > 1 else 0.0


RENYI_ALPHA = 2.5


def measure(corpus: WordCorpus, counts: Counts) -> dict[str, Any]:
    """Return the measures of one tokenizer on one corpus, ready for JSON.

    Shares are of tokens unless the name says words or vocabulary. Measures over pieces leave
    unknown characters out.
    """
    size = _text_size(corpus)
    words, tokens = int(counts.words.sum()), int(counts.tokens.sum())
    whole = counts.fertility[1:2].sum()  # a text without words has no such place
    return {
        **size,
        "words": words,
        "tokens": tokens,
        "tokens_per_character": _ratio(tokens, size["characters"]),
        "tokens_per_byte": _ratio(tokens, size["bytes"]),
        "whole_word_share": _ratio(int(whole), words),
        "unknown_share": _ratio(counts.unknown, tokens),
        **_piece_measures(counts.pieces, counts.frequencies, tokens),
    }


def _piece_measures(
    pieces: Sequence[str], frequencies: np.ndarray, tokens: int
) -> dict[str, float | int]:
    lengths = np.array([piece_length(piece) for piece in pieces])
    initial = np.array([piece.startswith(WORD_START) for piece in pieces])
    single = np.array([is_single_character(piece) for piece in pieces])
    seen, known = int((frequencies > 0).sum()), int(frequencies.sum())
    return {
        "vocabulary": len(pieces),
        "pieces_seen": seen,
        "vocabulary_use": _ratio(seen, len(pieces)),
        "type_token_ratio": _ratio(seen, known),
        "shannon_entropy": renyi_entropy(frequencies, alpha=1),
        "shannon_efficiency": efficiency(frequencies),
        "renyi_alpha": RENYI_ALPHA,
        "renyi_efficiency": efficiency(frequencies, RENYI_ALPHA),
        "word_initial_share": _ratio(int(frequencies[initial].sum()), tokens),
        "single_character_share": _ratio(int(frequencies[single].sum()), tokens),
        "mean_token_length": _ratio(int(frequencies @ lengths), known),
        "mean_piece_length": float(lengths.mean()),
    }


def _text_size(corpus: WordCorpus) -> dict[str, int]:
    """Return lines, characters, bytes of the normalised text; a line's first `▁` is no space."""
    characters = np.array([len(word) for word in corpus.types], dtype=np.int64)
    sizes = (len(word.replace(WORD_START, " ", 1).encode("utf-8")) for word in corpus.types)
    octets = np.fromiter(sizes, dtype=np.int64, count=len(corpus.types))
    return {
        "lines": corpus.n_lines,
        "characters": int(corpus.counts @ characters) - corpus.n_lines,
        "bytes": int(corpus.counts @ octets) - corpus.n_lines,
    }


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
