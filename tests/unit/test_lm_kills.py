"""Training that is killed, or made to end, at any moment ends with the bytes of an unbroken one.

Killed trainings run in processes of their own, which a server with all imports done forks.
"""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from pathlib import Path

import pandas as pd
import pytest
from transformers.trainer_jit_checkpoint import CheckpointManager

from lm_samples import TINY, make_model, sentences
from reproduction.lm.causal import train_causal
from reproduction.lm.finetune import finetune
from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import CausalSettings, FinetuneSettings, PretrainSettings
from reproduction.lm.tasks import Task
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.huggingface.segmenter import load_segmenter

FORKS = multiprocessing.get_context("forkserver")
# The server's search path is not pytest's, so it finds none of the modules of tests.
FORKS.set_forkserver_preload(
    ["pytest", *(f"reproduction.lm.{name}" for name in ("causal", "finetune", "pretrain"))]
)
ENDED = 3  # exit status of a training run that says it was ended


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    make_model(folder)
    texts = sentences(64)
    rows = pd.DataFrame({"text": texts, "label": ["cat" in text for text in texts]})
    rows.astype({"label": int}).to_parquet(folder / "rows.parquet")
    return folder


def pretrain_one(inputs: Path, output: Path, state: Path, minutes: float) -> None:
    # A validation comes before the second kill, so the log that is resumed has one.
    own = {"steps": 20, "validation_every": 0.2, "checkpoint_minutes": minutes}
    settings = PretrainSettings(**TINY | own)
    files = inputs / "shards", inputs / "vocabulary", output
    pretrain(*files, settings, name="x", seed=1, state_dir=state)


def train_causal_one(inputs: Path, output: Path, state: Path, minutes: float) -> None:
    small = {"layers": 1, "hidden": 16, "heads": 2, "longest": 32, "batch": 8}
    settings = CausalSettings(**small, lines=240, checkpoint_minutes=minutes)
    texts = (WordCorpus.from_lines(sentences(n, n), Normalizer()) for n in (240, 20))
    segmenter = load_segmenter(inputs / "vocabulary")
    output.mkdir(exist_ok=True)
    train_causal(*texts, segmenter, output / "bits.parquet", settings, seed=1, state_dir=state)


def finetune_one(inputs: Path, output: Path, state: Path, minutes: float) -> None:
    settings = FinetuneSettings(epochs=4, max_sequence_length=16, batch=8, warmup_steps=4)
    rows, task = inputs / "rows.parquet", Task("cats", "sequence", "accuracy", (0, 1))
    output.mkdir(exist_ok=True)
    files = output / "scores.json", output / "predictions.parquet"
    names = {"language": "en", "tokenizer": "x", "seed": 1}
    how = {"state_dir": state, "checkpoint_minutes": minutes}
    finetune(inputs / "m", rows, rows, *files, task, settings, **names, **how)


def train_in_child(train, inputs: Path, output: Path, state: Path) -> None:
    """Train; at SIGTERM save at once, where Trainer waits three seconds for a SIGKILL."""
    CheckpointManager.__init__.__defaults__ = (0,)
    try:
        train(inputs, output, state, 1e-9)  # a checkpoint after every update
    except UserError as error:
        assert "ended by a signal" in str(error)
        raise SystemExit(ENDED) from error


def contents(folder: Path) -> dict[str, object]:
    """The bytes of every file; tables without their seconds."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            found[path.name] = pd.read_parquet(path).drop(columns="seconds", errors="ignore")
        else:
            found[path.name] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def unbroken(request, inputs, tmp_path_factory) -> tuple:
    """A way to train, and what it gives when nothing happens."""
    folder = tmp_path_factory.mktemp("unbroken")
    request.param(inputs, folder / "output", folder / "state", 30.0)
    return request.param, contents(folder / "output")


@pytest.mark.parametrize(
    ("unbroken", "sent"),
    [
        (pretrain_one, signal.SIGTERM),
        (train_causal_one, signal.SIGKILL),
        (finetune_one, signal.SIGKILL),
    ],
    indirect=["unbroken"],
)
def test_training_that_is_ended_twice_has_the_bytes_of_an_unbroken_one(
    unbroken, sent, inputs, tmp_path
):
    train, expected = unbroken
    output, state = tmp_path / "ended", tmp_path / "state"
    done, rng = [0], random.Random()
    for _ in range(2):
        child = FORKS.Process(target=train_in_child, args=(train, inputs, output, state))
        child.start()
        while child.is_alive() and updates_saved(state) <= done[-1] + 2:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))  # a checkpoint may be half written then
        child.kill() if sent is signal.SIGKILL else child.terminate()
        child.join()
        assert child.exitcode == (ENDED if sent is signal.SIGTERM else -sent)
        done.append(updates_saved(state))
    assert 0 < done[1] < done[2]
    train(inputs, output, state, 30.0)
    found = contents(output)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(found[name], value, check_exact=True)
        else:
            assert found[name] == value, name


def updates_saved(state: Path) -> int:
    """The updates of the newest checkpoint that is whole."""
    saved = state.glob("*/checkpoint-*/trainer_state.json")
    return max((int(path.parent.name.partition("-")[2]) for path in saved), default=0)
