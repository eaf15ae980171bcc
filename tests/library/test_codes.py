"""Code losses against brute force: the text is cut again without the piece and counted anew."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

import oracle
from sage_samples import MERGES, PIECES, SMALL, build, make_corpus
from sagevocab.corpus.words import WordCorpus
from sagevocab.pruning import codes
from sagevocab.pruning.codes import CodeLosses
from sagevocab.pruning.loss import make_decoder
from sagevocab.settings import settings_from
from test_ablation_oracle import Case, cases

MARK = "\n"


def bigrams_of(sentences, segment, vocabulary, order: int) -> Counter:
    """How often each pair of symbols occurs; without an order of 2, all contexts are one."""
    found = Counter()
    for sentence in sentences:
        symbols = [MARK, *oracle.tokens_of(sentence, segment, vocabulary), MARK]
        contexts = symbols[:-1] if order == 2 else [""] * (len(symbols) - 1)
        found.update(zip(contexts, symbols[1:], strict=True))
    return found


def code_length(bigrams: Counter, shape: Counter) -> float:
    """Bits of a text with these bigrams; T and U are those of the bigrams in `shape`."""
    follow, end = Counter(x for x, _ in shape), Counter(y for _, y in shape)
    context = Counter()
    for (x, _), c in bigrams.items():
        context[x] += c
    bits = []
    for (x, y), c in bigrams.items():
        lower = 0.75 * max(follow[x], 1) * max(end[y], 0.5) / len(shape)
        p = (max(c - 1 - 0.75, 0) + lower) / max(context[x] - 1, 1)
        bits.append(-c * math.log2(p))
    return math.fsum(bits)


def brute_force(case: Case, decoder: str, order: int) -> dict[str, float]:
    segment, left = case.segment(decoder), case.left()
    before = bigrams_of(case.sentences, segment, left, order)
    return {
        piece: code_length(bigrams_of(case.sentences, segment, left - {piece}, order), before)
        - code_length(before, before)
        for piece in left
        if len(piece.lstrip("▁")) > 1
    }


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("decoder", ["greedy", "merges"])
@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_losses_are_those_of_the_text_cut_again(case, decoder, order):
    expected, corpus = brute_force(case, decoder, order), case.corpus()
    wanted = np.array([piece in expected for piece in case.pieces])
    decoding = make_decoder(decoder, corpus.types, case.pieces, case.merges)
    losses = CodeLosses(corpus, len(case.pieces), decoding, bigrams=order == 2, threads=2).losses(
        case.alive, wanted
    )
    for number, piece in enumerate(case.pieces):
        assert losses.loss[number] == pytest.approx(expected.get(piece, 0), abs=1e-4)
    held = [set(oracle.tokens_of(s, case.segment(decoder), case.left())) for s in case.sentences]
    assert losses.lines[wanted].tolist() == [
        sum(piece in tokens for tokens in held) for piece in np.array(case.pieces)[wanted]
    ]


def test_a_value_by_hand():
    """Lines "ab" and "ab a"; ▁ab becomes ▁a b.

    With ▁ab: bigrams (mark, ▁ab) twice, (▁ab, mark), (▁ab, ▁a), (▁a, mark); 4 different ones, of
    which ▁a, ▁ab end 1/4 each, the mark 1/2. Without it: (mark, ▁a) and (▁a, b) twice, (b, mark),
    (b, ▁a), (▁a, mark). Contexts: the mark 2 both times; ▁ab 2; ▁a 1, then 3; b 0, then 2.
    """
    pieces = ["▁", "a", "b", "▁a", "▁ab"]
    corpus = WordCorpus.from_words([["▁ab"], ["▁ab", "▁a"]])
    decoder = make_decoder("greedy", corpus.types, pieces)
    alive, wanted = np.ones(5, bool), np.array([0, 0, 0, 0, 1], bool)
    log, d = math.log2, 0.75
    before = -2 * log(0.25 + d * 1 / 4) - log(d * 2 * 2 / 4) - log(d * 2 / 4) - log(d * 2 / 4)
    # b ends no bigram and precedes none: it counts as the end of half a one, and as followed by 1.
    after = -2 * log(0.25 + d * 1 / 4) - 2 * log((0.25 + d / 8) / 2) - log(d * 2 / 4 / 2)
    after -= log(d * 2 / 4) + log(d * 1 / 4)
    loss = CodeLosses(corpus, 5, decoder).losses(alive, wanted).loss
    assert loss.tolist() == pytest.approx([0, 0, 0, 0, after - before], abs=1e-6)
    # One context for all: 5 symbols, ▁ab 2, the mark 2, ▁a 1; then 7, b 2, ▁a 3.
    before = -2 * log(1 / 4) - 2 * log(1 / 4) - log(d / 4)
    after = -2 * log(1 / 6) - 2 * log((0.25 + d / 2) / 6) - 3 * log(2 / 6)
    loss = CodeLosses(corpus, 5, decoder, bigrams=False).losses(alive, wanted).loss
    assert loss[4] == pytest.approx(after - before, abs=1e-6)


def test_neither_threads_nor_what_else_is_wanted_change_a_byte():
    corpus = make_corpus(1, lines=300)
    decoder = make_decoder("greedy", corpus.types, PIECES)
    alive = np.ones(len(PIECES), bool)
    wanted = np.array([len(piece.lstrip("▁")) > 1 for piece in PIECES])
    one = CodeLosses(corpus, len(PIECES), decoder).losses(alive, wanted).loss
    many = CodeLosses(corpus, len(PIECES), decoder, threads=7).losses(alive, wanted).loss
    assert many.tobytes() == one.tobytes()
    few = wanted & (np.arange(len(PIECES)) % 3 == 0)
    some = CodeLosses(corpus, len(PIECES), decoder).losses(alive, few).loss
    assert some.tobytes() == np.where(few, one, 0).tobytes()


@pytest.mark.parametrize("order", [1, 2])
def test_pieces_go_by_their_loss_in_batches(order):
    corpus = make_corpus(3)
    code = {} if order == 2 else {"loss": "unigram_code", "contexts": "zero"}
    result = build(settings_from("bigram_code", **{**SMALL, **code, "rerank_every": 1}), corpus)
    lines = [["▁" + word for word in line.split()] for line in corpus.lines()]
    alive, pruned = np.ones(len(PIECES), bool), []
    while len(pruned) < len(PIECES) - SMALL["vocab_size"]:
        case = Case(lines, PIECES, MERGES, alive, alive, alive, 0)
        losses = brute_force(case, "greedy", order)
        pruned += oracle.lowest(PIECES, losses, SMALL["prune_batch"])
        alive = np.array([piece not in pruned for piece in PIECES])
    assert result.ablations["piece"] == pruned[: len(PIECES) - SMALL["vocab_size"]]
    assert not result.embeddings.target.any()


def test_shuffled_words_change_what_bigrams_cost():
    corpus = make_corpus(4)
    real, shuffled = (
        build(settings_from("bigram_code", **SMALL, contexts=contexts), corpus).ablations["loss"]
        for contexts in ("real", "shuffled")
    )
    again = build(settings_from("bigram_code", **SMALL), corpus.shuffled(1)).ablations["loss"]
    assert shuffled.tolist() == again.tolist() != real.tolist()


def test_logarithms_are_exact_to_the_last_bits():
    rng = np.random.default_rng(0)
    for x in [0.5, 1.0, 2.0, 3.0, *rng.uniform(1e-9, 1, 300), *rng.uniform(1, 1e9, 300)]:
        assert codes._log2(x) == pytest.approx(math.log2(x), rel=4e-16, abs=4e-16)
