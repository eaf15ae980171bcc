"""Many vocabularies pruned at random, measured by what word types alone decide.

A file of each and a count of lines would cost a minute each. Here a pruning is a mask over the
initial vocabulary: every word type is segmented greedily with the pieces left, and the measures of
the claims are taken of that. `chance` ranks SaGe among the draws.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.counts import TextTotals
from reproduction.paper.claims_inputs import TRAIN
from reproduction.paper.inputs import BASELINE
from reproduction.paper.measures import NotMeasurableError
from reproduction.paper.statements import Statement, read_claims
from sagevocab.decoding import Decoder, build_trie
from sagevocab.pieces import prunable, read_pieces
from sagevocab.words import WordCorpus

log = logging.getLogger(__name__)

_REPORT_EVERY = 200  # draws


class Text:
    """A text as word types, to be segmented with any part of a vocabulary."""

    def __init__(self, corpus: WordCorpus, initial: Sequence[str], bpe: Sequence[str]) -> None:
        """Match every word type once; initial, bpe: the vocabulary that is pruned, and BPE's."""
        self._initial, self._counts = initial, corpus.counts
        self._decoder = Decoder.greedy(corpus.types, build_trie(initial))
        of_bpe = Decoder.greedy(corpus.types, build_trie(bpe))
        whole = of_bpe.segment(np.ones(len(bpe), dtype=bool))
        self.baseline = TextTotals(bpe, whole, self._counts)

    def totals(self, alive: np.ndarray) -> TextTotals:
        """Return the totals under the pieces left: bool[initial pieces]."""
        return TextTotals(self._initial, self._decoder.segment(alive), self._counts)


@dataclass(frozen=True)
class Pruning:
    """One pruning as the case of a claim: what measures of word types read, no file.

    texts: corpus -> its word types. alive: bool[initial pieces], and kept: the pieces left.
    """

    texts: Mapping[str, Text]
    initial: Sequence[str]
    bpe: Sequence[str]
    alive: np.ndarray
    kept: Sequence[str]
    corpus: str = TRAIN
    tokenizer: str = "random"
    seed: None = None
    counted: dict[str, TextTotals] = field(default_factory=dict)

    def pieces(self, tokenizer: str | None = None) -> Sequence[str]:
        """Return the pieces left, or BPE's."""
        return self.bpe if tokenizer == BASELINE else self.kept

    def initial_pieces(self) -> Sequence[str]:
        """Return the vocabulary that is pruned."""
        return self.initial

    def line_totals(self, tokenizer: str, corpus: str | None = None) -> TextTotals:
        """Return the totals of a text, which is one line here."""
        name = corpus or self.corpus
        if tokenizer == BASELINE:
            return self.texts[name].baseline
        if name not in self.counted:
            self.counted[name] = self.texts[name].totals(self.alive)
        return self.counted[name]

    def lines(self, tokenizer: str) -> pd.DataFrame:
        """Return words and tokens of the text."""
        totals = self.line_totals(tokenizer)
        return pd.DataFrame({"words": totals.words, "tokens": totals.tokens})


def measure_random_prunings(
    *,
    initial: Path | str,
    bpe: Path | str,
    words: Mapping[str, Path | str],
    values: Path | str,
    language: str,
    final_size: int,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Prune at random `draws` times; return a row a draw and a column a statement, by its id.

    initial, bpe: `pieces.txt` of the vocabulary that is pruned and of BPE. words: corpus -> its
    word types. values: `paper_values.yaml`. Draw n is of the generator with the seeds `seed`, n.

    Raises:
        UserError: an input is missing or damaged.
    """
    pieces, of_bpe = read_pieces(initial), read_pieces(bpe)
    texts = {name: Text(WordCorpus.load(path), pieces, of_bpe) for name, path in words.items()}
    claims = ranked_statements(read_claims(values)["claims"], language, texts)
    may_go = np.flatnonzero(prunable(pieces))
    rows = []
    for draw in range(draws):
        alive = np.ones(len(pieces), dtype=bool)
        order = np.random.default_rng([seed, draw]).permutation(may_go)
        alive[order[: max(0, len(pieces) - final_size)]] = False
        rows.append(measure_pruning(claims, texts, pieces, of_bpe, alive))
        if draw % _REPORT_EVERY == 0:
            log.info("%s: %d of %d random prunings", language, draw, draws)
    return pd.DataFrame(rows, columns=[claim.id for claim in claims], dtype=float)


def ranked_statements(
    claims: Sequence[Statement], language: str, texts: Mapping[str, Any]
) -> list[Statement]:
    """Return the statements that word types decide, of texts that the run has."""
    return [
        claim
        for claim in claims
        if claim.is_ranked
        and claim.corpus in texts
        and (language in claim.languages or claim.any_language)
    ]


def measure_pruning(
    claims: Sequence[Statement],
    texts: Mapping[str, Text],
    initial: Sequence[str],
    bpe: Sequence[str],
    alive: np.ndarray,
) -> dict[str, float]:
    """Return what a pruning gives of some statements, by their ids; NaN where there is nothing.

    texts: corpus -> its word types. initial: the vocabulary that is pruned. bpe: BPE's pieces.
    alive: bool[initial pieces], those left.
    """
    kept = [initial[number] for number in np.flatnonzero(alive)]
    case = Pruning(texts, initial, bpe, alive, kept)
    return {claim.id: _measure(claim, case) for claim in claims}


def _measure(claim: Statement, case: Pruning) -> float:
    of_corpus = replace(case, corpus=claim.corpus)  # what is counted of a text is shared
    try:
        return float(claim.measured_by.function(of_corpus, **claim.arguments).ours)
    except NotMeasurableError:  # of a piece that neither vocabulary has
        return float("nan")
