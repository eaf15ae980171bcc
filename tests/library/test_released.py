"""SaGe 1.0 exactly: golden runs of the program itself, its samples, a brute-force oracle."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from sagevocab.corpus.words import Normalizer, WordCorpus, split_words
from sagevocab.errors import UserError
from sagevocab.pruning.released import Batch, prune_as_released
from sagevocab.pruning.sage import build_sage
from sagevocab.settings import Word2VecSettings, settings_from
from sagevocab.word2vec.embeddings import Embeddings
from vocabulary_samples import merges_of

RUNS = ("sage_1", "sage_1_every_batch", "sage_1_plain", "sage_1_plain_every_batch")


def read(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "golden" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def pruned(golden: dict[str, Any], **changes: int) -> list[Batch]:
    given = golden["settings"]
    settings = {
        "vocab_size": given["final"],
        "prune_batch": given["prune"],
        "candidates": given["consider"],
        "rerank_every": given["rerank"],
    }
    corpus = WordCorpus.from_lines(golden["lines"], Normalizer())
    pieces, target = golden["pieces"], np.array(golden["target"])
    options = settings_from("released", **settings | changes)
    return list(prune_as_released(corpus, pieces, merges_of(pieces), target, options))


@pytest.mark.parametrize("name", RUNS)
def test_every_batch_of_the_program(name: str) -> None:
    golden = read(name)
    for batch, expected in zip(pruned(golden), golden["batches"], strict=True):
        assert batch.pruned == expected["pruned"]
        assert batch.considered == [piece for piece, _ in expected["losses"]]
        losses = [loss for _, loss in expected["losses"]]
        assert batch.losses - batch.total == pytest.approx(losses, rel=0, abs=2e-6)


def test_threads_change_no_byte() -> None:
    golden = read("sage_1")
    one, three = pruned(golden), pruned(golden, threads=3)
    assert [batch.losses.tobytes() for batch in one] == [batch.losses.tobytes() for batch in three]


def pair_loss(x: str, y: str, vectors: oracle.Vectors) -> float:
    """-log sigma(x . y): both programs have one matrix for targets and contexts."""
    dot = math.fsum(a * b for a, b in zip(vectors[x], vectors[y], strict=True))
    return math.log1p(math.exp(-dot))


# --- sage-tokenizer 2.0


def next_word(tokens: Sequence[str], at: int) -> int:
    """Where the next word begins after tokens[at]; `at` itself if that is the last token."""
    if at + 1 >= len(tokens):
        return at
    return next((i for i in range(at + 1, len(tokens)) if tokens[i][0] == "▁"), len(tokens))


def targets_loss(
    tokens: Sequence[str], first: int, last: int, window: int, vectors: oracle.Vectors
) -> float:
    """The loss of the targets first..last-1 with all their contexts."""
    return math.fsum(
        pair_loss(tokens[i], tokens[j], vectors)
        for i in range(max(first, 0), min(last, len(tokens)))
        for j in range(max(i - window, 0), min(i + window + 1, len(tokens)))
        if i != j
    )


def sage_1_line_loss(
    piece: str, before: Sequence[str], after: Sequence[str], window: int, vectors: oracle.Vectors
) -> float:
    """The loss of `piece` on one line, whose tokens are `before` and, encoded anew, `after`.

    Occurrence by occurrence: the targets within the window of the old token are taken away, those
    around the new tokens are added. An occurrence counts nothing if the tokens before it in its
    window are not what they were.
    """
    loss, shift = 0.0, 0
    for at in (i for i, token in enumerate(before) if token == piece):
        now = at + shift
        growth = next_word(after, now) - next_word(before, at) - shift
        shift += growth
        old_window = [*before[max(at - window, 0) : at], *before[at + 1 : at + window + 1]]
        left = min(window, now)
        if list(after[now - left : now]) == old_window[:left]:
            loss -= targets_loss(before, at - window, at + window + 1, window, vectors)
            end = min(now + window + 1, len(after)) + growth
            loss += targets_loss(after, now - window, end, window, vectors)
    return loss


def test_lines_and_samples_are_those_of_python_s_random() -> None:
    golden = read("sage_1_plain")
    (batch, *_) = pruned(golden, loss_lines=3)
    rng = random.Random(0)
    lines = [split_words(line) for line in golden["lines"]]
    rng.shuffle(lines)
    segment = oracle.merges_segmenter(merges_of(golden["pieces"]), frozenset(golden["pieces"]))
    vectors = dict(zip(golden["pieces"], golden["target"], strict=True))
    characters = frozenset(piece for piece in golden["pieces"] if len(piece) == 1)
    for piece, loss in zip(batch.considered, batch.losses, strict=True):
        holding = [line for line in lines if piece in "".join(line)]
        if len(holding) > 3:
            holding = rng.sample(holding, 3)
        left = frozenset(batch.considered) - {piece} | characters
        grown = [
            sage_1_line_loss(
                piece,
                oracle.tokens_of(line, segment, frozenset(golden["pieces"])),
                oracle.tokens_of(line, segment, left),
                5,
                vectors,
            )
            for line in holding
        ]
        assert loss - batch.total == pytest.approx(np.mean(grown), abs=1e-6), piece


def test_a_size_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(UserError, match="vocab_size: 3"):
        pruned(read("sage_1"), vocab_size=3, prune_batch=50)


# --- presets: the program, and its loss alone


def preset_prunes(golden: dict[str, Any], preset: str, **changes: int) -> dict[str, Any]:
    """What a preset prunes with the same embeddings and settings."""
    given, pieces = golden["settings"], golden["pieces"]
    options = {
        "vocab_size": given["final"],
        "prune_batch": given["prune"],
        "candidates": given["consider"],
        "rerank_every": given["rerank"],
    }
    settings = settings_from(preset, **options | changes)
    corpus = WordCorpus.from_lines(golden["lines"], Normalizer())
    target = np.array(golden["target"], dtype=np.float32)
    embeddings = Embeddings(pieces, target, target)
    merges = merges_of(pieces)
    return build_sage(corpus, pieces, merges, embeddings, settings, Word2VecSettings()).ablations


def test_its_loss_alone_gives_the_same_order_where_every_batch_ranks():
    golden = read("sage_1_plain_every_batch")
    pruned = preset_prunes(golden, "released_loss")
    for number, batch in enumerate(golden["batches"]):
        rows = np.flatnonzero(pruned["iteration"] == number)
        losses = dict(batch["losses"])
        assert [pruned["piece"][row] for row in rows] == batch["pruned"]
        expected = [losses[piece] for piece in batch["pruned"]]
        assert list(pruned["loss"][rows]) == pytest.approx(expected, abs=2e-6)
    assert len(pruned["piece"]) == 24


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("decoder", "greedy"),
        ("context_matrix", "own"),
        ("retrain", True),
        ("push_back_line_start", True),
        ("rerank_every", 0),
    ],
)
def test_the_program_is_refused_what_it_does_not_do(key: str, value: object) -> None:
    with pytest.raises(UserError, match=f"^sage.{key}: "):
        settings_from("released", **{key: value})


def test_the_preset_is_the_program_and_ends_at_the_final_size() -> None:
    golden = read("sage_1")
    pruned = [piece for batch in golden["batches"] for piece in batch["pruned"]]
    assert preset_prunes(golden, "released")["piece"] == pruned
    fewer = preset_prunes(golden, "released", vocab_size=golden["settings"]["final"] + 3)
    assert fewer["piece"] == pruned[:-3]
    assert "occurrences" not in fewer
