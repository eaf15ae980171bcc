"""The launcher: what goes wrong in one process ends all; two nodes train what one process does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
import torch
from safetensors.torch import load_file

from lm_samples import TINY, make_shards
from reproduction.digests import search_path
from reproduction.lm import launch
from reproduction.lm.launch import run_together
from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import PretrainSettings
from sagevocab.errors import UserError

PATIENCE = 300  # seconds; only a hanging process takes longer, however busy the machine

FUNCTIONS = """
import logging, os, signal
from pathlib import Path
from sagevocab.errors import UserError
from reproduction.lm.team import joined_team

def fail(folder, how, threads):
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
from reproduction.lm.launch import run_together
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
        with contextlib.suppress(psutil.NoSuchProcess, ValueError):
            process = psutil.Process(int(path.read_text()))
            found += [process.pid] if process.status() != psutil.STATUS_ZOMBIE else []
    return found


@pytest.mark.parametrize(
    ("how", "kind", "expected"),
    [
        ("refused", UserError, "lm.pretrain.batch: too many"),
        ("killed", UserError, "lm.gpus: (signal 9|something) ended one of the training processes"),
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


def test_an_error_that_was_not_written_to_its_end_is_one_line(monkeypatch):
    def broken(*_):
        return lambda *_: json.loads('{"message": ')

    monkeypatch.setattr(launch, "elastic_launch", broken)
    with pytest.raises(UserError, match="lm.gpus: something ended one of the training processes"):
        run_together(print, 2)


def test_the_processes_end_with_a_parent_that_was_killed(folder):
    places = map(str, (os.pathsep.join(search_path()), folder, folder / "pids"))
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


# --- several nodes: two launchers on two addresses of this machine

# What srun does, with two addresses of this machine for nodes: standard input goes to all tasks.
SRUN = """#!/bin/sh
input=$(mktemp)
cat > "$input"
echo "$@" > "$SRUN_ARGUMENTS"
while [ "${1#--}" != "$1" ]; do shift; done
for node in 127.0.0.1 127.0.0.2; do
    SLURMD_NODENAME=$node "$@" < "$input" &
    tasks="$tasks $!"
done
code=0
for task in $tasks; do wait "$task" || code=$?; done
rm "$input"
exit $code
"""
MORTAL = """
import os, signal
from reproduction.lm import pretrain as module

def pretrain_until(update, **arguments):
    train_on = module.train_on

    def train_or_die(run, number, rate):
        if number == update and run.team.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return train_on(run, number, rate)

    module.train_on = train_or_die
    module.pretrain(**arguments)
"""
STEPS = 16
SETTINGS = TINY | {"batch": 9, "micro_batch": 3, "steps": STEPS}
SETTINGS |= {"dropout": 0.0, "attention_dropout": 0.0}


@pytest.fixture
def cluster(tmp_path, monkeypatch) -> Path:
    """A folder for a job of two nodes; its srun writes its arguments to the file `srun.txt`."""
    program = tmp_path / "bin" / "srun"
    program.parent.mkdir()
    program.write_text(SRUN)
    program.chmod(0o755)
    (tmp_path / "mortal.py").write_text(MORTAL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("SRUN_ARGUMENTS", str(tmp_path / "srun.txt"))
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURMD_NODENAME", "127.0.0.1")
    if sys.platform == "linux":
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    return tmp_path


def test_two_nodes_train_what_one_process_does_and_resume_when_one_is_killed(cluster):
    from mortal import pretrain_until

    make_shards(cluster)
    arguments = {
        "shards": cluster / "shards",
        "vocabulary": cluster / "vocabulary",
        "settings": PretrainSettings(**SETTINGS),
        "name": "test",
        "seed": 1,
        "state_dir": cluster / "state",
        "checkpoint_updates": 5,
    }
    pretrain(**arguments, output=cluster / "alone")
    arguments["output"] = cluster / "nodes"
    with pytest.raises(UserError, match=r"^lm\.gpus: signal 9 ended one .* \(on 127\.0\.0\.2\)$"):
        run_together(pretrain_until, 1, nodes=2, threads=3, update=12, **arguments)
    asked = (cluster / "srun.txt").read_text()
    assert asked.startswith("--nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=3 ")
    assert not (cluster / "nodes").exists()
    assert (cluster / "state" / "update-000000010.pt").exists()

    run_together(pretrain, 1, nodes=2, **arguments)
    assert not (cluster / "state").exists()
    alone, nodes = (load_file(cluster / name / "model.safetensors") for name in ("alone", "nodes"))
    for name, weights in alone.items():
        assert torch.allclose(weights, nodes[name], atol=1e-4), name
    assert len(pd.read_parquet(cluster / "nodes" / "training_log.parquet")) == STEPS


def test_what_srun_cannot_do_is_one_line(cluster):
    (cluster / "bin" / "srun").write_text(
        "#!/bin/sh\necho 'srun: error: no\nsuch node' >&2; exit 1\n"
    )
    told = r"^lm\.nodes: srun failed \(srun: error: no such node\)$"
    with pytest.raises(UserError, match=told):
        run_together(print, 1, nodes=2)


def test_several_nodes_need_a_job_of_slurm(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UserError, match=r"^lm\.nodes: 2, but this is no job of SLURM"):
        run_together(print, 1, nodes=2)
