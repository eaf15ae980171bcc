from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sagevocab.errors import UserError
from sagevocab.lm import launch as module
from sagevocab.lm.launch import LAUNCHED, launch
from sagevocab.provenance import PACKAGE

# One worker fails, the other waits for it.
WORKER = """
import logging, os, signal
from sagevocab.errors import UserError
from sagevocab.lm.launch import worker
from sagevocab.lm.team import joined_team
with worker() as arguments, joined_team(0) as team:
    logging.getLogger("sagevocab.lm.team").info("process %s is here", team.rank)
    open(f"{arguments['folder']}/{team.rank}", "w").write(str(os.getpid()))
    team.wait()
    if team.rank == 1 and arguments["killed"]:
        os.kill(os.getpid(), signal.SIGKILL)
    if team.rank == 1:
        raise UserError("lm.pretrain.batch: too many")
    while True:
        team.wait()
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("killed", "expected"),
    [
        (False, "lm.pretrain.batch: too many"),
        (True, "lm.gpus: signal 9 ended one of the training processes, and so all of them; "),
    ],
)
def test_an_error_of_one_ends_all_with_one_line(
    killed, expected, tmp_path, monkeypatch, caplog, capfd
):
    (tmp_path / "failing_worker.py").write_text(WORKER)
    (tmp_path / "pids").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    caplog.set_level("INFO")
    with pytest.raises(UserError) as error:
        launch("failing_worker", {"folder": str(tmp_path / "pids"), "killed": killed}, 2)
    assert str(error.value).startswith(expected)
    assert "\n" not in str(error.value)
    told = [(record.name, record.getMessage()) for record in caplog.records]
    assert told == [("sagevocab.lm.team", "process 0 is here")]
    assert capfd.readouterr() == ("", "")
    for path in (tmp_path / "pids").iterdir():
        assert not is_running(int(path.read_text()))


@pytest.fixture
def waiting(tmp_path):
    """A worker of a parent that holds the other end of its standard input."""
    (tmp_path / "arguments.json").write_text("{}")
    script = "import time\nfrom sagevocab.lm.launch import worker\nwith worker(): time.sleep(3600)"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "arguments.json")],
        stdin=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent), LAUNCHED: str(tmp_path)},
    )
    yield process
    process.kill()
    process.wait()


def test_a_worker_ends_with_its_parent(waiting):
    time.sleep(0.3)
    assert waiting.poll() is None
    waiting.stdin.close()
    assert waiting.wait(timeout=60) == 1


def failure(folder: Path, said: str = "", **told) -> Exception:
    (folder / "stderr").write_text(said)
    if told:
        (folder / "error.json").write_text(json.dumps(told))
    return module._error(folder, 1)


def test_what_no_user_did_shows_its_traceback(tmp_path):
    error = failure(tmp_path, clear=False, text="Traceback …\nKeyError: 'x'\n")
    assert type(error) is RuntimeError
    assert "KeyError: 'x'" in str(error)


def test_a_worker_that_the_system_killed_is_told_of(tmp_path):
    error = failure(tmp_path, "  exitcode  : -9 (pid: 77)\n")
    assert type(error) is UserError
    assert "signal 9" in str(error)
    assert "\n" not in str(error)


def test_torchruns_own_failure_shows_what_it_said(tmp_path):
    error = failure(tmp_path, "No such module")
    assert type(error) is RuntimeError
    assert "No such module" in str(error)
