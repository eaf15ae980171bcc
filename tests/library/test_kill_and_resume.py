"""Training killed at any moment, run again, ends with the bytes of one that nothing stopped."""

from __future__ import annotations

import dataclasses
import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sagevocab
from kills import NEVER, Plan, run_as_program, run_once
from sagevocab import versions
from sagevocab.progress import Progress
from sagevocab.training import SageVocabulary
from scripts_text import lines_in

LINES = lines_in("greek", 120)
LONGEST = 1500  # seconds, of all the trainings that are killed, on a busy machine
ARTEFACTS = ("pieces.txt", "ablations.jsonl", "embeddings.npz", "tokenizer.json")


def train(lines: list[str] = LINES, **settings: Any) -> SageVocabulary:
    """Train with retrainings and rankings often enough to be met by a kill."""
    settings.setdefault("vocab_size", 170)
    settings.setdefault("initial_size", 260)
    settings.setdefault("threads", 1)
    word2vec = {"epochs": 4, "dimension": 8, **settings.pop("word2vec", {})}
    sage = {"prune_batch": 2, "rerank_every": 4, "retrain_every": 3, **settings.pop("sage", {})}
    vocabulary = {"character_coverage": 1.0, "ascii": False, **settings.pop("vocabulary", {})}
    return sagevocab.train(lines, word2vec=word2vec, sage=sage, vocabulary=vocabulary, **settings)


def artefacts(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ARTEFACTS}


def bytes_of(built: SageVocabulary, folder: Path) -> dict[str, bytes]:
    return artefacts(built.save(folder))


# --- killed, in processes of its own: this module run as a program forks one for each try


def plans(whole: float) -> list[Plan]:
    """Plan kills of a training run that takes `whole` seconds, the same ones each time."""
    chance = random.Random(20)
    planned = [Plan(chance.uniform(0, whole)) for _ in range(8)]
    planned += [Plan(n, "sagevocab.embeddings") for n in (0, 1)]
    planned += [Plan(n, "sagevocab.pruning/.pruning") for n in (0, 3)]
    planned += [Plan(n, "retraining") for n in (0, 2)]
    planned += [Plan(n, ".partial/") for n in (0, 4)]  # the tokenizer's folder
    chance.shuffle(planned)
    return [Plan(0, "sagevocab.initial"), *planned]


def kill_once(folder: Path, plan: Plan) -> None:
    """Train until a kill comes about.

    A training run that ends before is looked at and begun anew, with half the time to its kill: a
    busy machine may have made `whole` too long.
    """
    for _ in range(8):
        if run_once(lambda: train(output=folder / "killed"), plan):
            return
        check_killed(folder)
        shutil.rmtree(folder / "killed")
        if not plan.where:
            plan = dataclasses.replace(plan, value=plan.value / 2)
    raise RuntimeError(f"no training could be killed as planned: {plan}")


def kill_again_and_again(folder: Path) -> None:
    """Train unbroken, then killed as all plans say; compare the bytes."""
    train().save(folder / "compiled")
    began = time.monotonic()
    train(output=folder / "unbroken")
    for plan in plans(time.monotonic() - began):
        kill_once(folder, plan)
        if (folder / "killed").exists():  # between the tokenizer and the removal of the progress
            assert artefacts(folder / "killed") == artefacts(folder / "unbroken")
            shutil.rmtree(folder / "killed")
    assert not run_once(lambda: train(output=folder / "killed"), NEVER)
    check_killed(folder)


def check_killed(folder: Path) -> None:
    """Compare the bytes, and see that nothing else is left."""
    assert artefacts(folder / "killed") == artefacts(folder / "unbroken")
    assert {path.name for path in folder.iterdir()} == {"compiled", "unbroken", "killed"}


def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    run_as_program(__file__, tmp_path, LONGEST)


# --- same bytes whatever the number of threads


@pytest.mark.parametrize("preset", ["printed", "released"])
def test_the_number_of_threads_changes_no_byte(preset: str, tmp_path: Path) -> None:
    made = [
        bytes_of(train(preset=preset, threads=threads), tmp_path / str(threads))
        for threads in (1, 4)
    ]
    assert made[0] == made[1]


# --- progress of other circumstances


class StoppedError(Exception):
    pass


def stop_while_pruning(state_dir: Path) -> None:
    """Leave the progress of a training run that was retrained and then stopped."""

    def tell(progress: Progress) -> None:
        if progress.stage == "pruning" and progress.done >= 40:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(state_dir=state_dir, progress=tell)
    assert (state_dir / "sagevocab.pruning" / "pruning.npz").exists()


def resumed(caplog: pytest.LogCaptureFixture) -> set[str]:
    """Return the parts of the training that resumed from progress."""
    messages = [record.getMessage() for record in caplog.records]
    return {message.split(":")[0] for message in messages if "resumes after" in message}


CHANGED: dict[str, dict[str, Any]] = {
    "seed": {"seed": 2},
    "vocab_size": {"vocab_size": 171},
    "epochs": {"word2vec": {"epochs": 5}},
    "window": {"sage": {"window": 4}},
    "decoder": {"sage": {"decoder": "merges"}},
    "max_word_chars": {"vocabulary": {"max_word_chars": 6}},
    "text": {"lines": [*LINES[:-1], LINES[-1] + "α"]},
    "order": {"lines": LINES[::-1]},
}
# What prunes otherwise may have the same embeddings to begin with.
PRUNING_ONLY = {"vocab_size", "window", "decoder"}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopped") / "state"
    stop_while_pruning(folder)
    return folder


@pytest.mark.parametrize("name", ["nothing", "threads", *CHANGED])
def test_only_progress_of_the_same_settings_and_text_is_resumed(
    name: str, stopped: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    same = name in ("nothing", "threads")
    changed = {"threads": 3} if name == "threads" else CHANGED.get(name, {})
    state_dir = tmp_path / "state"
    shutil.copytree(stopped, state_dir)
    with caplog.at_level("WARNING"):  # what Python shows without a setting
        built = train(**changed, state_dir=state_dir)
    if same:
        assert resumed(caplog) == {"word2vec", "sage"}
    else:
        assert resumed(caplog) <= ({"word2vec"} if name in PRUNING_ONLY else set())
    anew = train(**changed)
    assert bytes_of(built, tmp_path / "resumed") == bytes_of(anew, tmp_path / "anew")


@pytest.mark.parametrize("part", ["initial", "embeddings", "sage"])
def test_progress_of_another_version_of_the_code_is_discarded(
    part: str,
    stopped: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state_dir = tmp_path / "state"
    shutil.copytree(stopped, state_dir)
    of_before = versions.code_digest()
    monkeypatch.setattr(f"sagevocab.{part}.code_digest", lambda: of_before + "changed")
    name = {"initial": "initial", "embeddings": "embeddings", "sage": "pruning"}[part]
    with caplog.at_level("WARNING"):  # what Python shows without a setting
        built = train(state_dir=state_dir)
    message = f"{state_dir.resolve() / f'sagevocab.{name}'}: progress of other inputs"
    assert any(record.getMessage().startswith(message) for record in caplog.records)
    # Training again on the same pieces gives the same embeddings, with which pruning continues.
    gone = {"initial": set(), "embeddings": {"word2vec"}, "sage": {"sage"}}[part]
    assert resumed(caplog) == {"word2vec", "sage"} - gone
    assert bytes_of(built, tmp_path / "resumed") == bytes_of(train(), tmp_path / "anew")


if __name__ == "__main__":
    kill_again_and_again(Path(sys.argv[1]))
