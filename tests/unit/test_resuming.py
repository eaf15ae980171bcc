"""Progress that survives a kill, leftovers of killed processes, and turns."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import numpy as np
import pytest

from reproduction.resuming import ResumableState, remove_leftovers, turn


def test_state_of_another_fingerprint_is_never_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    ResumableState(folder, "one").save("batch", step=np.array(7))
    assert ResumableState(folder, "one").load("batch")["step"] == 7
    assert ResumableState(folder, "two").load("batch") is None
    assert ResumableState(folder, "one").load("batch") is None


def test_damaged_progress_is_discarded_with_a_warning(tmp_path: Path, caplog) -> None:
    folder = tmp_path / "state"
    for broken in ("second.npz", "fingerprint"):
        for name in ("first", "second"):
            ResumableState(folder, "one").save(name, step=np.array(7))
        (folder / broken).write_bytes(b"\xff garbage")
        state = ResumableState(folder, "one")
        assert state.load("first") is state.load("second") is None
        assert [path.name for path in folder.iterdir()] == ["fingerprint"]
    damaged, other = [one.message for one in caplog.records if one.levelname == "WARNING"]
    assert damaged.startswith(f"{folder / 'second.npz'}: is damaged")
    assert other.startswith(f"{folder}: progress of other inputs")


def test_a_kill_amid_a_save_loses_only_that_save(tmp_path: Path, caplog) -> None:
    folder = tmp_path / "state"
    ResumableState(folder, "one").save("batch", step=np.array(7))
    (folder / ".batch.123.partial.npz").write_bytes(b"half")
    assert ResumableState(folder, "one").load("batch")["step"] == 7
    assert {path.name for path in folder.iterdir()} == {"fingerprint", "batch.npz"}
    assert not caplog.records


def test_leftovers_of_killed_processes_go_and_nothing_else(tmp_path: Path) -> None:
    out, others = tmp_path / "a.b", [".a.b.state", ".a-b.12.partial", ".a.b.x.partial", "a.b"]
    for name in [".a.b.12.partial", ".a.b.7.before", ".a.b.12.partial.d", *others]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    others += [".c.12.partial.b", "a.12.partial.b"]
    for name in [".a.12.partial.b", *others[-2:]]:
        (tmp_path / name).touch()
    remove_leftovers(out)
    assert {path.name for path in tmp_path.iterdir()} == set(others)


def test_where_nothing_can_be_locked_the_work_is_done(tmp_path: Path, monkeypatch, caplog) -> None:
    def flock(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with turn(tmp_path / "lock", pytest.fail):
        pass
    assert "lock: cannot be locked (No locks available)" in caplog.text
