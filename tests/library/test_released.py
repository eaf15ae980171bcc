"""SaGe 1.0 exactly: golden runs of the program itself, its samples, a brute-force oracle."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
import released
from sagevocab.corpus.words import Normalizer, WordCorpus, split_words
from sagevocab.errors import UserError
from sagevocab.pruning.released import Batch, ReleasedSettings, prune_as_released
from vocabulary_samples import merges_of

RUNS = ("sage_1", "sage_1_every_batch", "sage_1_plain", "sage_1_plain_every_batch")


def read(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "golden" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def pruned(golden: dict[str, Any], *, threads: int = 1, **changes: int) -> list[Batch]:
    given = golden["settings"]
    settings = {
        "vocab_size": given["final"],
        "prune_batch": given["prune"],
        "candidates": given["consider"],
        "rerank_every": given["rerank"],
    }
    corpus = WordCorpus.from_lines(golden["lines"], Normalizer())
    pieces, target = golden["pieces"], np.array(golden["target"])
    options = ReleasedSettings(**settings | changes)
    batches = prune_as_released(corpus, pieces, merges_of(pieces), target, options, threads=threads)
    return list(batches)


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


def test_lines_and_samples_are_those_of_python_s_random() -> None:
    golden = read("sage_1_plain")
    (batch, *_) = pruned(golden, loss_lines=3, lines=60)
    rng = random.Random(0)
    lines = [split_words(line) for line in golden["lines"]]
    rng.shuffle(lines)
    lines = lines[:60]
    segment = oracle.merges_segmenter(merges_of(golden["pieces"]), frozenset(golden["pieces"]))
    vectors = dict(zip(golden["pieces"], golden["target"], strict=True))
    characters = frozenset(piece for piece in golden["pieces"] if len(piece) == 1)
    for piece, loss in zip(batch.considered, batch.losses, strict=True):
        holding = [line for line in lines if piece in "".join(line)]
        if len(holding) > 3:
            holding = rng.sample(holding, 3)
        left = frozenset(batch.considered) - {piece} | characters
        grown = [
            released.sage_1_line_loss(
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
