"""Measurements of encoded texts, for the statements of the paper's Section 4 and 4.1.

Each function takes a case and its claim's arguments, and is named in `paper_values.yaml`.
Differences are SaGe minus BPE on the same text.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sagevocab.analysis.counts import neighbour_ratio, rank_neighbours
from sagevocab.analysis.stats import ratio_interval
from sagevocab.paper import intervals
from sagevocab.paper.evidence import BASELINE, TRAIN, Case
from sagevocab.paper.verdicts import Measurement, NotMeasurableError
from sagevocab.vocab.pieces import is_single_character

# --- token frequency


def frequency_ratio(case: Case, *, piece: str) -> Measurement:
    """Log ratio of a piece's counts; a vocabulary that lacks the piece counts 0."""
    ours, baseline = case.frequencies(case.tokenizer), case.frequencies(BASELINE)
    if piece not in ours.index and piece not in baseline.index:
        raise NotMeasurableError(f"`{piece}` is in neither vocabulary of this run")
    return Measurement(*intervals.log_ratio(int(ours.get(piece, 0)), int(baseline.get(piece, 0))))


def single_character_ratio(case: Case) -> Measurement:
    """Log ratio of the counts of single-character tokens."""
    ours, baseline = (
        int(frequencies[frequencies.index.map(is_single_character)].sum())
        for frequencies in (case.frequencies(case.tokenizer), case.frequencies(BASELINE))
    )
    return Measurement(*intervals.log_ratio(ours, baseline))


# --- subword fertility and encoding efficiency


def fertility_difference(case: Case, *, fewest: int, most: int | None = None) -> Measurement:
    """Difference of the shares of corpus words with `fewest` to `most` subwords."""
    ours, baseline = case.fertility(case.tokenizer), case.fertility(BASELINE)
    estimate = intervals.share_difference(
        _words_with(ours, fewest, most), _words_with(baseline, fewest, most)
    )
    return Measurement(*estimate)


def _words_with(fertility: pd.Series, fewest: int, most: int | None) -> tuple[int, int]:
    chosen = fertility.loc[fewest:most] if most is not None else fertility.loc[fewest:]
    return int(chosen.sum()), int(fertility.sum())


def tokens_of_lines(case: Case, *, lines: int) -> Measurement:
    """Tokens in a number of lines: the mean of a line, times that number."""
    tokens = case.lines(case.tokenizer)["tokens"].to_numpy()
    estimate = ratio_interval(tokens, np.ones_like(tokens), seed=case.run.seed)
    ours, low, high = (lines * number for number in estimate)
    agrees = None
    if case.tokenizer != BASELINE:
        agrees = bool(tokens.sum() > case.lines(BASELINE)["tokens"].sum())
    return Measurement(ours, low, high, agrees=agrees)


def token_ratio(case: Case) -> Measurement:
    """Tokens of SaGe over tokens of BPE, resampled by line."""
    ours, baseline = case.lines(case.tokenizer)["tokens"], case.lines(BASELINE)["tokens"]
    estimate = ratio_interval(ours.to_numpy(), baseline.to_numpy(), seed=case.run.seed)
    return Measurement(*estimate, agrees=estimate.value > 1)


# --- contextual exponence


def single_characters_on_top(case: Case, *, window: int, top: int) -> Measurement:
    """Share of single characters among the pieces with most distinct neighbours."""
    _require_window(case, window)
    first = rank_neighbours(case.neighbours(case.tokenizer), window).index[:top]
    hits = sum(is_single_character(piece) for piece in first)
    return Measurement(*intervals.share(hits, len(first)))


def single_character_contexts(case: Case, *, window: int) -> Measurement:
    """Difference of the mean number of distinct neighbours of single-character pieces."""
    columns = [_singles(case, tokenizer, window) for tokenizer in (case.tokenizer, BASELINE)]
    estimate = intervals.bootstrap_means(columns, lambda a, b: a - b, seed=case.run.seed)
    return Measurement(*estimate)


def _singles(case: Case, tokenizer: str, window: int) -> pd.Series:
    _require_window(case, window)
    distinct = rank_neighbours(case.neighbours(tokenizer), window)
    return distinct[distinct.index.map(is_single_character)]


def ranks_below(case: Case, *, window: int, first: int) -> Measurement:
    """Share of the ranks from `first` on at which SaGe's piece has fewer neighbours than BPE's.

    Ranks at which both pieces have none (never seen) say nothing and are left out.
    """
    _require_window(case, window)
    ours, baseline = (
        rank_neighbours(case.neighbours(tokenizer), window).to_numpy()[first - 1 :]
        for tokenizer in (case.tokenizer, BASELINE)
    )
    ranks = min(len(ours), len(baseline))
    ours, baseline = ours[:ranks], baseline[:ranks]
    seen = (ours > 0) | (baseline > 0)
    below = (ours < baseline) & seen
    return Measurement(*_without_interval(int(below.sum()), int(seen.sum())))


def _without_interval(hits: int, total: int) -> tuple[float, None, None]:
    # Neighbouring ranks are no independent observations, so their number grounds no interval.
    return (hits / total if total else float("nan")), None, None


def ratio_difference(case: Case, *, window: int) -> Measurement:
    """Difference of the mean neighbour / frequency ratios, resampled by piece."""
    columns = [_ratios(case, tokenizer, window) for tokenizer in (case.tokenizer, BASELINE)]
    estimate = intervals.bootstrap_means(columns, lambda a, b: a - b, seed=case.run.seed)
    return Measurement(*estimate)


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
    histograms = [
        case.fertility(tokenizer, corpus)
        for corpus in (case.corpus, TRAIN)
        for tokenizer in (case.tokenizer, BASELINE)
    ]
    estimate = intervals.bootstrap_histograms(
        histograms, lambda a, b, c, d: _distance(a, b) - _distance(c, d), seed=case.run.seed
    )
    return Measurement(*estimate)


def _distance(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).sum() / 2)


def relative_ratio_difference(case: Case, *, window: int) -> Measurement:
    """Mean neighbour / frequency ratio of SaGe's pieces over BPE's, minus 1."""
    columns = [_ratios(case, tokenizer, window) for tokenizer in (case.tokenizer, BASELINE)]
    estimate = intervals.bootstrap_means(columns, lambda a, b: a / b - 1, seed=case.run.seed)
    return Measurement(*estimate)


def ratio_advantage_change(case: Case, *, window: int) -> Measurement:
    """How much SaGe's ratio relative to BPE's grows from the training text to the domain."""
    columns = [
        _ratios(case, tokenizer, window, corpus)
        for corpus in (case.corpus, TRAIN)
        for tokenizer in (case.tokenizer, BASELINE)
    ]
    estimate = intervals.bootstrap_means(
        columns, lambda a, b, c, d: a / b - c / d, seed=case.run.seed
    )
    return Measurement(*estimate)


def ratio_distance_to_training(case: Case, *, window: int) -> Measurement:
    """Kolmogorov-Smirnov distance of the ratios on the domain from those on the training text."""
    domain, training = (
        _ratios(case, case.tokenizer, window, corpus) for corpus in (case.corpus, TRAIN)
    )
    return Measurement(*intervals.distribution_distance(domain, training))


def corpus_words(case: Case) -> Measurement:
    """Number of words in the corpus."""
    return Measurement(float(case.fertility(case.tokenizer).sum()))


MEASURES = {
    "corpus_words": corpus_words,
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
