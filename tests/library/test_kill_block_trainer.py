"""The block trainer, killed at any moment and run again, ends with an unbroken training's bytes."""

from __future__ import annotations

import functools
import random
import shutil
import sys
import time
from pathlib import Path

from kills import Plan, run_as_program, run_once
from sagevocab import embeddings, skipgram
from sagevocab.embeddings import train_embeddings
from sagevocab.segment import GreedySegmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.state import read_npz
from sagevocab.words import Normalizer, WordCorpus
from scripts_text import lines_in

KILLS = 20
EPOCHS = 5
LONGEST = 600  # seconds, on a busy machine


class Training:
    """A training run of many short chunks, whose progress is kept after each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        skipgram.CHUNK, embeddings._SAVE_EVERY = 200, 0.0
        lines = lines_in("greek", 200)
        letters = sorted({letter for line in lines for letter in line if letter != " "})
        self._corpus = WordCorpus.from_lines(lines, Normalizer())
        self._segmenter = GreedySegmenter(["▁", *letters])

    def run(self, name: str, threads: int) -> None:
        """Resume from the progress of this name, and write the embeddings."""
        settings = Word2VecSettings(
            trainer="blocks", dimension=8, epochs=EPOCHS, workers=threads, sample=0
        )
        trained = train_embeddings(
            self._corpus, self._segmenter, settings, self._folder / f"{name}.state"
        )
        trained.save(self._folder / f"{name}.npz")

    def bytes_of(self, name: str) -> bytes:
        return (self._folder / f"{name}.npz").read_bytes()

    def chunks(self, name: str) -> int:
        """Return how many chunks are done; 0 without progress."""
        path = self._folder / f"{name}.state" / "blocks.npz"
        return int(read_npz(path)["done"]) if path.exists() else 0

    def forget(self, name: str) -> None:
        """Begin anew."""
        shutil.rmtree(self._folder / f"{name}.state")
        (self._folder / f"{name}.npz").unlink()


def kill_again_and_again(folder: Path) -> None:
    """Train unbroken, then killed at random moments with one thread or two; compare the bytes."""
    training, chance = Training(folder), random.Random(14)
    training.run("compiled", 1)
    began = time.monotonic()
    training.run("unbroken", 1)
    whole, total = time.monotonic() - began, training.chunks("unbroken")

    kills, within, done = 0, 0, 0
    while kills < KILLS:
        # Every fourth dies amid the writing of its progress.
        by_clock = Plan(chance.uniform(0, whole / 4))
        plan = by_clock if kills % 4 else Plan(chance.randrange(20), "killed.state/")
        threads = chance.choice((1, 2))
        if run_once(functools.partial(training.run, "killed", threads), plan):
            kills += 1
            assert training.chunks("killed") >= done, "a kill lost what was kept before"
            done = training.chunks("killed")
            within += done % (total // EPOCHS) > 0
        else:  # on its way to the end, where there is less to do
            assert training.bytes_of("killed") == training.bytes_of("unbroken")
            training.forget("killed")
            done = 0
    assert within >= KILLS // 2, f"{within} of {kills} kills came within an epoch"
    training.run("killed", 2)
    assert training.bytes_of("killed") == training.bytes_of("unbroken")


def test_killed_within_epochs_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    run_as_program(__file__, tmp_path, LONGEST)


if __name__ == "__main__":
    kill_again_and_again(Path(sys.argv[1]))
