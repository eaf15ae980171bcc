"""Run the demo while its processes are killed at random; its results must be those of a calm run.

    python tests/soak.py --seed 1 --kills 50 --minutes 30

SIGKILL hits Snakemake, a job or a job's child every few seconds. The run is started again as
docs/reproduce.md says ("Stop and resume"), with no other help, until all is made. Then its results
are compared with those of a run without kills (tests/trees.py), which is made first, kept, and
later brought up to date.

A sitting that runs out of time is continued by the next with the same seed. Everything lies in
build/soak; `kills.log` of a seed tells what was killed when. What is killed is drawn from the seed;
how far the jobs are then depends on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from trees import differences

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/soak"
OPTIONS = ["--cores=2", "--scheduler=greedy", "--quiet=rules"]  # as `make demo`
GRACE = 60.0  # seconds that Snakemake has to end after Ctrl-C
JOB = ".snakemake/scripts/"  # in the command line of a job


class SoakError(Exception):
    """The run did not resume by itself, or its results differ."""


@dataclass(frozen=True)
class Plan:
    """What to run and when to kill.

    kills: at most, in all sittings of a seed. every: mean seconds between kills. end: when to stop,
    by `time.monotonic`. configs: the files of the run's configuration.
    """

    configs: tuple[Path, ...]
    end: float
    seed: int = 0
    kills: int = 0
    every: float = 7.0


class Sitting:
    """A run in a folder: start, kill, unlock, start again."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Continue in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.starts, self._plan = folder, 0, plan
        self._record = folder / "kills.log"
        self._draw = random.Random(f"{plan.seed} {self.killed}")
        self._sessions: set[int] = set()

    @property
    def killed(self) -> int:
        """Kills in this folder, over all sittings."""
        return self._record.read_text().count("\n") if self._record.exists() else 0

    def run(self) -> bool:
        """Run until all is made, or time is up; return whether all is made.

        Raises:
            SoakError: Snakemake stopped, and nothing was killed since it started.
        """
        try:
            return self._run()
        finally:
            for process in processes(self._sessions):  # orphans
                process.kill()

    def _run(self) -> bool:
        while True:
            if (self.folder / ".snakemake/locks").exists():  # of a Snakemake that was killed
                self._call("--unlock").wait()
            # A job of theirs that still works would refuse a second one of the same files.
            psutil.wait_procs(processes(self._sessions), max(0, self._plan.end - time.monotonic()))
            before = self.killed
            code = self._start()
            if code == 0 or time.monotonic() > self._plan.end:
                return code == 0
            if self.killed == before:
                raise SoakError(
                    f"Snakemake ended by itself with code {code}; see {self.folder}/output.log"
                )

    def snakemake(self, output: str = "output.log") -> subprocess.Popen:
        """Start the run, in a session of its own; its output is appended to a file."""
        configs = ["--configfile", *map(str, self._plan.configs)]
        return self._call(*OPTIONS, *configs, "--", "all", output=output)

    def _call(self, *arguments: str, output: str = "output.log") -> subprocess.Popen:
        with (self.folder / output).open("a") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "snakemake", f"--directory={self.folder}", *arguments],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _start(self) -> int:
        """Run Snakemake once and kill meanwhile; return its exit code."""
        self.starts += 1
        main = self.snakemake()
        self._sessions.add(main.pid)
        try:
            self._watch(main)
        finally:
            if main.poll() is None:
                stop(main)
        return main.wait()

    def _watch(self, main: subprocess.Popen) -> None:
        """Kill at random moments until Snakemake ends or time is up.

        The first is drawn when jobs work: on a busy machine planning takes long, and no run would
        come further.
        """
        moment = math.inf
        while main.poll() is None and time.monotonic() < self._plan.end:
            time.sleep(0.5 if moment == math.inf else 0.05)
            if moment == math.inf and any(map(is_job, processes(self._sessions))):
                moment = self._moment()
            if time.monotonic() > moment and self.killed < self._plan.kills:
                self._kill(main)
                moment = self._moment()

    def _moment(self) -> float:
        return time.monotonic() + self._draw.expovariate(1 / self._plan.every)

    def _kill(self, main: subprocess.Popen) -> None:
        """Kill Snakemake, a job or a job's child: each kind as likely."""
        kinds: dict[str, list[psutil.Process]] = {}
        for process in processes(self._sessions):
            kinds.setdefault(kind_of(process, main.pid), []).append(process)
        kind = self._draw.choice(sorted(kinds))
        victim = self._draw.choice(kinds[kind])
        with contextlib.suppress(psutil.NoSuchProcess):
            line = " ".join(victim.cmdline())[-60:]
            victim.kill()
            with self._record.open("a") as file:
                file.write(f"{time.strftime('%H:%M:%S')} {kind} {victim.pid} {line!r}\n")


def processes(sessions: set[int]) -> Iterator[psutil.Process]:
    """Yield the living processes of some sessions, by number; orphans keep their session."""
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            living = process.status() != psutil.STATUS_ZOMBIE
            if living and os.getsid(process.pid) in sessions:
                yield process


def kind_of(process: psutil.Process, main: int) -> str:
    """Return what a process is: snakemake, a job, or a job's child."""
    if process.pid == main:
        return "snakemake"
    if not is_job(process):
        return "child"
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = process.parent()
        return "child" if parent is not None and is_job(parent) else "job"
    return "job"


def is_job(process: psutil.Process) -> bool:
    """Return whether a process is a job, or forked from one; its shell is not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name().startswith("python") and JOB in " ".join(process.cmdline())
    return False


def stop(main: subprocess.Popen) -> None:
    """End Snakemake and its jobs as Ctrl-C does."""
    os.killpg(main.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        main.wait(GRACE)
        return
    os.killpg(main.pid, signal.SIGKILL)


def soak(plan: Plan) -> str:
    """Run a sitting; return what came of it.

    Raises:
        SoakError: a start needed help, or results differ.
    """
    late = f"time is up; the same command resumes with seed {plan.seed}"
    print("The run without kills: made once, then kept in build/soak.", flush=True)
    calm = Sitting(FOLDER / "unbroken", replace(plan, kills=0))
    if not calm.run():
        return late
    sitting = Sitting(FOLDER / f"seed-{plan.seed}", plan)
    print(f"Killing; {sitting.folder}/kills.log tells what.", flush=True)
    whole = sitting.run()
    done = f"seed {plan.seed}: {sitting.killed} kills, {sitting.starts} starts in this sitting"
    if not whole:
        return f"{done}; {late}"
    (run,) = (path.name for path in (calm.folder / "results").iterdir())
    found = differences(calm.folder / "results" / run, sitting.folder / "results" / run)
    if found:
        raise SoakError("\n".join([f"{done}; {len(found)} files differ:", *found]))
    sitting.snakemake(output="again.log").wait()
    if "Nothing to be done" not in (sitting.folder / "again.log").read_text():
        raise SoakError(f"{done}; a further run finds work to do; see {sitting.folder}/again.log")
    return f"{done}; all is made, and no file differs"


def main() -> None:
    """Run a sitting from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=50, help="at most, over all sittings")
    parser.add_argument("--every", type=float, default=7, help="mean seconds between kills")
    parser.add_argument("--minutes", type=float, default=30, help="of this sitting, at most")
    demo = [ROOT / "config/demo.yaml"]
    parser.add_argument("--configs", type=Path, nargs="+", default=demo, help="in place of demo")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    configs = tuple(path.resolve() for path in asked.configs)
    try:
        print(soak(Plan(configs, end, asked.seed, asked.kills, asked.every)))
    except SoakError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
