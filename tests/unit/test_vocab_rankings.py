"""Whole rankings, taken again from the record of a pruning."""

from __future__ import annotations

import pandas as pd
import pytest

from sage_samples import MERGES, PIECES, SMALL, build, make_corpus, vectors_for
from sagevocab.errors import UserError
from sagevocab.vocab.rankings import take_rankings
from sagevocab.vocab.sage import settings_from


def rankings_of(preset: str, every: int = 1, **overrides):
    settings = settings_from(preset, **{**SMALL, **overrides}, retrain=False)
    built = build(settings)
    taken = take_rankings(
        make_corpus(), PIECES, MERGES, vectors_for(PIECES), built.ablations, settings, every=every
    )
    return built.ablations, taken


@pytest.mark.parametrize("preset", ["algorithm-1", "released-1.0"])
def test_a_ranking_is_the_one_that_the_pruning_went_by(preset):
    """Where the pruning ranked all pieces, what it recorded is in the ranking, to the last bit."""
    record, taken = rankings_of(preset)
    ranked = record[record.iteration % SMALL["rerank_every"] == 0]
    assert len(ranked) > 2
    both = ranked.merge(taken, on=["iteration", "piece"], suffixes=("", "_again"))
    assert len(both) == len(ranked)
    assert both.loss.tolist() == both.loss_again.tolist()


def test_a_ranking_holds_the_prunable_pieces_that_are_left():
    record, taken = rankings_of("algorithm-1", every=2)
    assert sorted(set(taken.iteration)) == list(range(0, record.iteration.max() + 1, 2))
    for iteration, ranking in taken.groupby("iteration"):
        gone = set(record[record.iteration < iteration].piece)
        prunable = [p for p in PIECES if len(p.lstrip("▁")) > 1 and p not in gone]
        assert ranking.piece.tolist() == prunable


def test_another_vocabulary_is_told():
    settings = settings_from("algorithm-1", **SMALL)
    args = (make_corpus(), PIECES, MERGES)
    record = pd.DataFrame({"iteration": [0], "piece": ["zz"]})
    with pytest.raises(UserError, match="ablations: are of another vocabulary"):
        take_rankings(*args, vectors_for(PIECES), record, settings, every=1)
    with pytest.raises(UserError, match="embeddings: are of another vocabulary"):
        take_rankings(*args, vectors_for(PIECES[:-1]), record, settings, every=1)
