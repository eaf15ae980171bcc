"""Measurements of vocabularies and encoded texts, for the paper's Sections 1, 3, 4 and 4.1.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
"SaGe-only" and "BPE-only" pieces are in exactly one of the two final vocabularies: two sets without
a common piece, so nothing is paired when they are compared. Differences are SaGe minus BPE on the
same text.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

import numpy as np
import pandas as pd

from reproduction.analysis import vocabulary
from reproduction.analysis.counts import LineTotals, neighbour_ratio
from reproduction.analysis.stats import proportion_interval, ratio_interval
from reproduction.analysis.vocabulary import (
    Share,
    frequency_differences,
    length_histogram,
    mean_correlation,
    only_in,
    share_in,
    share_of_length,
    substring_share,
)
from reproduction.paper import intervals
from reproduction.paper.claims_inputs import TRAIN, Case
from reproduction.paper.inputs import BASELINE
from reproduction.paper.measures import (
    HEURISTICS,
    RANKINGS,
    TYPES,
    WORDS,
    Measurement,
    NotMeasurableError,
    measure,
)
from sagevocab.pieces import WORD_START, is_single_character, piece_length
from sagevocab.segmentation.segmenter import GreedySegmenter

T = TypeVar("T")

# Words of this many subwords or more share the last bin of the histograms that are compared.
LONGEST_WORD = 12
# How often a text is cut to the length of another.
DRAWS = 3


def only_pieces(case: Case) -> tuple[list[str], list[str]]:
    """Return the SaGe-only and the BPE-only pieces."""
    sage, bpe = _both(case.pieces, case)
    return only_in(sage, bpe), only_in(bpe, sage)


def _both(read: Callable[[str], T], case: Case) -> tuple[T, T]:
    """Return what `read` gives for the case's tokenizer and for BPE."""
    return read(case.tokenizer), read(BASELINE)


def greedy(pieces: list[str], word: str) -> list[str]:
    """Segment one word greedily; an uncovered character becomes `?`."""
    ids = GreedySegmenter(pieces).segment(word)
    return [pieces[number] if number >= 0 else "?" for number in ids]


# --- vocabularies: Section 1 and Table 1


@measure()
def piece_selected(case: Case, *, piece: str) -> Measurement:
    """Whether a piece is in the case's vocabulary."""
    selected = piece in case.pieces()
    return Measurement("in the vocabulary" if selected else "not in it", holds=selected)


@measure()
def piece_discarded(case: Case, *, piece: str) -> Measurement:
    """Whether SaGe discards a piece that BPE selects."""
    if piece not in case.pieces(BASELINE):
        raise NotMeasurableError(f"this run's BPE vocabulary has no `{piece}` to drop")
    kept = piece in case.pieces()
    return Measurement("kept" if kept else "discarded", holds=not kept)


@measure()
def printed_segmentation(case: Case, *, index: int) -> Measurement:
    """Segment a sentence of Table 1 and compare it with the printed pieces."""
    example = case.values["examples"]["sentences"][index]
    printed = example["bpe" if case.tokenizer == BASELINE else "sage"].split()
    pieces = case.pieces()
    words = [greedy(pieces, WORD_START + word) for word in example["text"].split()]
    segmented = [piece for word in words for piece in word]
    bold = (example["bold"], WORD_START + example["bold"])
    marked = [word for word in _words_of(printed) if "".join(word) in bold]
    return Measurement(
        " ".join(segmented),
        holds=segmented == printed,
        agrees=any(word in words for word in marked),
    )


def _words_of(pieces: list[str]) -> list[list[str]]:
    words: list[list[str]] = []
    for piece in pieces:
        if piece.startswith(WORD_START):
            words.append([])
        words[-1].append(piece)
    return words


# --- vocabularies: Section 3


@measure()
def printed_retokenization(case: Case) -> Measurement:
    """Segment Table 2's word by the initial vocabulary, with and without the ablated piece."""
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


