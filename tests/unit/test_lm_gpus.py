"""Trainings side by side take different GPUs."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest
import torch

from reproduction.lm import gpus
from reproduction.lm.gpus import reserve_gpus
from sagevocab.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path) -> None:
    """Four GPUs, and a folder of locks of the test's own."""
    monkeypatch.setattr(gpus, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(gpus, "_LOCKED", [])
    monkeypatch.setenv(VISIBLE, "")  # so that it is restored
    monkeypatch.delenv(VISIBLE)
    monkeypatch.setattr(
        torch.cuda,
        "device_count",
        lambda: len(os.environ[VISIBLE].split(",")) if VISIBLE in os.environ else 4,
    )


def taken(*counts: int) -> list[str]:
    """What jobs that need so many GPUs each see, one started after the other."""
    seen = []
    for count in counts:
        os.environ.pop(VISIBLE, None)  # every job is a process of its own
        reserve_gpus(count)
        seen.append(os.environ[VISIBLE])
    return seen


@pytest.mark.parametrize(
    ("counts", "names"),
    [((1, 1, 2), ["0", "1", "2,3"]), ((3, 1), ["0,1,2", "3"]), ((4,), ["0,1,2,3"])],
)
def test_jobs_side_by_side_have_different_gpus(counts, names):
    assert taken(*counts) == names


def test_a_job_without_a_free_gpu_is_refused():
    with pytest.raises(UserError, match=r"^lm\.gpus: 2, .*1 of 4 GPUs"):
        taken(3, 2)


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


def test_fewer_gpus_than_needed_are_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UserError, match=r"^lm\.gpus: 2, .*set lm\.gpus: 1"):
        reserve_gpus(2)


def test_a_choice_that_would_have_no_effect_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)  # without NVML
    with pytest.raises(UserError, match=r"^lm\.gpus: 1 of 4 GPUs"):
        reserve_gpus(1)


def reserve_and_sleep(reserved) -> None:
    reserve_gpus(3)
    reserved.set()
    time.sleep(600)


def test_a_killed_job_leaves_its_gpus_to_others():
    forks = multiprocessing.get_context("fork")
    reserved = forks.Event()
    job = forks.Process(target=reserve_and_sleep, args=(reserved,))
    job.start()
    assert reserved.wait(60)
    assert taken(1) == ["3"]
    job.kill()
    job.join()
    assert taken(2) == ["0,1"]
