"""Atomic files and resumable state."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import numpy as np
import pytest

from sagevocab.errors import UserError
from sagevocab.state import (
    ResumableState,
    atomic_path,
    fingerprint,
    read_npz,
    remove_leftovers,
    turn,
    write_json,
    write_json_lines,
    write_npz,
)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_equal_values_are_equal_bytes(tmp_path: Path) -> None:
    table = {"piece": ["a", "b"], "count": np.array([1, 2])}
    for name in ("one", "two"):
        write_npz(tmp_path / f"{name}.npz", a=np.arange(3), b=np.zeros((2, 2)))
        write_json_lines(tmp_path / f"{name}.jsonl", table)
    write_json(tmp_path / "one.json", {"b": np.float64(1.5), "a": Path("x/y")})
    write_json(tmp_path / "two.json", {"a": Path("x/y"), "b": 1.5})
    for suffix in ("npz", "jsonl", "json"):
        one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    lines = '{"piece": "a", "count": 1}\n{"piece": "b", "count": 2}\n'
    assert (tmp_path / "one.jsonl").read_text() == lines


def test_a_damaged_file_is_refused_without_advice_to_unpickle_it(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, a=np.arange(1000))
    whole = path.read_bytes()
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, a=np.array([{}], dtype=object))
    for damaged in (
        whole[:200],
        b"",
        b"garbage",
        whole.replace(b"\x05", b"\x06"),
        pickled.read_bytes(),
    ):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"a\.npz: cannot be read \(it is damaged\)") as caught:
            read_npz(path)
        assert "pickle" not in str(caught.value)


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


def test_fingerprints_see_contents_not_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    (tmp_path / "b").write_text("same")
    assert fingerprint(tmp_path / "a", {"k": 1}) == fingerprint(tmp_path / "b", {"k": 1})
    assert fingerprint({"k": 1}) != fingerprint({"k": 2})
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


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