@measure(reads=RANKINGS)
def ranking_stability(case: Case, *, iterations: int) -> Measurement:
    """Mean rank correlation of the losses over rankings `iterations` or more batches apart."""
    estimate = mean_correlation(case.rankings(), iterations, seed=case.run.seed)
    if math.isnan(estimate.value):
        raise NotMeasurableError(f"no two rankings of the losses are {iterations} batches apart")
    return Measurement(*estimate, unit=intervals.PIECES)


@measure(reads=HEURISTICS)
def loss_change_beyond_seeds(case: Case, *, tokenizer: str) -> Measurement:
    """Correlation of the losses of pruned pieces without a heuristic, minus that of seeds.

    The interval is Student's for one more value among those of every two seeds.
    """
    seeds, other = case.heuristic_losses(tokenizer)
    spread = [one.corr(two, method="spearman") for one, two in combinations(seeds, 2)]
    changed = seeds[0].corr(other, method="spearman")
    return intervals.beyond_spread(changed, spread, len(seeds))


@measure(census=True)
def single_characters_kept(case: Case) -> Measurement:
    """Share of the initial vocabulary's single characters that SaGe keeps."""
    singles = [piece for piece in case.initial_pieces() if is_single_character(piece)]
    return _census(share_in(singles, case.pieces()))


# --- vocabularies: Section 4


@measure(census=True)
def subset_of_initial(case: Case) -> Measurement:
    """Share of the final BPE vocabulary in the initial one."""
    return _census(share_in(case.pieces(BASELINE), case.initial_pieces()))


@measure(reads=TYPES)
def discarded_in_bpe(case: Case) -> Measurement:
    """Share of the pieces that SaGe discards which the final BPE vocabulary holds."""
    discarded = only_in(case.initial_pieces(), case.pieces())
    return _share(share_in(discarded, case.pieces(BASELINE)))


@measure(reads=TYPES)
def bpe_only_substrings(case: Case, *, longest: int) -> Measurement:
    """Share of the short BPE-only pieces that are proper substrings of other BPE pieces."""
    short = [piece for piece in only_pieces(case)[1] if piece_length(piece) <= longest]
    return _share(substring_share(short, case.pieces(BASELINE)))


@measure(census=True)
def chained_share(case: Case) -> Measurement:
    """Share of the pieces of several characters that two other pieces make up."""
    return _census(_chained(case.pieces()))


@measure()
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


@measure(reads=TYPES)
def word_initial_share(case: Case, *, side: str) -> Measurement:
    """Share of the SaGe-only or BPE-only pieces that start a word."""
    sage, bpe = map(vocabulary.word_initial_share, only_pieces(case))
    agrees = intervals.share_difference(sage, bpe).low > 0
    return _share(sage if side == "sage" else bpe, agrees=agrees)


@measure(reads=TYPES, tested=True)
def word_initial_difference(case: Case) -> Measurement:
    """Word-initial share of SaGe-only pieces minus that of BPE-only pieces."""
    sage, bpe = map(vocabulary.word_initial_share, only_pieces(case))
    return intervals.share_difference(sage, bpe)


@measure(reads=TYPES, tested=True)
def length_difference(case: Case) -> Measurement:
    """Mean length of SaGe-only pieces minus that of BPE-only pieces, in characters."""
    sage, bpe = (
        pd.Series({piece: piece_length(piece) for piece in pieces}, dtype=float)
        for pieces in only_pieces(case)
    )
    return intervals.difference_of_means(sage, bpe, seed=case.seed)


@measure()
def greatest_length_gaps(case: Case, *, count_word_start: bool) -> Measurement:
    """The two lengths at which the histograms differ most, in absolute numbers."""
    sage, bpe = (length_histogram(p, count_word_start) for p in _both(case.pieces, case))
    gaps = bpe.subtract(sage, fill_value=0)
    greatest = sorted(gaps.abs().sort_values(ascending=False, kind="stable").index[:2].tolist())
    listed = ", ".join(f"{length} ({gaps[length]:+.0f})" for length in greatest)
    return Measurement(
        f"lengths {listed} (BPE minus SaGe)",
        holds=greatest == [2, 3] and bool((gaps[[2, 3]] > 0).all()),
        agrees=bool(gaps.reindex([2, 3], fill_value=0).sum() > 0),
    )


