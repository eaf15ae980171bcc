"""Skip-gram in blocks: pairs, schedule, gradients, and the same bytes for any number of threads."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest

from sagevocab import embeddings, skipgram
from sagevocab.embeddings import train_embeddings
from sagevocab.errors import UserError
from sagevocab.segment import GreedySegmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.skipgram import BlockTrainer, Layout, Tokens, bucket_trainer, schedule
from sagevocab.words import Normalizer, WordCorpus

SETTINGS = Word2VecSettings(dimension=12, epochs=2, negative=5)


def random_text(lines: int = 60, pieces: int = 50, seed: int = 0) -> Tokens:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, lines)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    shares = 1 / np.arange(1, pieces + 1)
    return Tokens(rng.choice(pieces, ends[-1], p=shares / shares.sum()).astype(np.int32), ends)


def trained(threads: int = 1, text: Tokens | None = None, **changes) -> tuple:
    text = text or random_text()
    settings = Word2VecSettings(**{**vars(SETTINGS), **changes})
    trainer = BlockTrainer(text, 50, settings)
    for _ in trainer.chunks(threads):
        pass
    return trainer.matrices()


def test_every_bucket_is_trained_once_and_jobs_of_a_step_share_no_block() -> None:
    steps = schedule()
    buckets = [bucket for step in steps for job in step for bucket in job]
    assert sorted(buckets) == list(range(skipgram._BUCKETS))
    for step in steps:
        inputs, outputs = [], []
        for job in step:
            inputs += {bucket // skipgram._BLOCKS**2 for bucket in job}
            outputs += set(
                itertools.chain(
                    *((b // skipgram._BLOCKS % skipgram._BLOCKS, b % skipgram._BLOCKS) for b in job)
                )
            )
        assert len(set(inputs)) == len(inputs) and len(set(outputs)) == len(outputs)


def test_without_sampling_every_pair_of_a_window_is_listed_once() -> None:
    text = random_text()
    settings = Word2VecSettings(**{**vars(SETTINGS), "sample": 0, "shrink_windows": False})
    trainer = BlockTrainer(text, 50, settings)
    chunk = trainer._listed(0)
    listed = np.concatenate([chunk.bucket(b) for b in range(skipgram._BUCKETS)])
    piece = np.argsort(trainer._layout.row)
    found = sorted(map(tuple, piece[listed].tolist()))
    wanted = []
    for first, last in itertools.pairwise(text.ends):
        line = text.tokens[first:last]
        wanted += [
            (line[j], line[i])
            for i, j in itertools.permutations(range(len(line)), 2)
            if abs(i - j) <= settings.window
        ]
    assert found == sorted((int(a), int(b)) for a, b in wanted)


def test_pairs_stand_in_the_bucket_of_their_blocks() -> None:
    trainer = BlockTrainer(random_text(), 50, SETTINGS)
    chunk = trainer._listed(0)
    for bucket in range(skipgram._BUCKETS):
        block, output = divmod(bucket // skipgram._BLOCKS, skipgram._BLOCKS)
        pairs = chunk.bucket(bucket)
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
            chance = layout.chance[first + place] / 2**32
            drawn[first + place] += shares[block] * chance / size
            drawn[first + layout.other[first + place]] += shares[block] * (1 - chance) / size
    assert drawn == pytest.approx(noise / noise.sum(), abs=1e-6)


SEED = np.uint64(7)  # draws no row twice
NOISE = slice(40, 60)  # rows that negatives are drawn from, all alike


def train_group(group: np.ndarray, target: np.ndarray, context: np.ndarray, rate: float) -> None:
    """Train pairs of one bucket with 5 negatives; there is no other."""
    offsets, starts = np.array([0, len(group)]), np.array([NOISE.start, NOISE.stop])
    chance, other = np.full(NOISE.stop, 2**32 - 1, np.uint32), np.zeros(NOISE.stop, np.int32)
    bucket_trainer(target.shape[1], 5)(
        np.array([0]), group, offsets, starts, chance, other, target, context, np.float32(rate),
        SEED, np.uint64(0),
    )  # fmt: skip


@pytest.mark.parametrize("pairs", [1, 3, skipgram.GROUP])
def test_a_group_steps_along_the_gradient_that_autograd_finds(pairs: int) -> None:
    """Positives and negatives of all pairs of a group, at a rate so small that order is nothing."""
    rng, width, rate = np.random.default_rng(pairs), 16, 1e-4
    target, context = (rng.normal(0, 0.4, (60, width)).astype(np.float32) for _ in range(2))
    group = np.stack([np.arange(pairs), np.arange(20, 20 + pairs)], axis=1).astype(np.int32)
    drawn = drawn_rows(5)

    torch = pytest.importorskip("torch")
    x, y = (torch.tensor(matrix, requires_grad=True) for matrix in (target, context))
    objective = sum(
        torch.nn.functional.logsigmoid(x[i] @ y[o])
        + sum(torch.nn.functional.logsigmoid(-x[i] @ y[n]) for n in drawn)
        for i, o in group.tolist()
    )
    objective.backward()
    before = target.copy(), context.copy()
    train_group(group, target, context, rate)
    for matrix, old, tensor in zip((target, context), before, (x, y), strict=True):
        assert (matrix - old) / rate == pytest.approx(tensor.grad.numpy(), abs=5e-3)


def drawn_rows(negative: int) -> list[int]:
    """SplitMix64 in Python: the rows that a group draws where the alias table takes every place."""
    mask, state = 2**64 - 1, int(skipgram._seed(SEED, np.uint64(0), np.uint64(2)))

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    state, rows = mix(state), []
    for _ in range(negative):
        state = (state + 0x9E3779B97F4A7C15) & mask
        rows.append(NOISE.start + ((mix(state) >> 32) * (NOISE.stop - NOISE.start) >> 32))
    return rows


def test_pairs_in_one_group_do_what_they_do_one_after_the_other() -> None:
    """With the same negatives: pairs of a group see what the pairs before them changed."""
    rng, width = np.random.default_rng(3), 16
    start = [rng.normal(0, 0.6, (60, width)).astype(np.float32) for _ in range(2)]
    group = np.stack([np.arange(6), np.arange(20, 26)], axis=1).astype(np.int32)
    together, apart = ([matrix.copy() for matrix in start] for _ in range(2))
    train_group(group, *together, rate=0.1)
    for pair in group:
        train_group(pair[None], *apart, rate=0.1)
    for one, other_one in zip(together, apart, strict=True):
        assert one == pytest.approx(other_one, abs=2e-6)


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_any_number_of_threads_makes_the_same_bytes(threads: int, monkeypatch) -> None:
    monkeypatch.setattr(skipgram, "CHUNK", 200)
    for one, many in zip(trained(1), trained(threads), strict=True):
        assert one.tobytes() == many.tobytes()


def test_an_interruption_meets_no_kernel(monkeypatch) -> None:
    # It can crash Python there; the thread that it meets waits for the others.
    used = set()
    monkeypatch.setattr(
        BlockTrainer, "_train_share", lambda *_: used.add(threading.current_thread())
    )
    trained(threads=2)
    assert used and threading.main_thread() not in used


def test_any_dimension_and_number_of_negatives() -> None:
    target, context = trained(dimension=17, negative=20)
    assert target.shape == context.shape == (50, 17)
    assert np.isfinite(target).all() and np.abs(context).max() > 0


# --- as `train_embeddings` uses it


@pytest.fixture(scope="module")
def corpus() -> tuple[WordCorpus, GreedySegmenter]:
    lines = [f"{'abc'[n % 3]}{'xyz'[n % 2]} ab {'yx'[n % 2]}c" for n in range(400)]
    pieces = ["▁", *"abcxyz", "▁a", "▁ab", "by"]
    return WordCorpus.from_lines(lines, Normalizer()), GreedySegmenter(pieces)


@pytest.mark.parametrize("words", [7, 1_000_000])
def test_the_tokens_are_those_that_gensim_gets(words: int, corpus, monkeypatch) -> None:
    monkeypatch.setattr(embeddings, "_WORDS_AT_ONCE", words)
    text = embeddings._token_stream(*corpus)
    lines = [text.tokens[a:b].tolist() for a, b in itertools.pairwise(text.ends)]
    sentences = [list(map(int, sentence)) for sentence in embeddings._Sentences(*corpus)]
    assert lines == sentences


def test_pieces_that_do_not_occur_get_the_same_vectors_from_both_trainers(corpus) -> None:
    blocks = train_embeddings(*corpus, SETTINGS)
    gensim = train_embeddings(*corpus, replace(SETTINGS, trainer="gensim"))
    unseen = np.abs(blocks.target).max(axis=1) <= 0.01
    assert unseen.any() and (blocks.target[unseen] == gensim.target[unseen]).all()


def test_a_stopped_training_goes_on_to_the_same_bytes(corpus, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(skipgram, "CHUNK", 100)
    monkeypatch.setattr(embeddings, "_SAVE_EVERY", 0)
    unbroken = train_embeddings(*corpus, SETTINGS)

    class StopError(Exception):
        pass

    chunks = BlockTrainer.chunks

    def stopped(trainer: BlockTrainer, threads: int):
        for number in chunks(trainer, threads):
            yield number
            if number % 3 == 0:
                raise StopError

    for _ in range(20):
        monkeypatch.setattr(BlockTrainer, "chunks", stopped)
        try:
            train_embeddings(*corpus, SETTINGS, tmp_path)
        except StopError:
            continue
        break
    else:
        pytest.fail("it did not go on from where it was stopped")
    monkeypatch.setattr(BlockTrainer, "chunks", chunks)
    again = train_embeddings(*corpus, SETTINGS, tmp_path)
    assert again.target.tobytes() == unbroken.target.tobytes()
    assert again.context.tobytes() == unbroken.context.tobytes()


def test_a_corpus_without_pieces_is_an_error() -> None:
    empty = WordCorpus.from_lines(["ω"], Normalizer())
    with pytest.raises(UserError, match="no piece occurs"):
        train_embeddings(empty, GreedySegmenter(["a", "b"]), SETTINGS)
