"""Skip-gram in blocks: pairs, schedule, gradients, and the same bytes for any number of threads."""

from __future__ import annotations

import itertools
import os
import platform
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit, types

from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.files import fingerprint
from sagevocab.pruning.kernels import make_scores
from sagevocab.segmentation.counts import SegmentedCorpus
from sagevocab.segmentation.segmenter import GreedySegmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.word2vec import blocks as skipgram
from sagevocab.word2vec import gensim_trainer
from sagevocab.word2vec.blocks import BlockTrainer, Layout, schedule

SETTINGS = Word2VecSettings(dimension=12, epochs=2, negative=5)


def random_text(lines: int = 60, pieces: int = 50, seed: int = 0) -> SegmentedCorpus:
    """Return a text whose words are pieces."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, lines)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    shares = 1 / np.arange(1, pieces + 1)
    words = rng.choice(pieces, ends[-1], p=shares / shares.sum()).astype(np.int32)
    names = [chr(ord("A") + number) for number in range(pieces)]
    return SegmentedCorpus(WordCorpus(names, words, ends), GreedySegmenter(names))


def trained(threads: int = 1, text: SegmentedCorpus | None = None, **changes) -> tuple:
    settings = Word2VecSettings(**{**vars(SETTINGS), **changes})
    trainer = BlockTrainer(text or random_text(), settings)
    for _ in trainer.chunks(threads):
        pass
    return trainer.matrices()


def test_every_bucket_is_trained_once_and_jobs_of_a_step_share_no_block() -> None:
    steps = schedule()
    assert sorted(steps[steps >= 0]) == list(range(skipgram._BUCKETS))
    inputs, outputs, negatives = np.unravel_index(
        np.maximum(steps, 0), (skipgram.JOBS, skipgram._BLOCKS, skipgram._BLOCKS)
    )
    for step, mine in enumerate(steps >= 0):
        # Every bucket of a job has the blocks of its first one, and all jobs have all blocks.
        assert (inputs[step] == inputs[step][:, :1])[mine].all()
        assert set(inputs[step][:, 0]) == set(range(skipgram.JOBS))
        blocks = outputs[step][:, 0], negatives[step][:, 0]
        assert sorted(np.concatenate(blocks)) == list(range(skipgram._BLOCKS))
        for found in (outputs[step], negatives[step]):
            assert ((found == blocks[0][:, None]) | (found == blocks[1][:, None]))[mine].all()


def test_pairs_stand_in_the_bucket_of_their_blocks() -> None:
    trainer = BlockTrainer(random_text(), SETTINGS)
    chunk = trainer._listed(0)
    for bucket in range(skipgram._BUCKETS):
        block, output = divmod(bucket // skipgram._BLOCKS, skipgram._BLOCKS)
        pairs = chunk.dealt[chunk.offsets[bucket] : chunk.offsets[bucket + 1]]
        assert set(trainer._layout.input_block[pairs[:, 0]]) <= {block}
        assert set(trainer._layout.output_block[pairs[:, 1]]) <= {output}


def test_negatives_are_drawn_by_count_to_the_power_of_three_quarters() -> None:
    counts = np.array([1000, 300, 100, 30, 10, 3, 1, 0] * 4)
    layout = Layout(counts, 1e-3)
    shares = np.diff(layout.bounds.astype(float)) / 2**32
    noise = layout.counts.astype(float) ** 0.75
    drawn = np.zeros(len(counts))
    for block, (first, last) in enumerate(itertools.pairwise(layout.starts)):
        size = last - first
        for place in range(size):
            other, chance = divmod(int(layout.alias[first + place]), 2**32)
            drawn[first + place] += shares[block] * chance / 2**32 / size
            drawn[first + other] += shares[block] * (1 - chance / 2**32) / size
    assert drawn == pytest.approx(noise / noise.sum(), abs=1e-6)


SEED = np.uint64(7)  # draws no row twice
NOISE = slice(40, 60)  # rows that negatives are drawn from, all alike


def train_bucket(
    pairs: np.ndarray, target: np.ndarray, context: np.ndarray, rate: float, **changes
) -> None:
    """Train pairs of one bucket; their negatives are `drawn_rows`."""
    given = {"noise": NOISE, "dimension": target.shape[1], "negative": 5, **changes}
    noise, dimension, negative = given.values()
    alias = skipgram._alias_table(np.ones(noise.stop - noise.start))
    rows = np.empty((2, 2 * skipgram.GROUP + skipgram._padded(negative)), np.int32)
    scratch = np.empty(skipgram._scratch_size(negative), np.float32)
    skipgram._train_pairs(
        pairs.astype(np.int32), noise.start, alias, target, context, np.float32(rate),
        dimension, negative, SEED, rows, scratch,
    )  # fmt: skip


@pytest.mark.parametrize("pairs", [1, 3, skipgram.GROUP])
def test_a_group_steps_along_the_gradient_that_autograd_finds(pairs: int) -> None:
    """Positives and negatives of all pairs of a group, at a rate so small that order is nothing."""
    torch = pytest.importorskip("torch")

    rng, width, rate = np.random.default_rng(pairs), 16, 1e-4
    target, context = (rng.normal(0, 0.4, (60, width)).astype(np.float32) for _ in range(2))
    group = np.stack([np.arange(pairs), np.arange(20, 20 + pairs)], axis=1).astype(np.int32)
    drawn = list(itertools.islice(drawn_rows(), 5))

    x, y = (torch.tensor(matrix, requires_grad=True) for matrix in (target, context))
    objective = sum(
        torch.nn.functional.logsigmoid(x[i] @ y[o])
        + sum(torch.nn.functional.logsigmoid(-x[i] @ y[n]) for n in drawn)
        for i, o in group.tolist()
    )
    objective.backward()
    before = target.copy(), context.copy()
    train_bucket(group, target, context, rate)
    for matrix, old, tensor in zip((target, context), before, (x, y), strict=True):
        assert (matrix - old) / rate == pytest.approx(tensor.grad.numpy(), abs=5e-3)


def drawn_rows(noise: slice = NOISE) -> Iterator[int]:
    """SplitMix64 in Python: the rows that a bucket draws where all are alike."""
    mask, state = 2**64 - 1, int(SEED)

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    state = mix(state)
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        yield noise.start + ((mix(state) >> 32) * (noise.stop - noise.start) >> 32)


def test_pairs_in_one_group_do_what_they_do_one_after_the_other() -> None:
    """With the same negatives: pairs of a group see what the pairs before them changed."""
    rng, width = np.random.default_rng(3), 16
    start = [rng.normal(0, 0.6, (60, width)).astype(np.float32) for _ in range(2)]
    group = np.stack([np.arange(6), np.arange(20, 26)], axis=1).astype(np.int32)
    together, apart = ([matrix.copy() for matrix in start] for _ in range(2))
    train_bucket(group, *together, rate=0.1)
    for pair in group:
        train_bucket(pair[None], *apart, rate=0.1)
    for one, other_one in zip(together, apart, strict=True):
        assert one == pytest.approx(other_one, abs=2e-6)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c in float32, rounded once: in float64 it is rounded to odd (Boldo, Melquiond 2008).

    In float64 the product is exact. What the sum's rounding loses is found as by Knuth's TwoSum.
    """
    product, c = np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64)
    total = np.atleast_1d(product + c)
    part = total - product
    lost = (product - (total - part)) + (c - part)
    inexact_and_even = (lost != 0) & (total.view(np.int64) % 2 == 0)
    odd = np.where(inexact_and_even, np.nextafter(total, np.copysign(np.inf, lost)), total)
    return odd.astype(np.float32).reshape(np.shape(product + c))