@measure(reads=TYPES, tested=True)
def length_share(
    case: Case, *, side: str, shortest: int, longest: int | None = None, count_word_start: bool
) -> Measurement:
    """Share of the SaGe-only or BPE-only pieces of `shortest` to `longest` characters."""
    first, second = _shares_of_length(case, side, shortest, longest, count_word_start)
    difference = intervals.share_difference(first, second)
    measured = _share(first, agrees=difference.low > 0)
    return replace(measured, test=difference.test, p_value=difference.p_value)


@measure(reads=TYPES, tested=True)
def length_share_difference(
    case: Case, *, side: str, shortest: int, longest: int | None = None
) -> Measurement:
    """Share of pieces of `shortest` to `longest` characters, of one side minus the other's."""
    return intervals.share_difference(*_shares_of_length(case, side, shortest, longest, False))


def _shares_of_length(
    case: Case, side: str, shortest: int, longest: int | None, count_word_start: bool
) -> tuple[Share, Share]:
    """Return the shares of the SaGe-only and BPE-only pieces, those of `side` first."""
    sage, bpe = (
        share_of_length(pieces, shortest, longest, count_word_start) for pieces in only_pieces(case)
    )
    return (sage, bpe) if side == "sage" else (bpe, sage)


@measure()
def dismantled(case: Case, *, piece: str, parts: list[str]) -> Measurement:
    """SaGe's segmentation of a piece that BPE keeps, inside a word."""
    if piece not in case.pieces(BASELINE):
        raise NotMeasurableError(f"this run's BPE vocabulary has no `{piece}` to take apart")
    pieces = greedy(case.pieces(), piece)
    return Measurement(" ".join(pieces), holds=pieces == list(parts), agrees=pieces != [piece])


def _census(share: Share) -> Measurement:
    # "All pieces" is a fact about one list, not a sample of others: it has no interval.
    return Measurement(float(share))


def _share(share: Share, agrees: bool | None = None) -> Measurement:
    return Measurement(*share.estimate(), agrees=agrees, unit=intervals.PIECES)


# --- encoded texts: token frequency


@measure()
def frequency_rank(case: Case, *, piece: str, side: str) -> Measurement:
    """Rank of a piece by how much more frequent it is in the encoding of one side."""
    sage, bpe = _both(case.frequencies, case)
    gaps = frequency_differences(*((sage, bpe) if side == "sage" else (bpe, sage)))["difference"]
    if piece not in gaps.index:
        raise NotMeasurableError(f"`{piece}` is in neither vocabulary of this run")
    rank = 1 + int((gaps > gaps[piece]).sum())
    return Measurement(float(rank), agrees=bool(gaps[piece] > 0))


@measure(reads=TYPES, tested=True)
def single_character_ratio(case: Case) -> Measurement:
    """Log ratio of the counts of single-character tokens."""
    pieces = {piece for pieces in _both(case.pieces, case) for piece in pieces}
    singles = list(filter(is_single_character, pieces))
    compared, baseline = (totals.occurrences(singles) for totals in _both(case.line_totals, case))
    return intervals.line_log_ratio(compared, baseline, seed=case.seed)


# --- encoded texts: subword fertility and encoding efficiency


@measure(reads=TYPES, tested=True)
def fertility_difference(case: Case, *, fewest: int, most: int | None = None) -> Measurement:
    """Difference of the shares of corpus words with `fewest` to `most` subwords."""
    totals, baseline = _both(case.line_totals, case)
    return intervals.line_share_difference(
        totals.words_with(fewest, most),
        baseline.words_with(fewest, most),
        totals.words,
        seed=case.seed,
    )


@measure()
def tokens_of_lines(case: Case, *, lines: int) -> Measurement:
    """Tokens in a number of lines: the mean of a line, times that number."""
    tokens = case.lines(case.tokenizer)["tokens"].to_numpy()
    estimate = ratio_interval(tokens, np.ones_like(tokens), seed=case.seed)
    return Measurement(*(lines * number for number in estimate), unit=intervals.LINES)


