"""Run the demo while its processes are killed at random; its results must be those of a calm run.

    python tests/soak.py --seed 1 --kills 50

SIGKILL hits Snakemake, a job or a job's child every few seconds. The run is started again as
docs/reproduce.md says ("Stop and resume"), with no other help, until all is made. Then its results
are compared with those of a run without kills (tests/trees.py).

Everything lies in build/soak. What was finished there is kept, so the same command resumes after
Ctrl-C. What is killed is drawn from the seed; how far the jobs are then depends on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from trees import differences

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/soak"
OPTIONS = ["--cores=2", "--scheduler=greedy", "--quiet=rules"]  # as `make demo`
JOB = ".snakemake/scripts/"  # in the command line of a job


class SoakError(Exception):
    """The run did not resume by itself, or its results differ."""


class Run:
    """The demo in a folder: started, killed, unlocked and started again until all is made."""

    def __init__(self, folder: Path, config: Path, every: float, seed: int) -> None:
        """every: mean seconds between kills."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.killed = folder, 0
        self._config, self._every, self._draw = config, every, random.Random(seed)
        self._sessions: set[int] = set()

    def finish(self, kills: int) -> None:
        """Run until all is made, with at most so many kills on the way.

        Raises:
            SoakError: Snakemake stopped, and nothing was killed since it started.
        """
        try:
            while True:
                if (self.folder / ".snakemake/locks").exists():  # of a Snakemake that was killed
                    self.start("--unlock").wait()
                # A job that still works would refuse a second one of the same files.
                psutil.wait_procs(processes(self._sessions))
                before, main = self.killed, self.start()
                self._kill_until_it_ends(main, kills)
                if main.wait() == 0:
                    return
                if self.killed == before:
                    log = self.folder / "output.log"
                    raise SoakError(f"Snakemake ended with code {main.returncode}; see {log}")
        finally:
            for process in processes(self._sessions):
                process.kill()

    def start(self, *options: str, output: str = "output.log") -> subprocess.Popen:
        """Start Snakemake in a session of its own; its output is appended to a file."""
        command = [sys.executable, "-m", "snakemake", f"--directory={self.folder}", *OPTIONS]
        command += ["--configfile", str(self._config), *options, "--", "all"]
        with (self.folder / output).open("a") as file:
            main = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._sessions.add(main.pid)
        return main

    def _kill_until_it_ends(self, main: subprocess.Popen, kills: int) -> None:
        # On a busy machine planning takes long, and kills during it would let no run come further.
        while main.poll() is None and not any(map(is_job, processes(self._sessions))):
            time.sleep(0.5)
        while main.poll() is None and self.killed < kills:
            time.sleep(self._draw.expovariate(1 / self._every))
            self._kill_one(main)

    def _kill_one(self, main: subprocess.Popen) -> None:
        """Kill Snakemake, a job or a job's child: each kind as likely."""
        kinds: dict[str, list[psutil.Process]] = {}
        for process in processes(self._sessions):
            kinds.setdefault(kind_of(process, main.pid), []).append(process)
        if not kinds:
            return
        kind = self._draw.choice(sorted(kinds))
        victim = self._draw.choice(kinds[kind])
        with contextlib.suppress(psutil.NoSuchProcess):
            line = " ".join(victim.cmdline())[-60:]
            victim.kill()
            self.killed += 1
            print(f"{time.strftime('%H:%M:%S')} {kind} {victim.pid} {line!r}", flush=True)


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
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = process.parent()
        is_forked = parent is not None and is_job(parent)
        return "job" if is_job(process) and not is_forked else "child"
    return "child"


def is_job(process: psutil.Process) -> bool:
    """Return whether a process is a job, or forked from one; its shell is not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name().startswith("python") and JOB in " ".join(process.cmdline())
    return False


def soak(config: Path, kills: int, every: float, seed: int) -> str:
    """Run with and without kills and compare; return what was done.

    Raises:
        SoakError: a start needed help, results differ, or a further run finds work to do.
    """
    calm, killed = (
        Run(FOLDER / name, config, every, seed) for name in ("unbroken", f"seed-{seed}")
    )
    print("The run without kills", flush=True)
    calm.finish(kills=0)
    print("The run with kills", flush=True)
    killed.finish(kills)
    [run] = (path.name for path in (calm.folder / "results").iterdir())
    found = differences(calm.folder / "results" / run, killed.folder / "results" / run)
    if found:
        raise SoakError("\n".join([f"{len(found)} files differ:", *found]))
    killed.start(output="again.log").wait()
    if "Nothing to be done" not in (killed.folder / "again.log").read_text():
        raise SoakError(f"a further run finds work to do; see {killed.folder}/again.log")
    return f"seed {seed}: {killed.killed} kills; all is made, and no file differs"


def main() -> None:
    """Soak from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=50, help="at most")
    parser.add_argument("--every", type=float, default=7, help="mean seconds between kills")
    parser.add_argument("--config", type=Path, default=ROOT / "config/demo.yaml")
    given = parser.parse_args()
    try:
        print(soak(given.config.resolve(), given.kills, given.every, given.seed))
    except SoakError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