def plain_dot(a: np.ndarray, b: np.ndarray) -> np.float32:
    """The dot product of two rows: 16 sums, then sums of neighbours."""
    sums = np.zeros(16, np.float32)
    for first in range(0, len(a), 16):
        sums = fma(a[first : first + 16], b[first : first + 16], sums)
    while len(sums) > 1:
        sums = sums[::2] + sums[1::2]
    return sums[0]


def plain_step(dot: np.ndarray, rate: np.float32) -> np.ndarray:
    """The rate times sigma(dot), 0 beyond 6."""
    one = [np.full_like(dot, number) for number in (8648640, 277200, 1512, 1)]
    other = [np.full_like(dot, number) for number in (34594560, 3991680, 50400, 112)]
    above, below = (
        fma(dot * dot, fma(dot * dot, fma(dot * dot, d, c), b), a) for a, b, c, d in (one, other)
    )
    half_tanh = dot * above / below
    return np.where(np.abs(dot) < 6, fma(rate, half_tanh, rate * np.float32(0.5)), np.float32(0))


def plain_group(group: np.ndarray, drawn: np.ndarray, target, context, rate) -> None:
    """What `_find_steps` and `_update_rows` say, pair by pair and negative by negative."""
    inputs, outputs = group.T
    x, n = target[inputs], context[drawn]
    positive = plain_step(-np.array([*map(plain_dot, x, context[outputs])]), rate)
    steps = np.zeros((len(group), len(drawn)), np.float32)
    for j, row in enumerate(x):
        dots = np.array([plain_dot(row, negative) for negative in n])
        for i in range(j):
            dots = fma(plain_dot(row, x[i]), steps[i], dots)
        steps[j] = np.where(drawn == outputs[j], np.float32(0), plain_step(dots, -rate))
    change = positive[:, None] * context[outputs]
    for j, output in enumerate(outputs):
        change[j] = positive[j] * context[output]
        context[output] = fma(positive[j], x[j], context[output])
    for k, negative in enumerate(drawn):
        for j in range(len(group)):
            change[j] = fma(steps[j, k], context[negative], change[j])
            context[negative] = fma(steps[j, k], x[j], context[negative])
    for j, row in enumerate(inputs):
        target[row] += change[j]


