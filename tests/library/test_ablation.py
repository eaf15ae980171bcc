from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import oracle
from sage_samples import objective
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.pruning.loss import AblationLosses, lowest_first, make_decoder


def corpus_of(*lines: str) -> WordCorpus:
    return WordCorpus.from_lines(lines, Normalizer())


def losses_over(corpus, pieces, settings, target, context, *, decoder="greedy", **options):
    losses = AblationLosses(
        corpus, pieces, make_decoder(decoder, corpus.types, pieces), settings, **options
    )
    losses.use_embeddings(np.array(target), np.array(context))
    return losses


def all_of(losses, pieces):
    everything = np.ones(len(pieces), dtype=bool)
    wanted = np.array([len(piece.lstrip("▁")) > 1 for piece in pieces])
    return losses.losses(everything, wanted)


def test_an_example_worked_by_hand():
    # One line, one word: ▁ ab, and without ab: ▁ a b. Window 1, so neighbours only.
    # sigma(-ln 2) = 1/3, sigma(ln 2) = 2/3, sigma(0) = 1/2. With one dimension, E_T . E_C is a
    # product; only ▁ (target ln 2) and ab (context -1, target 0), a (context 1) are not zero.
    #   before: ▁ with ab: sigma(ln 2 * -1) -> ln 3;  ab with ▁: sigma(0) -> ln 2
    #   after:  ▁ with a:  sigma(ln 2 *  1) -> ln 1.5;  a with ▁: ln 2;  a with b and back: 2 ln 2
    # loss = ln 1.5 + 3 ln 2 - ln 3 - ln 2 = ln(1.5 * 8 / 6) = ln 2
    pieces = ["▁", "a", "b", "ab"]
    target, context = [[math.log(2)], [0], [0], [0]], [[0], [1], [0], [-1]]
    losses = losses_over(corpus_of("ab"), pieces, objective(1), target, context)
    assert all_of(losses, pieces).loss == pytest.approx([0, 0, 0, math.log(2)], rel=1e-7)


@pytest.mark.parametrize("vector", [0.0, -3.5])
def test_a_very_long_line_of_one_word_is_summed_in_full(vector):
    """All its tokens change at once: the largest loss that a line of this length can have.

    Each of its words is one token, and without it ▁ aa a; every pair of tokens loses the same.
    """
    words = 200_000
    corpus = WordCorpus(["▁aaa"], np.zeros(words, np.int32), np.array([0, words]))
    pieces = ["▁", "a", "aa", "▁aaa"]
    vectors = np.full((len(pieces), 1), vector)
    losses = losses_over(corpus, pieces, objective(), vectors, -vectors)
    grown = 5 * 2 * words * 2 * math.log(1 + math.exp(vector**2))  # W pairs for each new token
    assert all_of(losses, pieces).loss[3] == pytest.approx(grown, rel=1e-8)


