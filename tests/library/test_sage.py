from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest

import oracle
from sage_samples import MERGES, PIECES, SINGLES, SMALL, Trainer, build, make_corpus, vectors_for
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.pruning.kernels import sample_keys
from sagevocab.pruning.sage import build_sage, initial_embeddings
from sagevocab.segmentation.segmenter import GreedySegmenter
from sagevocab.settings import SageSettings, settings_from
from sagevocab.training import train
from sagevocab.word2vec.embeddings import Word2VecSettings


def by_oracle(settings: SageSettings, corpus: WordCorpus):
    words = corpus.tokens
    if settings.contexts == "shuffled":
        words = np.random.default_rng(settings.seed).permutation(words)
    sentences = [
        [corpus.types[number] for number in words[first:last]]
        for first, last in zip(corpus.line_offsets[:-1], corpus.line_offsets[1:], strict=True)
    ]
    segment = oracle.greedy
    if settings.decoder == "merges":
        segment = oracle.merges_segmenter(MERGES, frozenset(PIECES))

    def train(pieces):
        made = vectors_for(pieces)
        matrices = (made.target, made.context)
        if settings.contexts == "zero":
            matrices = np.zeros((2, *made.target.shape))
        return tuple(dict(zip(pieces, m.astype(float).tolist(), strict=True)) for m in matrices)

    keys = dict(zip(PIECES, sample_keys(len(PIECES), settings.seed).tolist(), strict=True))
    lines = None if settings.loss_lines == "all" else settings.loss_lines
    return oracle.sage(
        sentences, PIECES, segment, train, oracle.Reading(settings.loss, lines, keys),
        final=settings.vocab_size, k=settings.prune_batch, M=settings.candidates,
        m=settings.rerank_every, l=settings.retrain_every, window=settings.window,
        shared=settings.context_matrix == "shared", retrain=settings.retrain,
        push_back=settings.push_back_line_start,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "preset", "overrides"),
    [
        (0, "printed", {}),
        (1, "printed", {"rerank_every": 3, "candidates": 6, "prune_batch": 1}),
        (0, "printed", {"decoder": "merges", "loss": "mean_piece_lines", "loss_lines": 2}),
        (1, "printed", {"context_matrix": "shared", "loss": "mean_string_lines"}),
        (0, "released_loss", {}),
        (1, "released_loss", {"loss_lines": 3, "rerank_every": 3}),
        (0, "released_loss", {"retrain": True, "decoder": "greedy", "loss_lines": 5}),
        (1, "released_loss", {"contexts": "zero", "rerank_every": 3}),
        (0, "printed", {"contexts": "shuffled"}),
    ],
)
def test_pruning_is_the_oracles(seed, preset, overrides):
    settings = settings_from(preset, **{**SMALL, **overrides})
    corpus = make_corpus(seed)
    left, record = by_oracle(settings, corpus)
    ours = build(settings, corpus)
    assert ours.pieces == left
    assert len(ours.pieces) == settings.vocab_size
    assert list(zip(ours.ablations["iteration"], ours.ablations["piece"], strict=True)) == [
        (iteration, piece) for iteration, piece, _ in record
    ]
    losses = [loss for _, _, loss in record]
    np.testing.assert_allclose(ours.ablations["loss"], losses, rtol=1e-6, atol=5e-5)


def test_both_sides_of_the_push_back_occur():
    """With and without it, the released preset prunes differently here: the rule has an effect."""
    settings = {**SMALL, "rerank_every": 3, "candidates": 8}
    with_it = build(settings_from("released_loss", **settings))
    without = build(settings_from("released_loss", **settings, push_back_line_start=False))
    assert with_it.ablations["piece"] != without.ablations["piece"]


def test_embeddings_are_retrained_for_the_pieces_left_every_l_times_m_batches():
    train = Trainer()
    ours = build(settings_from("printed", **SMALL), train=train)
    # 12 prunable pieces, 10 go, 2 at a time: batches 0..4; training before batches 2 and 4.
    sizes = [len(segmenter.pieces) for segmenter in train.segmenters]
    assert sizes == [len(PIECES) - 4, len(PIECES) - 8]
    assert ours.embeddings.pieces == train.segmenters[-1].pieces


def test_all_are_candidates_where_all_are_ranked_before_each_batch():
    every = {**SMALL, "rerank_every": 1}
    few, many = (build(settings_from("counts", **{**every, "candidates": n})) for n in (1, 100))
    assert few.pieces == many.pieces


