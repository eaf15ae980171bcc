from __future__ import annotations

import pytest
import torch

from sagevocab.errors import UserError
from sagevocab.lm import memory
from sagevocab.lm.memory import GIB, check_memory, free_memory, job_limit
from sagevocab.lm.training import memory_for
from sagevocab.state import write_text

CPU = torch.device("cpu")


@pytest.mark.parametrize(("processes", "fits"), [(1, True), (2, False)])
def test_a_model_that_can_not_fit_is_refused_before_it_is_made(processes, fits, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: 20 * GIB)
    weights = GIB  # 16 GiB with gradients and moments
    if fits:
        check_memory(weights, CPU, processes)
        return
    with pytest.raises(UserError) as error:
        check_memory(weights, CPU, processes)
    assert str(error.value).startswith("lm.pretrain.layers, hidden: 1,074 M weights need 32.0 GiB")
    assert "cpu has 20.0 GiB free" in str(error.value)


def test_where_nothing_is_known_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: None)
    check_memory(10**15, CPU, 1)


def test_the_cpus_free_memory_is_told():
    found = free_memory(CPU)
    assert found is None or 2**20 < found < 2**50


@pytest.mark.parametrize(
    ("membership", "limits", "expected"),
    [
        ("0::/job/step\n", {"job/memory.max": "4096", "job/step/memory.max": "max"}, 4096),
        ("0::/job/step\n", {"job/memory.max": "max"}, None),
        (
            "9:cpu:/\n4:memory:/job\n0::/\n",
            {"memory/job/memory.limit_in_bytes": "8192", "memory/memory.limit_in_bytes": 2**63 - 1},
            8192,
        ),
        ("", {}, None),
    ],
)
def test_the_limit_of_a_batch_job_is_the_tightest_of_its_groups(
    membership, limits, expected, tmp_path
):
    for name, text in limits.items():
        write_text(tmp_path / name, f"{text}\n")
    write_text(tmp_path / "own", membership)
    assert job_limit(tmp_path / "own", tmp_path) == expected


def test_a_job_has_no_more_than_its_limit(monkeypatch):
    monkeypatch.setattr(memory, "job_limit", lambda: 4096)
    assert free_memory(CPU) == 4096
    monkeypatch.setattr(memory, "_available_memory", lambda: None)
    monkeypatch.setattr(memory, "job_limit", lambda: None)
    assert free_memory(CPU) is None


def test_too_large_a_tensor_on_the_cpu_names_the_key():
    with (
        pytest.raises(UserError, match=r"^lm\.pretrain\.micro_batch: too little memory"),
        memory_for("lm.pretrain.micro_batch"),
    ):
        torch.empty(2**55)


def test_another_error_stays_what_it_is():
    with pytest.raises(RuntimeError, match="something else"), memory_for("lm.pretrain.micro_batch"):
        raise RuntimeError("something else")
