"""A model trained by two processes is the one that a single process trains."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from lm_samples import TINY, make_shards
from reproduction.digests import search_path
from reproduction.lm.encoder import load_encoder
from reproduction.lm.pretrain import prepare_run, pretrain
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.team import Team
from reproduction.lm.training import Checkpoints, choose_device
from sagevocab.errors import UserError

PATIENCE = 300  # seconds; only a hanging process takes longer, however busy the machine
STEPS = 24
TWO = ("alone", "together")
# 9 rows, 4 and 5 of them a process, in micro-batches of 2 and 3.
SETTINGS = TINY | {"batch": 9, "micro_batch": 3, "steps": STEPS, "attention_dropout": 0.0}
PLACES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


# --- this module run as a program: it forks the processes, so that they need not import anew


def start(
    folder: Path, name: str, size: int, dropout: float = 0.0, die_after: int | None = None
) -> list[int]:
    """Fork `size` processes that train `folder`/name together; return their ids.

    die_after: the first process is killed by its checkpoint after so many updates.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(size):
        child = os.fork()
        if not child:
            signal.alarm(PATIENCE)
            places = zip(PLACES, (rank, rank, size, "127.0.0.1", port), strict=True)
            os.environ |= {key: str(value) for key, value in places}
            if die_after is not None:
                _die_after_checkpoint(die_after)
            _train(folder, name, dropout)
        children.append(child)
    return children


def _train(folder: Path, name: str, dropout: float) -> None:
    code = 1
    try:
        pretrain(
            folder / "shards",
            folder / "vocabulary",
            folder / name,
            PretrainSettings(**SETTINGS | {"dropout": dropout}),
            name="test",
            seed=1,
            state_dir=folder / f"{name}.state",
            checkpoint_updates=5,
        )
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def finish(children: list[int]) -> None:
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0


def _die_after_checkpoint(updates: int) -> None:
    save = Checkpoints.save

    def save_and_die(self, progress) -> None:
        save(self, progress)
        if progress.updates == updates:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoints.save = save_and_die


def see_killed(children: list[int]) -> None:
    """Wait for the first process's death; the others, waiting for it, are killed, too."""
    _, status = os.waitpid(children[0], 0)
    assert os.WIFSIGNALED(status)
    for child in children[1:]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def train_all(folder: Path) -> None:
    finish(start(folder, "alone", 1))
    finish(start(folder, "together", 2))
    finish(start(folder, "unbroken", 2, dropout=0.1))
    see_killed(start(folder, "killed", 2, dropout=0.1, die_after=10))
    assert not (folder / "killed").exists()
    assert (folder / "killed.state" / "update-000000010.pt").exists()
    finish(start(folder, "killed", 2, dropout=0.1))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    make_shards(folder)
    search = [str(Path(__file__).parents[1]), *search_path()]
    environment = {"PYTHONPATH": os.pathsep.join(search), "OMP_NUM_THREADS": "1"}
    if sys.platform == "linux":
        environment["GLOO_SOCKET_IFNAME"] = "lo"
    done = subprocess.run(
        [sys.executable, __file__, str(folder)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_two_processes_train_what_one_does(trained):
    alone, together = (load_file(trained / name / "model.safetensors") for name in TWO)
    for name, weights in alone.items():
        assert torch.allclose(weights, together[name], atol=1e-4), name
    logs = [pd.read_parquet(trained / name / "training_log.parquet") for name in TWO]
    assert len(logs[1]) == STEPS
    assert logs[0].loss.tolist() == pytest.approx(logs[1].loss.tolist(), rel=1e-4)
    assert logs[0].learning_rate.equals(logs[1].learning_rate)


def test_two_killed_processes_resume_to_the_same_bytes(trained):
    files = [trained / name / "model.safetensors" for name in ("unbroken", "killed")]
    assert files[0].read_bytes() == files[1].read_bytes()
    rows = [pd.read_parquet(path.with_name("heldout.parquet")) for path in files]
    assert rows[0].equals(rows[1])
    assert not (trained / "killed.state").exists()


def test_dropout_is_each_processes_own(trained):
    with_dropout = load_file(trained / "unbroken" / "model.safetensors")
    without = load_file(trained / "together" / "model.safetensors")
    assert not all(with_dropout[name].equal(without[name]) for name in without)


def test_more_devices_than_rows_are_refused(tmp_path):
    make_shards(tmp_path)
    encoder, device = load_encoder(tmp_path / "vocabulary"), choose_device(0, "auto", 1)
    with pytest.raises(UserError, match=r"^lm\.gpus: 9 are more than the rows of an update"):
        prepare_run(PretrainSettings(**TINY), 1, encoder, tmp_path / "shards", device, Team(0, 9))


if __name__ == "__main__":
    train_all(Path(sys.argv[1]))
