"""Measurements of the vocabularies alone, for the statements of the paper's Sections 1, 3 and 4.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
"SaGe-only" and "BPE-only" pieces stand in exactly one of the two final vocabularies: two sets
without a common piece, so nothing is paired when they are compared.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from sagevocab.analysis.rankings import mean_correlation
from sagevocab.analysis.vocabulary import (
    Share,
    length_histogram,
    only_in,
    piece_length,
    share_in,
    share_of_length,
    substring_share,
    word_initial_share,
)
from sagevocab.paper import intervals
from sagevocab.paper.evidence import BASELINE, Case
from sagevocab.paper.verdicts import Measurement, NotMeasurableError
from sagevocab.vocab.pieces import WORD_START, is_single_character
from sagevocab.vocab.segment import GreedySegmenter


def only_pieces(case: Case) -> tuple[list[str], list[str]]:
    """Return the SaGe-only and the BPE-only pieces."""
    sage, bpe = case.pieces(), case.pieces(BASELINE)
    return only_in(sage, bpe), only_in(bpe, sage)


def greedy(pieces: list[str], word: str) -> list[str]:
    """Segment one word greedily; an uncovered character stands for itself."""
    ids = GreedySegmenter(pieces).segment(word)
    return [pieces[number] if number >= 0 else "?" for number in ids]


# --- Section 1 and Table 1


def piece_selected(case: Case, *, piece: str) -> Measurement:
    """Whether a piece is in the case's vocabulary."""
    selected = piece in case.pieces()
    return Measurement("in the vocabulary" if selected else "not in it", holds=selected)


def piece_discarded(case: Case, *, piece: str) -> Measurement:
    """Whether SaGe discards a piece that BPE selects."""
    if piece not in case.pieces(BASELINE):
        raise NotMeasurableError(f"this run's BPE vocabulary has no `{piece}` to drop")
    kept = piece in case.pieces()
    return Measurement("kept" if kept else "discarded", holds=not kept)


def printed_segmentation(case: Case, *, index: int) -> Measurement:
    """Segment a sentence of Table 1 and compare it with the printed pieces."""
    example = case.values["examples"]["sentences"][index]
    printed = example["bpe" if case.tokenizer == BASELINE else "sage"].split()
    pieces = case.pieces()
    words = [greedy(pieces, WORD_START + word) for word in example["text"].split()]
    ours = [piece for word in words for piece in word]
    marked = [word for word in _words_of(printed) if _spells(word, example["bold"])]
    return Measurement(
        " ".join(ours),
        holds=ours == printed,
        agrees=any(word in words for word in marked),
    )


def _words_of(pieces: list[str]) -> list[list[str]]:
    words: list[list[str]] = []
    for piece in pieces:
        if piece.startswith(WORD_START):
            words.append([])
        words[-1].append(piece)
    return words


def _spells(pieces: list[str], word: str) -> bool:
    return "".join(pieces).removeprefix(WORD_START) == word


# --- Section 3


def printed_retokenization(case: Case) -> Measurement:
    """Take the piece of Table 2 away and segment its word anew, with the initial vocabulary."""
    example = case.values["retokenization"]
    word, ablated = WORD_START + example["word"], example["ablated"]
    pieces = [piece for piece in case.initial_pieces() if piece != word]
    before = greedy(pieces, word)
    if ablated not in before:
        raise NotMeasurableError(f"this run's initial vocabulary does not segment with `{ablated}`")
    after = greedy([piece for piece in pieces if piece != ablated], word)
    return Measurement(
        f"{' '.join(before)} → {' '.join(after)}",
        holds=_within(before, example["before"]) and _within(after, example["after"]),
        agrees=before[-1] != after[-1],
    )


def _within(pieces: list[str], printed: str) -> bool:
    return f" {' '.join(pieces)} " in f" {printed} "


def ranking_stability(case: Case, *, iterations: int) -> Measurement:
    """Mean rank correlation of the losses over rankings `iterations` or more batches apart."""
    estimate = mean_correlation(case.rankings(), iterations, seed=case.run.seed)
    if math.isnan(estimate.value):
        raise NotMeasurableError(f"no two rankings of the losses are {iterations} batches apart")
    return Measurement(*estimate, unit=intervals.PIECES)


def single_characters_kept(case: Case) -> Measurement:
    """Share of the initial vocabulary's single characters that SaGe keeps."""
    singles = [piece for piece in case.initial_pieces() if is_single_character(piece)]
    return _census(share_in(singles, case.pieces()))


# --- Section 4


def subset_of_initial(case: Case) -> Measurement:
    """Share of the final BPE vocabulary in the initial one."""
    return _census(share_in(case.pieces(BASELINE), case.initial_pieces()))


def discarded_in_bpe(case: Case) -> Measurement:
    """Share of the pieces that SaGe discards which the final BPE vocabulary holds."""
    discarded = only_in(case.initial_pieces(), case.pieces())
    return _share(share_in(discarded, case.pieces(BASELINE)))


