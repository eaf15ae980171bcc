"""Whole rankings, taken again from the record of a pruning."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.rankings import take_rankings
from sage_samples import MERGES, PIECES, SINGLES, SMALL, build, make_corpus, vectors_for
from sagevocab.errors import UserError
from sagevocab.settings import settings_from


def rows_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def rankings_of(preset: str, every: int = 1, **overrides):
    settings = settings_from(preset, **{**SMALL, **overrides}, retrain=False)
    built = build(settings)
    taken = take_rankings(
        make_corpus(), PIECES, MERGES, vectors_for(PIECES), built.ablations, settings, every=every
    )
    return built.ablations, taken


@pytest.mark.parametrize("preset", ["printed", "released", "released_loss", "bigram_code"])
def test_a_ranking_is_the_one_that_the_pruning_went_by(preset):
    """Where the pruning ranked all pieces, what it recorded is in the ranking, to the last bit."""
    record, taken = rankings_of(preset, vocab_size=SINGLES + 3)  # a piece is in no line
    again = {(row["iteration"], row["piece"]): row["loss"] for row in rows_of(taken)}
    ranked = [row for row in rows_of(record) if row["iteration"] % SMALL["rerank_every"] == 0]
    assert len(ranked) > 2
    for row in ranked:
        assert again[row["iteration"], row["piece"]] == row["loss"]


def test_a_ranking_holds_the_prunable_pieces_that_are_left():
    record, taken = rankings_of("printed", every=2)
    iterations = list(range(0, record["iteration"].max() + 1, 2))
    assert sorted(set(taken["iteration"])) == iterations
    for iteration in iterations:
        gone = {row["piece"] for row in rows_of(record) if row["iteration"] < iteration}
        prunable = [p for p in PIECES if len(p.lstrip("▁")) > 1 and p not in gone]
        ranking = [row["piece"] for row in rows_of(taken) if row["iteration"] == iteration]
        assert ranking == prunable


def test_another_vocabulary_is_reported():
    args = (make_corpus(), PIECES, MERGES, vectors_for(PIECES), {"iteration": [0], "piece": ["zz"]})
    with pytest.raises(UserError, match="ablations: are of another vocabulary"):
        take_rankings(*args, settings_from("printed", **SMALL), every=1)
