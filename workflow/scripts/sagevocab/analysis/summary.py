"""One tokenizer on one corpus in a page of numbers: the measures that peers report.

Characters and bytes are those of the normalised text, one space between words, without line ends.
A word is what the corpus holds as one: words longer than `max_word_chars` count by their chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sagevocab.analysis.counts import Counts
from sagevocab.analysis.stats import efficiency, ratio_interval, renyi_entropy
from sagevocab.analysis.vocabulary import piece_length
from sagevocab.vocab.pieces import WORD_START, is_single_character
from sagevocab.vocab.words import WordCorpus

RENYI_ALPHA = 2.5


def summarise(
    corpus: WordCorpus, counts: Counts, *, efficiency_lines: int, seed: int
) -> dict[str, Any]:
    """Return the summary of one tokenizer on one corpus, ready for JSON.

    Shares are of tokens unless the name says words or vocabulary. Measures over pieces leave
    unknown characters out. Intervals are 95 % bootstrap intervals over lines.
    """
    pieces, frequencies = counts.frequencies["piece"], counts.frequencies["count"].to_numpy()
    size = _text_size(corpus)
    words = int(counts.lines["words"].sum())
    tokens = int(counts.lines["tokens"].sum())
    whole = counts.fertility.loc[counts.fertility["subwords"] == 1, "words"].sum()
    fertility = ratio_interval(counts.lines["tokens"], counts.lines["words"], seed=seed)
    return {
        **size,
        "words": words,
        "tokens": tokens,
        "fertility": fertility._asdict(),
        "tokens_per_character": _ratio(tokens, size["characters"]),
        "tokens_per_byte": _ratio(tokens, size["bytes"]),
        "whole_word_share": _ratio(int(whole), words),
        "unknown_share": _ratio(counts.unknown, tokens),
        **_piece_measures(pieces, frequencies, tokens),
        "efficiency": sample_efficiency(counts.lines, efficiency_lines, seed),
    }


def sample_efficiency(lines: pd.DataFrame, count: int, seed: int) -> dict[str, int]:
    """Return lines, words, tokens of a seeded sample of at most `count` lines.

    The same lines for every tokenizer of a corpus, so that their tokens can be compared.
    Source: paper, Section 4: 150 k lines are 4.0 M BPE tokens and 4.5 M SaGe tokens.
    """
    size = min(count, len(lines))
    rows = np.random.default_rng(seed).choice(len(lines), size=size, replace=False)
    sample = lines.iloc[rows]
    return {
        "lines": size,
        "words": int(sample["words"].sum()),
        "tokens": int(sample["tokens"].sum()),
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