@pytest.mark.parametrize(
    ("dimension", "negative", "pairs"), [(50, 15, 21), (1, 1, 3), (40, 16, 8), (17, 20, 9)]
)
def test_vectors_give_the_bytes_of_plain_arithmetic(
    dimension: int, negative: int, pairs: int
) -> None:
    """Of 12 rows in all, many are in a group twice: as inputs, outputs and negatives."""
    rng, width = np.random.default_rng(dimension), skipgram._padded(dimension)
    matrices = np.zeros((2, 12, width), np.float32)
    # Some dot products are beyond 6.
    matrices[..., :dimension] = rng.normal(0, 9 / dimension**0.5, (2, 12, dimension))
    matrices[:, 4:, :dimension] /= 10
    bucket, noise = rng.integers(0, 12, (pairs, 2)), slice(3, 12)
    fast, plain = matrices.copy(), matrices.copy()
    train_bucket(bucket, *fast, 0.1, noise=noise, dimension=dimension, negative=negative)

    rows = drawn_rows(noise)
    groups = -(-pairs // skipgram.GROUP)
    for first in range(groups):
        drawn = np.array(list(itertools.islice(rows, negative)))
        plain_group(bucket[first::groups], drawn, *plain, np.float32(0.1))
    assert np.array_equal(fast, plain) and not np.array_equal(fast, matrices)


# x86-64-v2 has no fused multiply-adds.
PROCESSORS = {"x86_64": "x86-64-v2", "aarch64": "generic", "arm64": "generic"}


def print_digest() -> None:
    """Train a little, and print what comes out, and the losses of pairs of pieces."""
    matrices = trained(text=random_text(20), dimension=50, negative=15, epochs=1)
    table = make_scores(*matrices, 8, table=True).table
    print(fingerprint(*(numbers.tobytes() for numbers in (*matrices, table))))


def test_the_bytes_do_not_depend_on_the_processor(tmp_path: Path, capsys) -> None:
    """Compiled for another processor, training and losses of pairs have the same bytes."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command = [sys.executable, "-c", f"import {Path(__file__).stem} as t; t.print_digest()"]
    numba = {"NUMBA_CPU_NAME": PROCESSORS[platform.machine()], "NUMBA_CPU_FEATURES": ""}
    numba["NUMBA_CACHE_DIR"] = str(tmp_path)
    run = subprocess.run(
        command,
        env={**os.environ, **numba, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    print_digest()
    assert run.stdout == capsys.readouterr().out


def test_vectors_and_counters_can_be_compiled_for_arm() -> None:
    @njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    def group(target, context, rows, scratch, counters):
        skipgram._find_steps(target, context, rows, scratch, 8, np.float32(0.1), 15)
        skipgram._update_rows(target, context, rows, scratch, rows, 50, 15)
        skipgram._wait(counters, 0, 1)

    matrix = types.float32[:, ::1]
    signature = matrix, matrix, types.int32[::1], types.float32[::1], types.int64[::1]
    group.compile(signature)
    code = re.sub('target (datalayout|triple) = ".*"', "", group.inspect_llvm(signature))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    arm = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine()
    assembly = arm.emit_assembly(llvm.parse_assembly(code))
    assert all(name in assembly for name in ("fmla", "prfm", "usleep"))
    assert "fmaf" not in assembly  # of the mathematical library, number by number


@pytest.mark.parametrize("threads", [2, 8])
def test_any_number_of_threads_makes_the_same_bytes(threads: int, monkeypatch) -> None:
    monkeypatch.setattr(skipgram, "CHUNK", 200)
    for one, many in zip(trained(1), trained(threads), strict=True):
        assert one.tobytes() == many.tobytes()


def test_an_interruption_meets_no_kernel(monkeypatch) -> None:
    # It can crash Python there; the thread that it meets waits for the others.
    used = set()
    monkeypatch.setattr(skipgram, "_train_chunk", lambda *_: used.add(threading.current_thread()))
    trained(threads=2)
    assert used and threading.main_thread() not in used


# --- as `train_embeddings` uses it


@pytest.fixture(scope="module")
def corpus() -> tuple[WordCorpus, GreedySegmenter]:
    lines = [f"{'abc'[n % 3]}{'xyz'[n % 2]} ab {'yx'[n % 2]}c" for n in range(400)]
    pieces = ["▁", *"abcxyz", "▁a", "▁ab", "by"]
    return WordCorpus.from_lines(lines, Normalizer()), GreedySegmenter(pieces)


@pytest.mark.parametrize("lines", ["short", "long"])
def test_every_pair_of_what_gensim_gets_is_listed_once(lines: str, corpus) -> None:
    """Without sampling. Long lines have pairs outside the window, short ones words of pieces."""
    text = SegmentedCorpus(*corpus) if lines == "short" else random_text()
    settings = replace(SETTINGS, sample=0, shrink_windows=False)
    trainer = BlockTrainer(text, settings)
    piece = np.argsort(trainer._layout.row)
    chunk = trainer._listed(0)
    listed = Counter(map(tuple, piece[chunk.dealt[: chunk.offsets[-1]]].tolist()))
    wanted = Counter()
    for sentence in gensim_trainer._Sentences(text):
        for i, j in itertools.permutations(range(len(sentence)), 2):
            if abs(i - j) <= settings.window:
                wanted[int(sentence[j]), int(sentence[i])] += 1
    assert listed == wanted