def bpe_only_substrings(case: Case) -> Measurement:
    """Share of the BPE-only pieces that are proper substrings of other BPE pieces."""
    return _share(substring_share(only_pieces(case)[1], case.pieces(BASELINE)))


def chained_share(case: Case) -> Measurement:
    """Share of the pieces of several characters that two other pieces make up."""
    return _census(_chained(case.pieces()))


def unchained_share(case: Case) -> Measurement:
    """Share of the pieces of several characters that no two other pieces make up."""
    chained = _chained(case.pieces())
    return _share(Share(chained.total - chained.hits, chained.total))


def _chained(pieces: list[str]) -> Share:
    known = set(pieces)
    return Share.of(
        any(piece[:cut] in known and piece[cut:] in known for cut in range(1, len(piece)))
        for piece in pieces
        if len(piece) > 1
    )


def word_initial_share_of(case: Case, *, side: str) -> Measurement:
    """Share of the SaGe-only or BPE-only pieces that start a word."""
    sage, bpe = (word_initial_share(pieces) for pieces in only_pieces(case))
    return _share(sage if side == "sage" else bpe, agrees=bool(sage > bpe))


def word_initial_difference(case: Case) -> Measurement:
    """Word-initial share of SaGe-only pieces minus that of BPE-only pieces."""
    sage, bpe = (word_initial_share(pieces) for pieces in only_pieces(case))
    return intervals.share_difference((sage.hits, sage.total), (bpe.hits, bpe.total))


def length_difference(case: Case) -> Measurement:
    """Mean length of SaGe-only pieces minus that of BPE-only pieces, in characters."""
    sage, bpe = (
        pd.Series({piece: piece_length(piece) for piece in pieces}, dtype=float)
        for pieces in only_pieces(case)
    )
    return intervals.difference_of_means(sage, bpe, seed=case.run.seed)


def greatest_length_gaps(case: Case, *, count_word_start: bool) -> Measurement:
    """The two lengths at which the histograms differ most, in absolute numbers."""
    sage, bpe = (
        length_histogram(pieces, count_word_start)
        for pieces in (case.pieces(), case.pieces(BASELINE))
    )
    gaps = bpe.subtract(sage, fill_value=0)
    greatest = sorted(gaps.abs().sort_values(ascending=False, kind="stable").index[:2].tolist())
    listed = ", ".join(f"{length} ({gaps[length]:+.0f})" for length in greatest)
    return Measurement(
        f"lengths {listed} (BPE minus SaGe)",
        holds=greatest == [2, 3] and bool((gaps[[2, 3]] > 0).all()),
        agrees=bool(gaps.reindex([2, 3], fill_value=0).sum() > 0),
    )


def length_share(
    case: Case, *, side: str, shortest: int, longest: int | None = None, count_word_start: bool
) -> Measurement:
    """Share of the SaGe-only or BPE-only pieces of `shortest` to `longest` characters."""
    sage, bpe = (
        share_of_length(pieces, shortest, longest, count_word_start) for pieces in only_pieces(case)
    )
    own, other = (sage, bpe) if side == "sage" else (bpe, sage)
    p_value = intervals.fisher((own.hits, own.total), (other.hits, other.total))
    measured = _share(own, agrees=bool(own > other))
    return replace(measured, test=intervals.FISHER, p_value=p_value)


def dismantled(case: Case, *, piece: str, parts: list[str]) -> Measurement:
    """How SaGe segments a piece that BPE keeps, when it stands inside a word."""
    if piece not in case.pieces(BASELINE):
        raise NotMeasurableError(f"this run's BPE vocabulary has no `{piece}` to take apart")
    ours = greedy(case.pieces(), piece)
    return Measurement(" ".join(ours), holds=ours == list(parts), agrees=ours != [piece])


def _census(share: Share) -> Measurement:
    # "All pieces" is a fact about one list, not a sample of others: it has no interval.
    return Measurement(float(share))


def _share(share: Share, agrees: bool | None = None) -> Measurement:
    low, high = share.interval()
    return Measurement(float(share), low, high, agrees=agrees, unit=intervals.PIECES)


MEASURES = {
    "bpe_only_substrings": bpe_only_substrings,
    "chained_share": chained_share,
    "discarded_in_bpe": discarded_in_bpe,
    "dismantled": dismantled,
    "greatest_length_gaps": greatest_length_gaps,
    "length_difference": length_difference,
    "length_share": length_share,
    "piece_discarded": piece_discarded,
    "piece_selected": piece_selected,
    "printed_retokenization": printed_retokenization,
    "printed_segmentation": printed_segmentation,
    "ranking_stability": ranking_stability,
    "single_characters_kept": single_characters_kept,
    "subset_of_initial": subset_of_initial,
    "unchained_share": unchained_share,
    "word_initial_difference": word_initial_difference,
    "word_initial_share": word_initial_share_of,
}
