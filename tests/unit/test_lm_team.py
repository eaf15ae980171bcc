"""A model trained by two processes is the one that a single process trains."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from lm_samples import TINY, make_shards
from sagevocab.errors import UserError
from sagevocab.lm.encoder import load_encoder
from sagevocab.lm.pretrain import prepare_run, pretrain
from sagevocab.lm.settings import PretrainSettings
from sagevocab.lm.team import Team, run_together
from sagevocab.lm.training import Checkpoints, choose_device
from sagevocab.provenance import PACKAGE

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
    search = [str(Path(__file__).parents[1]), str(PACKAGE.parent)]
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


# --- the launcher

FUNCTIONS = """
import logging, os, signal
from pathlib import Path
from sagevocab.errors import UserError
from sagevocab.lm.team import joined_team

def fail(folder, how):
    with joined_team(0) as team:
        logging.getLogger("sagevocab.test").info("process %s is here", team.rank)
        Path(folder, str(team.rank)).write_text(str(os.getpid()))
        team.wait()
        while team.rank == 0 or how == "never":
            team.wait()
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise UserError("lm.pretrain.batch: too many") if how == "refused" else KeyError("x")
"""
PARENT = """
import sys
sys.path[:0] = sys.argv[1:3]
from functions import fail
from sagevocab.lm.team import run_together
run_together(fail, 2, folder=sys.argv[3], how="never")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a module of functions to launch, and one for the processes' ids."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "pids").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "functions", raising=False)
    return tmp_path


def running(folder: Path) -> list[int]:
    """Return the processes of `folder` that have not ended."""
    found = []
    for path in (folder / "pids").iterdir():
        with contextlib.suppress(FileNotFoundError, ValueError):
            pid = int(path.read_text())
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            found += [pid] if state != "Z" else []
    return found


@pytest.mark.parametrize(
    ("how", "kind", "expected"),
    [
        ("refused", UserError, "lm.pretrain.batch: too many"),
        ("killed", UserError, "lm.gpus: signal 9 ended one of the training processes"),
        ("unexpected", RuntimeError, "KeyError: 'x'"),
    ],
)
def test_an_error_of_one_process_ends_all(how, kind, expected, folder, capfd):
    from functions import fail

    with pytest.raises(kind, match=expected) as error:
        run_together(fail, 2, folder=str(folder / "pids"), how=how)
    assert type(error.value) is kind
    assert "\n" not in str(error.value) or kind is RuntimeError
    printed = capfd.readouterr()
    assert printed.err == ""
    (line,) = printed.out.splitlines()
    assert line.startswith("[0] ")
    assert line.endswith("sagevocab.test: process 0 is here")
    assert not running(folder)


def test_the_processes_end_with_a_parent_that_was_killed(folder):
    places = map(str, (PACKAGE.parent, folder, folder / "pids"))
    parent = subprocess.Popen([sys.executable, "-c", PARENT, *places], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(running(folder)) == 2 or parent.poll() is not None)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not running(folder))


def wait_until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


if __name__ == "__main__":
    train_all(Path(sys.argv[1]))
