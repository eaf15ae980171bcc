"""Measurements of encoded texts, for the statements of the paper's Section 4 and 4.1.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
Differences are SaGe minus BPE on the same text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from sagevocab.analysis.counts import neighbour_ratio, rank_neighbours
from sagevocab.analysis.line_totals import LineTotals
from sagevocab.paper import intervals
from sagevocab.paper.evidence import BASELINE, TRAIN, Case
from sagevocab.paper.verdicts import Measurement, NotMeasurableError
from sagevocab.vocab.pieces import is_single_character

# Subwords a word at which the histograms that are compared end: this many and more are one bin.
LONGEST_WORD = 12

# --- token frequency


def frequency_ratio(case: Case, *, piece: str) -> Measurement:
    """Log ratio of a piece's counts; a vocabulary that lacks the piece counts 0."""
    if not any(piece in case.pieces(tokenizer) for tokenizer in (case.tokenizer, BASELINE)):
        raise NotMeasurableError(f"`{piece}` is in neither vocabulary of this run")
    return _compare_occurrences(case, lambda pieces: [piece])


def single_character_ratio(case: Case) -> Measurement:
    """Log ratio of the counts of single-character tokens."""
    return _compare_occurrences(
        case, lambda pieces: [piece for piece in pieces if is_single_character(piece)]
    )


def _compare_occurrences(case: Case, choose: Callable[[list[str]], list[str]]) -> Measurement:
    ours, baseline = (
        case.line_totals(tokenizer).occurrences(choose(case.pieces(tokenizer)))
        for tokenizer in (case.tokenizer, BASELINE)
    )
    return intervals.line_log_ratio(ours, baseline, seed=case.run.seed)


# --- subword fertility and encoding efficiency


def fertility_difference(case: Case, *, fewest: int, most: int | None = None) -> Measurement:
    """Difference of the shares of corpus words with `fewest` to `most` subwords."""
    totals, baseline = (case.line_totals(tokenizer) for tokenizer in (case.tokenizer, BASELINE))
    return intervals.line_share_difference(
        totals.words_with(fewest, most),
        baseline.words_with(fewest, most),
        totals.words,
        seed=case.run.seed,
    )


def tokens_of_lines(case: Case, *, lines: int) -> Measurement:
    """Tokens in a number of lines: the mean of a line, times that number."""
    tokens = case.lines(case.tokenizer)["tokens"].to_numpy()
    estimate = intervals.line_mean(tokens, seed=case.run.seed)
    ours, low, high = (lines * number for number in estimate)
    agrees = None
    if case.tokenizer != BASELINE:
        agrees = bool(tokens.sum() > case.lines(BASELINE)["tokens"].sum())
    return Measurement(ours, low, high, agrees=agrees, unit=intervals.LINES)


def token_ratio(case: Case) -> Measurement:
    """Tokens of SaGe over tokens of BPE."""
    ours, baseline = (
        case.lines(tokenizer)["tokens"].to_numpy() for tokenizer in (case.tokenizer, BASELINE)
    )
    measured = intervals.line_ratio(ours, baseline, seed=case.run.seed)
    return replace(measured, agrees=measured.ours > 1)


# --- contextual exponence


def single_characters_on_top(case: Case, *, window: int, top: int) -> Measurement:
    """Share of single characters among the pieces with most distinct neighbours."""
    _require_window(case, window)
    first = rank_neighbours(case.neighbours(case.tokenizer), window).index[:top]
    hits = sum(is_single_character(piece) for piece in first)
    return Measurement(*intervals.share(hits, len(first)), unit=intervals.PIECES)


def single_character_contexts(case: Case, *, window: int) -> Measurement:
    """Difference of the mean number of distinct neighbours of single-character pieces."""
    ours, baseline = (_singles(case, tokenizer, window) for tokenizer in (case.tokenizer, BASELINE))
    return intervals.difference_of_means(ours, baseline, seed=case.run.seed)


def _singles(case: Case, tokenizer: str, window: int) -> pd.Series:
    _require_window(case, window)
    distinct = rank_neighbours(case.neighbours(tokenizer), window)
    return distinct[distinct.index.map(is_single_character)]


def ranks_below(case: Case, *, window: int, first: int) -> Measurement:
    """Share of the ranks from `first` on at which SaGe's piece has fewer neighbours than BPE's.

    Ranks at which both pieces have none (never seen) say nothing and are left out. There is no
    interval: neighbouring ranks are no independent observations, and which rank a piece has
    follows from all the others, so no block of ranks could be drawn anew.
    """
    below = _below_by_rank(case, window)[first - 1 :]
    return Measurement(float(np.nanmean(below)) if np.isfinite(below).any() else float("nan"))


