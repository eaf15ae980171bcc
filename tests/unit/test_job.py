"""The frame of a rule's script: log, lock, one line for a mistake, kept trainings, manifest."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from reproduction import manifest as manifests
from reproduction.digests import PACKAGES
from reproduction.job import job
from reproduction.manifest import git_commit, read_manifest
from sagevocab.errors import UserError
from sagevocab.files import file_digest

MANIFEST = Path("results/r/manifest.json")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch) -> None:
    """Results and locks lie in the working directory."""
    monkeypatch.chdir(tmp_path)


class Params(SimpleNamespace):
    """As Snakemake's: attributes, and a mapping."""

    def get(self, name: str, default: object = None) -> object:
        return getattr(self, name, default)

    def items(self):  # noqa: ANN201
        return vars(self).items()


def rule(name: str = "figure_x", **params: object) -> SimpleNamespace:
    """A job of a rule with two outputs; its log is in the folder of a run."""
    folder = Path("results/r")
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "in.txt").write_text("input")
    return SimpleNamespace(
        rule=name,
        log=[str(folder / f"logs/{name}.log")],
        params=Params(**params),
        input=[str(folder / "in.txt")],
        output=[str(folder / f"figures/{name}.{form}") for form in ("pdf", "png")],
        wildcards=Params(lang="en"),
        threads=1,
    )


def make(made: SimpleNamespace, text: str = "whole") -> bool:
    """Do a job; return whether its step had to be done."""
    done = False
    with suppress(SystemExit), job(made):
        done = True
        for path in map(Path, made.output):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return done


def log_of(made: SimpleNamespace) -> str:
    return Path(made.log[0]).read_text() if Path(made.log[0]).exists() else ""


def test_a_job_logs_and_its_progress_lies_beside_the_results_and_ends_with_it() -> None:
    made = rule()
    with job(made) as progress:
        print("to the log")
        progress.mkdir(parents=True)
        assert progress == Path("results/r/.state/figure_x")
    assert log_of(made) == "to the log\n"
    assert not progress.exists()


def test_a_failure_keeps_the_progress() -> None:
    with pytest.raises(SystemExit), job(rule()) as progress:
        progress.mkdir(parents=True)
        raise UserError("one line")
    assert progress.exists()


# --- the manifest


def test_every_job_has_an_entry_in_the_manifest() -> None:
    for name in ("figure_x", "figure_y"):
        make(rule(name, code="12ab", seed=3, caption="left out"))
    jobs = read_manifest(MANIFEST)["jobs"]
    assert list(jobs) == ["figure_x lang=en", "figure_y lang=en"]
    entry = jobs["figure_x lang=en"]
    assert (entry["code"], entry["settings"]) == ("12ab", {"seed": 3})
    assert entry["sha256"] == {path: file_digest(path) for path in rule().output}
    [environment] = read_manifest(MANIFEST)["environments"].values()
    assert environment["packages"] and environment["git_commit"] == git_commit()


def test_entries_of_files_that_are_gone_or_made_by_another_job_go() -> None:
    for name in ("figure_x", "figure_y"):
        make(rule(name))
    for path in rule("figure_y").output:
        Path(path).unlink()
    other = rule("renamed")
    other.output = rule("figure_x").output
    make(other)
    assert list(read_manifest(MANIFEST)["jobs"]) == ["renamed lang=en"]