ABLATIONS_OF_LONG_WORDS = """
import random, resource
import numpy as np
from itertools import product
from pathlib import Path
from sagevocab.pruning.loss import make_decoder

draw, letters = random.Random(1), "abcdefgh"
pieces = ["".join(piece) for length in (1, 2, 3) for piece in product(letters, repeat=length)]
words = ["".join(draw.choices(letters, k=1000)) for _ in range(1000)]
alive = np.ones(len(pieces), dtype=bool)
few, all_of_them = (make_decoder("greedy", part, pieces) for part in (words[:2], words))
few.ablate(alive, alive, few.segment(alive))  # compiles
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (500 << 20),) * 2)
first, *_ = all_of_them.ablate(alive, alive, all_of_them.segment(alive))
print(first[-1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory reserved")
def test_long_words_reserve_what_their_ablations_take():
    """As in scripts without spaces. Room for all that could change would be 3 GB here."""
    program = [sys.executable, "-c", ABLATIONS_OF_LONG_WORDS]
    run = subprocess.run(program, capture_output=True, text=True)
    assert not run.returncode, run.stderr
    assert int(run.stdout) > 100_000


INCLUDE = "use of an include directive is when referring to"
BEFORE = "▁use ▁of ▁an ▁includ e ▁direct ive ▁is ▁when ▁ref er r ing ▁to"
AFTER = "▁use ▁of ▁an ▁inc l u de ▁direct ive ▁is ▁when ▁ref er r ing ▁to"
TABLE_2 = sorted({*BEFORE.split(), *AFTER.split(), "▁", *INCLUDE.replace(" ", "")})


def test_table_2_of_the_paper():
    """Without _includ, `ive` sees `de` where it saw `e`, though _includ is out of its window."""
    vocabulary = frozenset(TABLE_2)
    words = ["▁" + word for word in INCLUDE.split()]
    assert oracle.tokens_of(words, oracle.greedy, vocabulary) == BEFORE.split()
    assert oracle.tokens_of(words, oracle.greedy, vocabulary - {"▁includ"}) == AFTER.split()

    rng = np.random.default_rng(2)
    target, context = rng.normal(size=(2, len(TABLE_2), 4))

    def pair(a: str, b: str) -> float:
        x, y = TABLE_2.index(a), TABLE_2.index(b)
        dots = target[x] @ context[y], target[y] @ context[x]
        return sum(math.log(1 + math.exp(-dot)) for dot in dots)

    # Window 2: the pairs of positions whose span meets the word, written out.
    lost = "▁of ▁includ, ▁an ▁includ, ▁an e, ▁includ e, ▁includ ▁direct, e ▁direct, e ive"
    won = (
        "▁of ▁inc, ▁an ▁inc, ▁an l, ▁inc l, ▁inc u, l u, l de, u de, u ▁direct, de ▁direct, de ive"
    )
    by_hand = sum(pair(*both.split()) for both in won.split(", "))
    by_hand -= sum(pair(*both.split()) for both in lost.split(", "))
    vectors = [dict(zip(TABLE_2, m.tolist(), strict=True)) for m in (target, context)]
    by_oracle = oracle.line_losses("▁includ", [words], oracle.greedy, vocabulary, *vectors, 2)[0]

    losses = losses_over(corpus_of(INCLUDE), TABLE_2, objective(2), target, context)
    ours = all_of(losses, TABLE_2).loss[TABLE_2.index("▁includ")]
    assert ours == pytest.approx(by_hand, rel=1e-6)
    assert ours == pytest.approx(by_oracle, rel=1e-6)


def test_uncovered_characters_hold_a_position_and_pair_with_nothing():
    # ▁ab X a: neighbours make no pair. Without ▁ab: ▁ a b X a, two pairs, from both sides 2 ln 2.
    pieces, zero = ["▁", "a", "b", "▁ab"], np.zeros((4, 1))
    losses = losses_over(corpus_of("abxa"), pieces, objective(1), zero, zero)
    assert all_of(losses, pieces).loss[3] == pytest.approx(4 * math.log(2))


@pytest.mark.parametrize(
    ("reading", "lines"), [("total", None), ("mean_piece_lines", 3), ("mean_string_lines", 3)]
)
def test_threads_cache_and_table_change_no_byte(reading, lines):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), rng.integers(1, 6))) for _ in range(30)]
    corpus = corpus_of(*(" ".join(rng.choice(words, rng.integers(1, 20))) for _ in range(500)))
    pieces = ["▁", "a", "b", "c", "ab", "bc", "▁a", "abc", "▁ab", "ca", "cab"]
    target, context = rng.normal(size=(2, len(pieces), 5))
    outcomes = set()
    for threads in (1, 2, 4, 8):
        for losses_of_pairs in ({"cache_bytes": 8}, {"table": False}, {"table": True}):
            losses = losses_over(
                corpus, pieces, objective(3, reading, lines, threads=threads), target, context,
                **losses_of_pairs,
            )  # fmt: skip
            ours = all_of(losses, pieces)
            outcomes.add(b"".join(getattr(ours, name).tobytes() for name in vars(ours)))
    assert len(outcomes) == 1


def test_a_mean_over_strings_counts_lines_without_the_token_as_0():
    pieces = ["▁", "a", "b", "c", "ab", "bc"]
    zero = np.zeros((len(pieces), 1))
    corpus = corpus_of("bc", "abc", "c")  # abc is ab c: the string bc, not the token
    totals = {
        reading: all_of(losses_over(corpus, pieces, objective(1, reading), zero, zero), pieces)
        for reading in ("total", "mean_piece_lines", "mean_string_lines")
    }
    bc = pieces.index("bc")
    total = totals["total"].loss[bc]
    assert total == pytest.approx(2 * math.log(2))
    assert totals["mean_piece_lines"].loss[bc] == pytest.approx(total)
    assert totals["mean_string_lines"].loss[bc] == pytest.approx(total / 2)
    assert (totals["total"].occurrences[bc], totals["total"].lines[bc]) == (1, 1)


def test_a_sample_is_seeded_and_no_larger_than_asked():
    # Lines of different lengths have different losses: the mean tells which line was drawn.
    lines = [" ".join(["x"] * n + ["ab"] + ["x"] * n) for n in range(30)]
    pieces = ["▁", "a", "b", "x", "ab", "▁x"]
    zero = np.zeros((len(pieces), 1))

    def mean(seed: int, n: int | None) -> float:
        sampled = objective(40, "mean_piece_lines", n, seed=seed)
        losses = losses_over(corpus_of(*lines), pieces, sampled, zero, zero)
        return all_of(losses, pieces).loss[4]

    assert mean(1, 1) == mean(1, 1)
    assert len({mean(seed, 1) for seed in range(8)}) > 3
    assert mean(1, 30) == mean(2, 30) == mean(3, None)


def test_ascending_with_ties_to_the_higher_number():
    loss = np.array([2.0, -1.0, 0.0, 0.0, -0.0, 5.0])
    assert lowest_first(loss, np.array([0, 2, 3, 4, 1])).tolist() == [1, 4, 3, 2, 0]
