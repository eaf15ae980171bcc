"""Files that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sagevocab.errors import UserError
from sagevocab.files import (
    atomic_path,
    fingerprint,
    read_npz,
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


def test_fingerprints_see_contents_not_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    (tmp_path / "b").write_text("same")
    assert fingerprint(tmp_path / "a", {"k": 1}) == fingerprint(tmp_path / "b", {"k": 1})
    assert fingerprint({"k": 1}) != fingerprint({"k": 2})
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