def dip_rank(case: Case, *, window: int, running: int) -> Measurement:
    """First of the first `running` ranks in a row at which SaGe's piece has fewer neighbours.

    One more than there are ranks if there is none. Agrees if it lies in the ranking's upper half.
    """
    below = _below_by_rank(case, window) == 1
    runs = np.convolve(below, np.ones(running), mode="valid") if len(below) >= running else []
    dips = np.flatnonzero(np.asarray(runs) > running - 0.5)
    rank = float(dips[0] + 1 if dips.size else len(below) + 1)
    return Measurement(rank, agrees=2 * rank < len(below))


def _below_by_rank(case: Case, window: int) -> np.ndarray:
    """Return by rank whether SaGe's piece has fewer neighbours: 1.0, 0.0, nan if nobody has any."""
    _require_window(case, window)
    ours, baseline = (
        rank_neighbours(case.neighbours(tokenizer), window).to_numpy()
        for tokenizer in (case.tokenizer, BASELINE)
    )
    ranks = min(len(ours), len(baseline))
    ours, baseline = ours[:ranks], baseline[:ranks]
    return np.where((ours > 0) | (baseline > 0), (ours < baseline).astype(float), np.nan)


def ratio_difference(case: Case, *, window: int) -> Measurement:
    """Difference of the mean neighbour / frequency ratios."""
    ours, baseline = (_ratios(case, tokenizer, window) for tokenizer in (case.tokenizer, BASELINE))
    return intervals.difference_of_means(ours, baseline, seed=case.run.seed)


def _ratios(case: Case, tokenizer: str, window: int, corpus: str | None = None) -> pd.Series:
    neighbours = case.neighbours(tokenizer, corpus)
    _require_window(case, window, corpus)
    return neighbour_ratio(neighbours, window)


def _require_window(case: Case, window: int, corpus: str | None = None) -> None:
    if window not in set(case.neighbours(case.tokenizer, corpus)["window"]):
        raise NotMeasurableError(f"config key analysis.windows has no {window}")


# --- other domains


def fertility_distance_change(case: Case) -> Measurement:
    """How much further apart the fertility histograms are on the domain than on the training text.

    Distance: total variation, half the sum of the absolute differences of the shares.
    """
    here, there = (
        _distance(
            case.line_totals(case.tokenizer, corpus),
            case.line_totals(BASELINE, corpus),
            case.run.seed + number,
        )
        for number, corpus in enumerate((case.corpus, TRAIN))
    )
    return intervals.change(here, there)


# The training text stands against several domains.
@functools.lru_cache(maxsize=8)
def _distance(totals: LineTotals, baseline: LineTotals, seed: int) -> intervals.Resampled:
    difference = totals.histogram(LONGEST_WORD) - baseline.histogram(LONGEST_WORD)
    return intervals.resampled_distance(np.column_stack([difference, totals.words]), seed=seed)


def relative_ratio_difference(case: Case, *, window: int) -> Measurement:
    """Mean neighbour / frequency ratio of SaGe's pieces over BPE's, minus 1."""
    columns = [_ratios(case, tokenizer, window) for tokenizer in (case.tokenizer, BASELINE)]
    estimate = intervals.bootstrap_means(columns, lambda a, b: a / b - 1, seed=case.run.seed)
    return Measurement(*estimate, unit=intervals.PIECES)


def ratio_advantage_change(case: Case, *, window: int) -> Measurement:
    """How much SaGe's ratio relative to BPE's grows from the training text to the domain."""
    columns = [
        _ratios(case, tokenizer, window, corpus)
        for corpus in (case.corpus, TRAIN)
        for tokenizer in (case.tokenizer, BASELINE)
    ]
    return intervals.change_of_ratio(columns, seed=case.run.seed)


def ratio_distance_to_training(case: Case, *, window: int) -> Measurement:
    """Kolmogorov-Smirnov distance of the ratios on the domain from those on the training text."""
    domain, training = (
        _ratios(case, case.tokenizer, window, corpus) for corpus in (case.corpus, TRAIN)
    )
    estimate = intervals.distribution_distance(domain, training)
    return Measurement(*estimate, unit=intervals.PIECES)


def corpus_words(case: Case) -> Measurement:
    """Number of words in the corpus."""
    return Measurement(float(case.fertility(case.tokenizer).sum()))


MEASURES = {
    "corpus_words": corpus_words,
    "dip_rank": dip_rank,
    "fertility_difference": fertility_difference,
    "fertility_distance_change": fertility_distance_change,
    "frequency_ratio": frequency_ratio,
    "ranks_below": ranks_below,
    "ratio_advantage_change": ratio_advantage_change,
    "ratio_difference": ratio_difference,
    "ratio_distance_to_training": ratio_distance_to_training,
    "relative_ratio_difference": relative_ratio_difference,
    "single_character_contexts": single_character_contexts,
    "single_character_ratio": single_character_ratio,
    "single_characters_on_top": single_characters_on_top,
    "token_ratio": token_ratio,
    "tokens_of_lines": tokens_of_lines,
}
