"""The preset `released` against the released program, SaGe 1.0, itself.

The golden files `sage_1*.json` (made by `benchmarks/peers/make_golden.py` of commit ea0343a) have
the losses and the pruned pieces of each batch of four runs of the program, with the embeddings that
are given here. Two are on ordinary text, two on a plain corpus, which has nothing of what follows.

The preset is the program's reading of the loss, not a copy of the program. It computes otherwise
in these points, of which `released.py` is a description and the first test the proof that there
are no others:

- At a ranking, a line is encoded anew with the prunable pieces and single characters only: pieces
  of `▁` and one character fall apart in it, wherever they stand. An occurrence counts as 0 if the
  tokens before it in its window changed or moved by that: behind the first such piece of a line,
  nothing counts. Here each occurrence counts, in the vocabulary that there is.
- It counts as 0, too, if the same piece stands in its window before it. Here all go at once.
- Losses equal to the last bit, mostly such zeros, go in the order of ids; here the higher id first.
- Between rankings, lines are encoded anew with the candidates and single characters only. What
  counts is what stands behind nothing but these in its line. Here that is the line's first token.
  The sum, mostly but not always above 0, moves a piece back; here each such piece goes back.
- The last batch is a whole one, whatever the final size.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
import released
from sagevocab.corpus.words import Normalizer, WordCorpus, split_words
from sagevocab.pruning.sage import build_sage, settings_from
from sagevocab.word2vec.embeddings import Embeddings, Word2VecSettings
from vocabulary_samples import merges_of

RUNS = ("sage_1", "sage_1_every_batch", "sage_1_plain", "sage_1_plain_every_batch")


def read(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "golden" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def words_of(golden: dict[str, Any]) -> list[list[str]]:
    return [split_words(line) for line in golden["lines"]]


def segmenter_of(golden: dict[str, Any]) -> oracle.Segment:
    return oracle.merges_segmenter(merges_of(golden["pieces"]), frozenset(golden["pieces"]))


def ours(golden: dict[str, Any]) -> dict[str, Any]:
    """What the preset prunes with the same embeddings and settings."""
    theirs, pieces = golden["settings"], golden["pieces"]
    settings = settings_from(
        "released",
        vocab_size=theirs["final"],
        prune_batch=theirs["prune"],
        candidates=theirs["consider"],
        rerank_every=theirs["rerank"],
    )
    corpus = WordCorpus.from_lines(golden["lines"], Normalizer())
    target = np.array(golden["target"], dtype=np.float32)
    embeddings = Embeddings(pieces, target, target)
    merges = merges_of(pieces)
    return build_sage(corpus, pieces, merges, embeddings, settings, Word2VecSettings()).ablations


@pytest.mark.parametrize("name", RUNS)
def test_what_the_program_computes_is_understood(name):
    golden = read(name)
    vectors = dict(zip(golden["pieces"], golden["target"], strict=True))
    batches = released.sage_1(
        words_of(golden), golden["pieces"], segmenter_of(golden), vectors, golden["settings"]
    )
    first = golden["batches"][: 2 * golden["settings"]["rerank"] + 2]  # of at least two rankings
    for batch, expected in zip(batches, first, strict=False):
        assert batch["pruned"] == expected["pruned"]
        losses = dict(expected["losses"])
        assert dict(batch["losses"]) == pytest.approx(losses, rel=0, abs=1e-6)


def test_same_order_where_every_batch_ranks():
    golden = read("sage_1_plain_every_batch")
    pruned = ours(golden)
    for number, batch in enumerate(golden["batches"]):
        rows = np.flatnonzero(pruned["iteration"] == number)
        losses = dict(batch["losses"])
        assert [pruned["piece"][row] for row in rows] == batch["pruned"]
        expected = [losses[piece] for piece in batch["pruned"]]
        assert list(pruned["loss"][rows]) == pytest.approx(expected, abs=2e-6)
    assert len(pruned["piece"]) == 24


def leading(golden: dict[str, Any], batch: int) -> tuple[set[str], set[str]]:
    """Candidates that open a line; those behind nothing but candidates and single characters."""
    segment, left = segmenter_of(golden), set(golden["pieces"])
    left -= {piece for earlier in golden["batches"][:batch] for piece in earlier["pruned"]}
    candidates = {piece for piece, _ in golden["batches"][batch]["losses"]}
    first, run = set(), set()
    for line in words_of(golden):
        tokens = oracle.tokens_of(line, segment, frozenset(left))
        first.update(candidates & {tokens[0]})
        for token in tokens:
            run.update(candidates & {token})
            if token not in candidates and len(token) > 1:
                break
    return first, run


def test_between_rankings_the_beginnings_of_lines_decide():
    golden = read("sage_1_plain")
    between = [n for n in range(len(golden["batches"])) if n % golden["settings"]["rerank"]]
    for number in between:
        first, run = leading(golden, number)
        losses = dict(golden["batches"][number]["losses"])
        assert {piece for piece, loss in losses.items() if loss != 0} == run
        assert first <= run
        assert all(losses[piece] > 0 for piece in run)


def test_same_order_with_candidates_pushed_back():
    """As long as what the program moves back is what opens a line."""
    golden, pruned = read("sage_1_plain"), ours(read("sage_1_plain"))
    every = golden["settings"]["rerank"]
    sets = {n: leading(golden, n) for n in range(len(golden["batches"])) if n % every}
    alike = min(n for n, (first, run) in sets.items() if first != run) // every * every
    assert alike >= 20
    expected = [piece for batch in golden["batches"][:alike] for piece in batch["pruned"]]
    assert pruned["piece"][: sum(pruned["iteration"] < alike)] == expected
    pushed = [n for n, (first, _) in sets.items() if n < alike and first]
    assert len(pushed) >= 5
    for number in pushed:
        assert sets[number][0].isdisjoint(golden["batches"][number]["pruned"])


def test_on_ordinary_text_most_losses_are_nothing_there():
    """Behind the first piece of `▁` and one character nothing counts: the order is another one."""
    golden = read("sage_1_every_batch")
    tokens = [
        token
        for line in words_of(golden)
        for token in oracle.tokens_of(line, segmenter_of(golden), frozenset(golden["pieces"]))
    ]
    losses = {p: loss for p, loss in golden["batches"][0]["losses"] if p in tokens}
    assert sum(loss == 0 for loss in losses.values()) > 0.5 * len(losses)
    theirs = {piece for batch in golden["batches"] for piece in batch["pruned"]}
    assert len(theirs & set(ours(golden)["piece"])) < 0.9 * len(theirs)
