"""What no run can help: full disks and kills. A clear line, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Run, start_snakemake
from .test_failures import error_lines

TEXT = "corpus/en.sentences.txt.zst"  # what the job of these tests makes, rule extract_corpus


@pytest.fixture(scope="module")
def faulty(tiny) -> Callable[[str], tuple[str, ...]]:
    """Arguments for the smallest run: one job, on enough text to be stopped in it."""
    lines = (tiny.checkout / "text.txt").read_text(encoding="utf-8") * 40
    (tiny.checkout / "long.txt").write_text(lines, encoding="utf-8")

    def arguments(name: str) -> tuple[str, ...]:
        source = "language_settings: {en: {source: {path: long.txt}}}"
        (tiny.checkout / f"{name}.yaml").write_text(f"run: {name}\n{source}\n")
        files = ("--configfile", "tiny.yaml", f"{name}.yaml")
        return (*files, "--", f"results/{name}/{TEXT}")

    return arguments


@pytest.fixture
def snakemake(tiny) -> Callable[..., Run]:
    """Run snakemake with some arguments in the checkout."""

    def run(*arguments: str) -> Run:
        return finished(start_snakemake(tiny.checkout, arguments))

    return run


def finished(process: subprocess.Popen) -> Run:
    """Wait for a process."""
    out, err = process.communicate()
    return Run(process.args, process.returncode, out, err)


@pytest.fixture
def disk(tiny) -> Iterator[Callable[[str, str], None]]:
    """Mount a small disk as the folder of a run's results, or mount it again with other options."""
    mounted = []

    def mount(name: str, options: str) -> None:
        folder = tiny.checkout / "results" / name
        folder.mkdir(parents=True, exist_ok=True)
        again = "remount," if folder in mounted else ""
        call = ["mount", "-t", "tmpfs", "-o", again + options, "tmpfs", str(folder)]
        try:
            subprocess.run(call, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("only root may mount a disk, and not in every container")
        mounted.append(folder)

    yield mount
    for folder in set(mounted):
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_reported_and_the_run_resumes_with_more_room(
    disk, faulty, snakemake
) -> None:
    disk("full", "size=64k")
    run = snakemake(*faulty("full"))
    (line,) = error_lines(run)
    assert "No space left on device); make room" in line
    assert "Traceback" not in run.stderr
    disk("full", "size=20m")
    assert snakemake(*faulty("full")).returncode == 0


def test_results_that_cannot_be_written_are_reported_at_once(disk, faulty, snakemake) -> None:
    disk("fixed", "ro")
    run = snakemake(*faulty("fixed"))
    assert run.returncode != 0
    assert "Read-only file system" in run.stderr
    assert "results/fixed" in run.stderr


def working_job(checkout: Path) -> int:
    """Return the process number of a job, when it works."""
    for _ in range(12_000):
        # What earlier jobs have left names processes that have ended.
        locks = [path.read_text() for path in checkout.glob(".snakemake/sagevocab/extract_*")]
        working = [int(lock.split()[0]) for lock in locks if lock]
        if found := [number for number in working if Path(f"/proc/{number}").exists()]:
            return found[0]
        time.sleep(0.01)
    raise AssertionError("no job has begun")


def test_two_runs_at_once_and_what_a_killed_one_leaves(tiny, faulty, snakemake) -> None:
    arguments = faulty("twice")
    first = start_snakemake(tiny.checkout, arguments)
    job = working_job(tiny.checkout)
    os.kill(job, signal.SIGSTOP)
    try:
        second = snakemake(*arguments)
        assert second.returncode != 0
        assert "cannot be locked" in second.stderr
        first.kill()
        assert snakemake("--unlock", *arguments).returncode == 0
        third = snakemake(*arguments)
        assert third.returncode != 0
        assert f"extract_corpus: process {job} on " in third.stderr
        assert f"(kill {job})" in third.stderr
    finally:
        os.kill(job, signal.SIGKILL)
    last = snakemake(*arguments)
    assert last.returncode == 0, last.stderr