@measure(reads=TYPES, tested=True)
def token_ratio(case: Case) -> Measurement:
    """Tokens of SaGe over tokens of BPE."""
    compared, baseline = (lines["tokens"].to_numpy() for lines in _both(case.lines, case))
    measured = intervals.line_ratio(compared, baseline, seed=case.seed)
    return replace(measured, agrees=measured.low > 1)


# --- encoded texts: contextual exponence


@measure()
def single_characters_on_top(case: Case, *, window: int, top: int) -> Measurement:
    """Share of single characters among the pieces with most distinct neighbours."""
    first = case.ranked(case.tokenizer, window).index[:top]
    hits = sum(is_single_character(piece) for piece in first)
    return Measurement(*proportion_interval(hits, len(first)), unit=intervals.PIECES)


@measure(tested=True)
def single_character_contexts(case: Case, *, window: int) -> Measurement:
    """Difference of the mean number of distinct neighbours of single-character pieces."""
    ranked = (case.ranked(name, window) for name in (case.tokenizer, BASELINE))
    compared, baseline = (distinct[distinct.index.map(is_single_character)] for distinct in ranked)
    return intervals.difference_of_means(compared, baseline, seed=case.seed)


@measure(census=True)
def ranks_below(case: Case, *, window: int, first: int) -> Measurement:
    """Share of the ranks from `first` on at which SaGe's piece has fewer neighbours than BPE's.

    Ranks at which both pieces have none (never seen) are left out. There is no interval:
    neighbouring ranks are not independent, and the rank of a piece depends on all others, so no
    block of ranks could be resampled.
    """
    below = _below_by_rank(case, window)[first - 1 :]
    return Measurement(float(np.nanmean(below)) if np.isfinite(below).any() else float("nan"))


@measure()
def dip_rank(case: Case, *, window: int, running: int) -> Measurement:
    """First of the first `running` ranks in a row at which SaGe's piece has fewer neighbours.

    One more than there are ranks if there is none.
    """
    below = _below_by_rank(case, window) == 1
    runs = np.convolve(below, np.ones(running), mode="valid") if len(below) >= running else []
    dips = np.flatnonzero(np.asarray(runs) > running - 0.5)
    rank = float(dips[0] + 1 if dips.size else len(below) + 1)
    return Measurement(rank, is_bound=not dips.size)


def _below_by_rank(case: Case, window: int) -> np.ndarray:
    """Return by rank 1.0 if SaGe's piece has fewer neighbours, else 0.0; nan if neither has any."""
    compared, baseline = (
        case.ranked(name, window).to_numpy() for name in (case.tokenizer, BASELINE)
    )
    ranks = min(len(compared), len(baseline))
    compared, baseline = compared[:ranks], baseline[:ranks]
    return np.where((compared > 0) | (baseline > 0), (compared < baseline).astype(float), np.nan)


@measure()
def single_characters_reach(case: Case, *, window: int, top: int) -> Measurement:
    """Share of the vocabulary near the single characters among the pieces with most neighbours."""
    first = case.ranked(case.tokenizer, window)[:top]
    singles = first[first.index.map(is_single_character)] / len(case.pieces())
    estimate = intervals.bootstrap_means([singles], lambda mean: mean, seed=case.seed)
    return Measurement(*estimate, unit=intervals.PIECES)


@measure(tested=True)
def ratio_difference(case: Case, *, window: int, other: str = BASELINE) -> Measurement:
    """Mean neighbour / frequency ratio of SaGe's pieces over another's, minus 1, with a test."""
    tested = intervals.difference_of_means(*_ratios(case, window, other), seed=case.seed)
    relative = relative_ratio_difference(case, window=window, other=other)
    return replace(relative, test=tested.test, p_value=tested.p_value)


@measure(tested=True)
def partition(case: Case, *, window: int) -> Measurement:
    """How much closer to -1 SaGe's correlation of length and distinct neighbours is than BPE's."""
    compared, baseline = (
        pd.DataFrame({"length": ranked.index.map(piece_length), "distinct": ranked})
        for ranked in (case.ranked(name, window) for name in (case.tokenizer, BASELINE))
    )
    return intervals.difference_of_correlations(compared, baseline, seed=case.seed)