def test_a_commit_is_dirty_by_edits_but_not_by_results(tmp_path: Path, monkeypatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    for name in ("results/claims.md", "library/code.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("first")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    monkeypatch.setattr(manifests, "__file__", str(tmp_path / "library/manifest.py"))
    clean = git_commit()
    (tmp_path / "results/claims.md").write_text("second")
    assert git_commit() == clean
    (tmp_path / "library/code.py").write_text("second")
    assert git_commit() == f"{clean}-dirty"


# --- trainings


def training(**params: object) -> SimpleNamespace:
    """A job of a training, whose outputs Snakemake has removed."""
    made = rule("pretrain", **{"version": 1, "free": {"gpus": 0}, **params})
    for path in map(Path, made.output):
        path.unlink(missing_ok=True)
    return made


def test_a_training_is_not_repeated_where_nothing_that_decides_it_changed(capsys) -> None:
    assert make(training())
    before = time.time() - 1
    again = training(free={"gpus": 4})
    assert not make(again, "other")
    assert "delete results/r/.state/pretrain.kept" in capsys.readouterr().err
    assert {Path(path).read_text() for path in again.output} == {"whole"}
    assert Path(again.output[0]).stat().st_mtime > before
    assert read_manifest(MANIFEST)["jobs"]["pretrain lang=en"]["sha256"]


def test_a_training_is_repeated_for_other_settings_versions_texts_and_damaged_files() -> None:
    assert make(training())
    assert make(training(seed=2))
    assert make(training(seed=2, version=2))
    changed = training(seed=2, version=2)
    Path(changed.input[0]).write_text("another text")
    assert make(changed)
    changed = training(seed=2, version=2)
    Path(changed.input[0]).write_text("another text")
    Path("results/r/.state/pretrain.kept/pretrain.pdf").write_text("cut")
    assert make(changed)


# --- mistakes


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("corpus.txt:3: not UTF-8;\n convert it"), "corpus.txt:3: not UTF-8; convert it"),
        (OSError(errno.ENOSPC, "No space left on device", "results/a"), "results/a: "),
        (MemoryError(), "set-resources: {figure_x: {mem_mb: MB}}"),
        (BrokenExecutor(), "set-resources: {figure_x: {mem_mb: MB}}"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_no_entry(capsys, error, line) -> None:
    made = rule()
    with pytest.raises(SystemExit) as caught, job(made):
        raise error
    given = capsys.readouterr().err
    assert (caught.value.code, given.count("\n")) == (1, 1)
    assert given.startswith("error: figure_x: ")
    assert line in given
    assert line in log_of(made)
    assert not MANIFEST.exists()


def test_the_log_keeps_the_traceback_of_a_defect() -> None:
    made = rule()
    with pytest.raises(ZeroDivisionError), job(made):
        1 / 0  # noqa: B018
    assert "ZeroDivisionError" in log_of(made)


# A job in a process of its own: it says that it has begun, and ends when the file `end` is there.
JOB = """
import time
from pathlib import Path
from test_job import make, rule
from reproduction.job import job

made = rule()
with job(made):
    Path("begun").touch()
    while not Path("end").exists():
        time.sleep(0.01)
"""


@pytest.fixture
def orphan():
    """A job of another process, at work."""
    places = [Path(__file__).parent, *(path.parent for path in PACKAGES.values())]
    process = subprocess.Popen(
        [sys.executable, "-c", JOB],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
    )
    while not Path("begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait(30)


def test_a_second_job_of_the_same_files_ends_with_the_way_to_end_the_first(orphan, capsys) -> None:
    assert not make(rule())
    line = capsys.readouterr().err
    assert line.startswith(f"error: figure_x: process {orphan.pid} on ")
    assert f"(kill {orphan.pid})" in line and line.count("\n") == 1
    assert make(rule("figure_y"))
    Path("end").touch()
    assert orphan.wait(30) == 0
    assert make(rule())


def test_a_killed_job_holds_nothing_and_its_partial_files_go(orphan) -> None:
    leftover = Path(f"results/r/figures/.figure_x.{orphan.pid}.partial.pdf")
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_text("half")
    orphan.kill()
    orphan.wait(30)
    assert make(rule())
    assert not leftover.exists()


def test_ctrl_c_ends_a_job_without_a_traceback():
    # A process that starts in the background of a shell would ignore it.
    code = (
        "import reproduction, os, signal as s; s.signal(s.SIGINT, s.default_int_handler); "
        "os.kill(os.getpid(), s.SIGINT)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
