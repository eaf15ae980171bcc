"""Work in a forked process that is killed at a planned moment."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sagevocab
from sagevocab import state


@dataclass(frozen=True)
class Plan:
    """When to kill: `value` seconds after the start, or amid write number `value` to a path.

    where: what is in that path; empty for a kill by the clock. Writes are counted from 0.
    """

    value: float
    where: str = ""


NEVER = Plan(1e9)


def run_as_program(module: str, folder: Path, seconds: float) -> None:
    """Run a test module as a program on a folder; fail with what it prints if it fails.

    Forks must not come from the process of the tests, whose threads they would lack.
    """
    places = Path(__file__).parent, Path(sagevocab.__file__).parents[1]
    path = os.pathsep.join(map(str, places))
    done = subprocess.run(
        [sys.executable, module, str(folder)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr


def run_once(work: Callable[[], object], plan: Plan) -> bool:
    """Work in a forked process and kill it as planned; tell whether it was killed.

    Raises:
        RuntimeError: the work failed by itself.
    """
    if child := os.fork():
        timer = threading.Timer(plan.value, os.kill, (child, signal.SIGKILL))
        if not plan.where:
            timer.start()
        _, status = os.waitpid(child, 0)
        timer.cancel()
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise RuntimeError(f"a training run that was not killed failed, after {plan}")
        return os.WIFSIGNALED(status)
    code = 1
    try:
        if plan.where:
            _die_at_write(int(plan.value), plan.where)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _path_of(file: int) -> str:
    """Return the path of an open file, on Linux or macOS."""
    if sys.platform == "darwin":
        return fcntl.fcntl(file, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    return os.readlink(f"/proc/self/fd/{file}")


def _die_at_write(number: int, where: str) -> None:
    """Kill this process amid its write with this number, counted from 0, to a path with `where`."""
    left = [number]

    def fsync(file: int) -> None:
        path = _path_of(file)
        if where in path:
            left[0] -= 1
            if left[0] < 0:
                os.truncate(path, os.stat(path).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)

    state.os.fsync = fsync
