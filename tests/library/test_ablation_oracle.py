"""The fast ablation losses against brute force, over random corpora, vocabularies and settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from sage_samples import objective
from sagevocab.corpus.words import WordCorpus
from sagevocab.pruning.kernels import sample_keys
from sagevocab.pruning.loss import AblationLosses, make_decoder
from sagevocab.settings import READINGS

SINGLE = ["▁", "a", "b", "c"]  # d occurs in the text and has no piece


@dataclass(frozen=True)
class Case:
    """A corpus, a full vocabulary with its merges, the part of it that is left, embeddings."""

    sentences: list[list[str]]
    pieces: list[str]
    merges: list[tuple[str, str]]
    alive: np.ndarray
    target: np.ndarray
    context: np.ndarray
    window: int

    def corpus(self) -> WordCorpus:
        numbers: dict[str, int] = {}
        tokens = [
            numbers.setdefault(word, len(numbers)) for line in self.sentences for word in line
        ]
        offsets = np.cumsum([0] + [len(line) for line in self.sentences])
        return WordCorpus(list(numbers), np.array(tokens, dtype=np.int32), offsets)

    def vectors(self, matrix: np.ndarray) -> dict[str, list[float]]:
        return dict(zip(self.pieces, matrix.astype(float).tolist(), strict=True))

    def segment(self, decoder: str) -> oracle.Segment:
        if decoder == "greedy":
            return oracle.greedy
        return oracle.merges_segmenter(self.merges, frozenset(self.pieces))

    def left(self) -> frozenset[str]:
        return frozenset(
            piece for piece, alive in zip(self.pieces, self.alive, strict=True) if alive
        )


@st.composite
def cases(draw) -> Case:
    pieces, merges = list(SINGLE), []
    for _ in range(draw(st.integers(1, 12))):
        left, right = draw(st.sampled_from(pieces)), draw(st.sampled_from(pieces))
        if "▁" in right or (left, right) in merges:
            continue
        merges.append((left, right))
        if left + right not in pieces:
            pieces.append(left + right)
    words = st.text("aaabbcd", min_size=1, max_size=7).map("▁".__add__)
    # A small stock of words makes tokens come back within a sentence, and at both its ends.
    stock = draw(st.lists(words, min_size=1, max_size=5))
    line = st.lists(st.sampled_from(stock), min_size=1, max_size=9)
    sentences = draw(st.lists(line, min_size=1, max_size=6))
    kept = [draw(st.booleans()) or draw(st.booleans()) or piece in SINGLE for piece in pieces]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    target, context = rng.normal(scale=1.5, size=(2, len(pieces), 3)).astype(np.float32)
    return Case(sentences, pieces, merges, np.array(kept), target, context, draw(st.integers(1, 6)))


def assert_close(ours: float, theirs: float, scale: float) -> None:
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-5 * (1 + scale))


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("decoder", ["greedy", "merges"])
@settings(max_examples=30)
@given(case=cases(), table=st.booleans(), limit=st.sampled_from([None, 1, 2, 3]))
def test_losses_are_those_of_equation_1(decoder, shared, case, table, limit):
    corpus, segment, left = case.corpus(), case.segment(decoder), case.left()
    context = case.target if shared else case.context
    target_of, context_of = case.vectors(case.target), case.vectors(context)
    long = [piece for piece in left if piece.lstrip("▁")[1:]]
    by_line = {
        piece: oracle.line_losses(
            piece, case.sentences, segment, left, target_of, context_of, case.window
        )
        for piece in long
    }
    wanted = np.array([piece in long for piece in case.pieces])
    keys = dict(zip(case.pieces, sample_keys(len(case.pieces), 7).tolist(), strict=True))
    tokens = [oracle.tokens_of(line, segment, left) for line in case.sentences]
    scale = sum(oracle.pair_losses(line, target_of, context_of, case.window) for line in tokens)
    for name in READINGS:
        lines = None if name == "total" else limit
        decoding = make_decoder(decoder, corpus.types, case.pieces, case.merges)
        losses = AblationLosses(
            corpus, case.pieces, decoding, objective(case.window, name, lines, seed=7, threads=2),
            cache_bytes=8, table=table,
        )  # fmt: skip
        losses.use_embeddings(case.target, context)
        ours = losses.losses(case.alive, wanted)
        reading = oracle.Reading(name, lines, keys)
        for number, piece in enumerate(case.pieces):
            if piece not in long:
                assert (ours.loss[number], ours.occurrences[number]) == (0, 0)
                continue
            theirs = reading.loss(piece, by_line[piece], case.sentences)
            assert_close(ours.loss[number], theirs, scale=scale)
            assert ours.lines[number] == sum(loss is not None for loss in by_line[piece])
            assert ours.occurrences[number] == sum(line.count(piece) for line in tokens)
            member = reading.member(piece, by_line[piece], case.sentences)
            chosen = oracle.choose(keys[piece], member, lines)
            opening = [c and line[0] == piece for c, line in zip(chosen, tokens, strict=True)]
            assert ours.opening[number] == sum(opening)


@settings(max_examples=25)
@given(case=cases(), decoder=st.sampled_from(["greedy", "merges"]), data=st.data())
def test_a_loss_does_not_depend_on_which_others_are_wanted(case, decoder, data):
    corpus = case.corpus()
    decoding = make_decoder(decoder, corpus.types, case.pieces, case.merges)
    losses = AblationLosses(corpus, case.pieces, decoding, objective(case.window))
    losses.use_embeddings(case.target, case.context)
    long = case.alive & np.array([bool(piece.lstrip("▁")[1:]) for piece in case.pieces])
    some = long & np.array([data.draw(st.booleans()) for _ in case.pieces])
    every, few = losses.losses(case.alive, long), losses.losses(case.alive, some)
    assert few.loss[some].tobytes() == every.loss[some].tobytes()
    assert not few.loss[~some].any()


@pytest.mark.parametrize("decoder", ["greedy", "merges"])
@pytest.mark.parametrize("reading", READINGS)
@settings(max_examples=25)
@given(case=cases(), data=st.data())
def test_losses_corrected_as_pieces_leave_are_those_computed_anew(decoder, reading, case, data):
    corpus = case.corpus()
    limit = None if reading == "total" else data.draw(st.sampled_from([None, 1, 2]))

    def fresh() -> AblationLosses:
        decoding = make_decoder(decoder, corpus.types, case.pieces, case.merges)
        settings = objective(case.window, reading, limit)
        losses = AblationLosses(corpus, case.pieces, decoding, settings, cache_bytes=64)
        losses.use_embeddings(case.target, case.context)
        return losses

    kept, alive = fresh(), np.ones(len(case.pieces), dtype=bool)
    long = np.array([bool(piece.lstrip("▁")[1:]) for piece in case.pieces])
    wanted = long.copy()
    while (alive & long).any():
        corrected, anew = kept.losses(alive, wanted), fresh().losses(alive, wanted)
        for name in vars(anew):
            assert getattr(corrected, name).tobytes() == getattr(anew, name).tobytes()
        leaving = data.draw(st.sets(st.sampled_from(np.flatnonzero(alive & long)), min_size=1))
        alive[list(leaving)] = False
        narrower = data.draw(st.booleans())  # later all may be asked for again: computed anew
        kept_back = [narrower and data.draw(st.booleans()) for _ in case.pieces]
        wanted = alive & long & ~np.array(kept_back)