@pytest.mark.parametrize("every", [0, 1])
def test_counts_prune_the_lowest_quotients_of_tokens_and_lines(every):
    corpus = make_corpus(2)
    settings = settings_from("counts", **{**SMALL, "rerank_every": every, "prune_batch": 1})
    lines = [
        [corpus.types[number] for number in corpus.tokens[first:last]]
        for first, last in zip(corpus.line_offsets[:-1], corpus.line_offsets[1:], strict=True)
    ]
    segment = oracle.merges_segmenter(MERGES, frozenset(PIECES))
    held = {piece: sum(any(piece in word for word in line) for line in lines) for piece in PIECES}
    left, pruned = [piece for piece in PIECES if len(piece.lstrip("▁")) > 1], []
    while len(pruned) < len(PIECES) - settings.vocab_size:
        if every or not pruned:
            vocabulary = set(PIECES) - {row[0] for row in pruned}
            tokens = Counter(t for word in chain(*lines) for t in segment(word, vocabulary))
            rank = {p: (tokens[p] / max(held[p], 1), -PIECES.index(p)) for p in left}
        lowest = min(left, key=rank.get)
        left.remove(lowest)
        pruned.append((lowest, rank[lowest][0], tokens[lowest]))
    result = build(settings, corpus)
    made = (result.ablations[name] for name in ("piece", "loss", "occurrences"))
    assert list(zip(*made, strict=True)) == pruned
    assert not result.embeddings.target.any()


def test_pieces_ranked_once_keep_their_order():
    corpus, once = make_corpus(0), {**SMALL, "rerank_every": 0, "candidates": 1}
    ranked = build(settings_from("printed", **{**once, "prune_batch": 100}), corpus).ablations
    in_batches = build(settings_from("printed", **{**once, "retrain": True}), corpus).ablations
    assert in_batches["piece"] == ranked["piece"]


def test_counts_take_no_contexts():
    with pytest.raises(UserError, match=r"sage\.contexts: .*zero"):
        settings_from("printed", loss="tokens_per_line")
    with pytest.raises(UserError, match=r"sage\.push_back_line_start: "):
        settings_from("counts", push_back_line_start=True)
    with pytest.raises(UserError, match=r"sage\.contexts: zero .*real or shuffled"):
        settings_from("bigram_code", contexts="zero")
    with pytest.raises(UserError, match=r"sage\.retrain: "):
        settings_from("bigram_code", retrain=True)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"vocab_size": SINGLES - 1}, "vocabulary.vocab_size: "),
        ({"vocab_size": len(PIECES) + 1}, "vocabulary.vocab_size: "),
        ({"candidates": 3}, "sage.candidates: 3"),
        ({"decoder": "viterbi"}, "sage.decoder: "),
    ],
)
def test_settings_that_do_not_fit_the_vocabulary_are_reported(overrides, message):
    with pytest.raises(UserError) as error:
        build(settings_from("printed", **{**SMALL, **overrides}))
    assert str(error.value).startswith(message)


def test_inputs_that_do_not_go_together_are_reported():
    settings = settings_from("printed", **SMALL)
    with pytest.raises(UserError, match="^corpus: holds no word"):
        build(settings, WordCorpus.from_lines([" "], Normalizer()))
    other = vectors_for(PIECES[::-1])
    with pytest.raises(UserError, match="^embeddings: are of another vocabulary"):
        build_sage(make_corpus(), PIECES, MERGES, other, settings, Word2VecSettings())
    with pytest.raises(UserError, match=r"^sage\.decoder: merges needs"):
        build_sage(
            make_corpus(), PIECES, None, vectors_for(PIECES),
            settings_from("released_loss", **SMALL), Word2VecSettings(),
        )  # fmt: skip


def test_vectors_of_shuffled_words_take_losses_on_the_text():
    settings, corpus = {**SMALL, "retrain": False}, make_corpus(0)
    seen = []

    def trained(contexts):
        sage = settings_from("printed", **settings, contexts=contexts)
        made = build(sage, corpus)
        segmenter = GreedySegmenter(PIECES)
        vectors = initial_embeddings(corpus, segmenter, sage, Word2VecSettings(dimension=4))
        seen.append(vectors.target.tolist())
        return made.ablations["loss"].tolist()

    real, shuffled, of_vectors = map(trained, ("real", "shuffled", "shuffled_vectors"))
    assert of_vectors == real != shuffled  # the toy's vectors are the same for all
    assert seen[2] == seen[1] != seen[0]


def test_controls_take_contexts_away_from_the_same_start():
    lines = [f"{a} {b} walking talker walks talked {a}{b}" for a in "abcdef" for b in "ghijkl"]
    built, stages = {}, {}
    for contexts in ("real", "zero", "shuffled"):
        seen = stages.setdefault(contexts, set())
        built[contexts] = train(
            lines, vocab_size=50, initial_size=60, sage={"contexts": contexts}, threads=1,
            vocabulary={"ascii": False},
            progress=lambda progress, seen=seen: seen.add(progress.stage),
        )  # fmt: skip
    assert {"word2vec"} == stages["real"] - stages["zero"]
    assert stages["shuffled"] == stages["real"]
    assert built["zero"].embeddings is None
    real, shuffled = built["real"], built["shuffled"]
    assert real.initial == shuffled.initial == built["zero"].initial
    assert real.record["text"] == shuffled.record["text"]
    assert (real.embeddings.target != shuffled.embeddings.target).any()
