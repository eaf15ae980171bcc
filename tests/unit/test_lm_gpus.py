"""Trainings side by side take different GPUs; a torch that has none says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest.mock import Mock

import pytest
import torch

from reproduction.digests import search_path
from reproduction.lm import gpus
from reproduction.lm.gpus import build_for, require_gpus, reserve_gpus
from reproduction.lm.training import choose_device
from sagevocab.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
HOLDER = """
import os, sys, torch
torch.cuda.device_count = lambda: 3 if "CUDA_VISIBLE_DEVICES" in os.environ else 4
from reproduction.lm.gpus import reserve_gpus
reserve_gpus(3)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path) -> None:
    """Four GPUs, and a folder of locks of the test's own."""
    monkeypatch.setattr(gpus, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(gpus, "_LOCKED", [])
    monkeypatch.setenv(VISIBLE, "")  # so that it is put back
    monkeypatch.delenv(VISIBLE)
    monkeypatch.setattr(
        torch.cuda,
        "device_count",
        lambda: len(os.environ[VISIBLE].split(",")) if VISIBLE in os.environ else 4,
    )


def taken(*counts: int, sharers: int = 1) -> list[str]:
    """What jobs that need so many GPUs each see, one started after the other."""
    seen = []
    for count in counts:
        os.environ.pop(VISIBLE, None)  # every job is a process of its own
        reserve_gpus(count, sharers)
        seen.append(os.environ[VISIBLE])
    return seen


@pytest.mark.parametrize(
    ("counts", "names"),
    [((1, 1, 2), ["0", "1", "2,3"]), ((3, 1), ["0,1,2", "3"]), ((4,), ["0,1,2,3"])],
)
def test_jobs_side_by_side_have_different_gpus(counts, names):
    assert taken(*counts) == names


def test_a_job_without_a_free_gpu_is_refused():
    with pytest.raises(UserError, match=r"^lm\.gpus: 2, but other trainings .* leave 1 of 4 GPUs"):
        taken(3, 2)


def test_jobs_that_share_gpus_fill_all_before_they_double():
    assert taken(*[1] * 8, sharers=2) == [*"0123", *"0123"]
    with pytest.raises(UserError, match=r"^lm\.gpus: 1, but other trainings .* leave 0 of 4 GPUs"):
        taken(1, sharers=2)


def test_a_gpu_is_shared_or_not():
    assert taken(1, sharers=2) == ["0"]
    assert taken(3) == ["1,2,3"]
    assert taken(1, sharers=2) == ["0"]
    with pytest.raises(UserError, match="leave 0 of 4 GPUs"):
        taken(1)


def test_gpus_that_the_user_left_visible_keep_their_names(monkeypatch):
    monkeypatch.setenv(VISIBLE, "5, GPU-8932f937")
    reserve_gpus(1)
    assert os.environ[VISIBLE] == "5"


def test_a_batch_systems_choice_is_taken_as_it_is(monkeypatch):
    # Two jobs of a cluster may both call their GPU 0.
    monkeypatch.setenv(VISIBLE, "0")
    for _ in range(2):
        reserve_gpus(1)
        assert os.environ[VISIBLE] == "0"


def test_a_training_on_the_cpu_reserves_nothing():
    reserve_gpus(0)
    assert VISIBLE not in os.environ


def test_fewer_gpus_than_needed_are_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UserError, match=r"^lm\.gpus: 2, but torch sees 1 GPU; set lm\.gpus: 1"):
        reserve_gpus(2)


def test_a_choice_that_would_have_no_effect_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)  # without NVML
    with pytest.raises(UserError, match=r"^lm\.gpus: 1 of 4 GPUs cannot be chosen"):
        reserve_gpus(1)


def test_a_killed_job_leaves_its_gpus_to_others(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(search_path()), "TMPDIR": str(tmp_path)},
    )
    assert process.stdout.readline() == b"ready\n"
    assert taken(1) == ["3"]
    process.kill()
    process.communicate()
    assert taken(2) == ["0,1"]


# --- the card and the build of torch

TOO_OLD = "The NVIDIA driver on your system is too old (found version 12020). Please update it"
NO_DRIVER = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"


@pytest.fixture
def torch_of(monkeypatch):
    """Make torch a build for a release of CUDA; with an error, one that cannot use a GPU."""

    def make(cuda: str | None, error: str | None = None) -> None:
        monkeypatch.setattr(torch.version, "cuda", cuda)
        for name in ("init", "set_device"):
            problem = RuntimeError(error) if error else None
            monkeypatch.setattr(torch.cuda, name, Mock(side_effect=problem))

    return make


@pytest.mark.parametrize(
    ("cuda", "error", "told"),
    [
        (None, None, r"torch \S+ is a build for the CPU: install PyTorch's cu130 build, or cu126 "),
        ("13.0", NO_DRIVER, "torch sees no GPU: Found no NVIDIA driver on your system.*nvidia-smi"),
        ("13.0", TOO_OLD, r"too old for \S+ \S+ \(CUDA 13.0 needs 580 or newer\).*cu126 build"),
        ("12.6", TOO_OLD, r"\(CUDA 12.6 needs 525 or newer\); update it; set lm.gpus: 0"),
        ("13.0", None, "torch sees no GPU; set lm.gpus: 0 to train on the CPU$"),
    ],
)
def test_why_there_is_no_gpu_is_one_line(cuda, error, told, torch_of):
    torch_of(cuda, error)
    with pytest.raises(UserError, match=rf"^lm\.gpus: 1, but .*{told}"):
        require_gpus(1, found=0)


def test_a_driver_that_counts_gpus_and_is_too_old_is_told(torch_of):
    torch_of("13.0", TOO_OLD)
    with pytest.raises(UserError, match=r"^lm\.gpus: cuda:0 cannot be used: .*needs 580"):
        choose_device(1, "auto", 1)


CU126 = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
CU130 = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]


@pytest.mark.parametrize(
    ("capability", "built", "build"),
    [
        ((7, 0), CU126, None),
        ((7, 0), CU130, "cu126"),
        ((8, 9), CU130, None),  # runs what is made for 8.6
        ((9, 0), CU126, None),
        ((12, 0), CU126, "cu130"),
        ((12, 1), CU130, None),
        ((13, 0), CU130, None),  # compiles the last one's
        ((7, 5), ["sm_80", "sm_90a"], "cu126 or cu130"),
    ],
)
def test_a_card_without_kernels_is_told_which_build_has_them(
    capability, built, build, torch_of, monkeypatch
):
    torch_of("13.0")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: built)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    if build is None:
        assert choose_device(1, "auto", 1).precision == "bf16"
        return
    with pytest.raises(
        UserError, match=rf"no kernels for a card .*install PyTorch's {build} build"
    ):
        choose_device(1, "auto", 1)


def test_no_build_serves_the_oldest_cards():
    assert build_for((3, 7)) == ""