def _ratios(case: Case, window: int, other: str) -> list[pd.Series]:
    """Return the ratios of the pieces of the case's tokenizer, and of another's."""
    return [
        neighbour_ratio(case.neighbours(name, window), window) for name in (case.tokenizer, other)
    ]


# --- listed words: constituent morphology


@measure(reads=WORDS, tested=True)
def boundary_f1_difference(case: Case) -> Measurement:
    """Difference of the F1 of boundaries between morphemes, over the words of a list."""
    placed = pd.concat(_both(case.boundaries, case), axis=1, join="inner")
    return intervals.f1_difference(placed.to_numpy(), seed=case.seed)


# --- encoded texts: other domains


@measure(reads=TYPES, tested=True)
def fertility_distance_change(case: Case) -> Measurement:
    """How much further apart the fertility histograms are on the domain than on the training text.

    Distance: total variation, half the sum of the absolute differences of the shares.
    """
    here, there = (
        _distance(
            case.line_totals(case.tokenizer, corpus),
            case.line_totals(BASELINE, corpus),
            None if case.seed is None else case.seed + number,
        )
        for number, corpus in enumerate((case.corpus, TRAIN))
    )
    return intervals.change(here, there)


# The training text is compared with several domains, under several seeds.
@functools.lru_cache(maxsize=16)
def _distance(totals: LineTotals, baseline: LineTotals, seed: int | None) -> intervals.Resampled:
    difference = totals.histogram(LONGEST_WORD) - baseline.histogram(LONGEST_WORD)
    return intervals.resampled_distance(np.column_stack([difference, totals.words]), seed=seed)


@measure()
def relative_ratio_difference(case: Case, *, window: int, other: str = BASELINE) -> Measurement:
    """Mean neighbour / frequency ratio of SaGe's pieces over another's, minus 1."""
    estimate = intervals.bootstrap_means(
        _ratios(case, window, other), lambda a, b: a / b - 1, seed=case.seed
    )
    return Measurement(*estimate, unit=intervals.PIECES)


@measure(tested=True)
def ratio_advantage_change(case: Case, *, window: int) -> Measurement:
    """How much SaGe's ratio relative to BPE's grows from the training text to the domain.

    The texts are cut to one length; a piece's ratios are means over the draws.
    """
    compared, baseline = _both(lambda tokenizer: _matched_ratios(case, tokenizer, window), case)
    columns = [
        pd.concat(draws, axis=1).mean(axis=1)
        for text in zip(compared, baseline, strict=True)
        for draws in text
    ]
    return intervals.change_of_ratio(columns, seed=case.seed)


def _matched_ratios(case: Case, tokenizer: str, window: int) -> list[list[pd.Series]]:
    """Return the ratios on the domain and on the training text, cut to one length; each by draw."""
    for corpus in (case.corpus, TRAIN):
        case.neighbours(tokenizer, window, corpus)  # a window that the run measures
    seeds = range(case.run.seed, case.run.seed + DRAWS)
    drawn = [case.matched_neighbours(tokenizer, window, draw) for draw in seeds]
    return [[neighbour_ratio(frame, window) for frame in text] for text in zip(*drawn, strict=True)]


@measure()
def ratio_distance_to_training(case: Case, *, window: int) -> Measurement:
    """Kolmogorov-Smirnov distance of the ratios on the domain from those on the training text.

    The texts are cut to one length; the distance and its bounds are means over the draws.
    """
    texts = zip(*_matched_ratios(case, case.tokenizer, window), strict=True)
    distances = [intervals.distribution_distance(*pair) for pair in texts]
    return Measurement(*np.mean(distances, axis=0).tolist(), unit=intervals.PIECES)


@measure()
def corpus_words(case: Case) -> Measurement:
    """Number of words in the corpus."""
    return Measurement(float(case.fertility(case.tokenizer).sum()))
