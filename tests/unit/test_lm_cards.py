from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from sagevocab.errors import UserError
from sagevocab.lm import cards
from sagevocab.lm.cards import VISIBLE, claimed_gpus, visible_gpus

HOLDER = """
import os, sys, torch
torch.cuda.device_count = lambda: 3 if "CUDA_VISIBLE_DEVICES" in os.environ else 4
from sagevocab.lm.cards import claimed_gpus
with claimed_gpus(int(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path) -> None:
    """Four cards, as torch's count of devices tells them; locks in a folder of the test's own."""
    monkeypatch.setattr(cards, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(cards, "WAIT_SECONDS", 0.05)
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", counted)


def counted() -> int:
    """What torch counts through NVML: the variable is read again every time."""
    return len(os.environ[VISIBLE].split(",")) if VISIBLE in os.environ else 4


def taken(*counts: int) -> list[str]:
    """What jobs that need so many cards each see, one started after the other."""
    seen = []
    with ExitStack() as jobs:
        for count in counts:
            os.environ.pop(VISIBLE, None)  # every job is a process of its own
            jobs.enter_context(claimed_gpus(count))
            seen.append(os.environ[VISIBLE])
    os.environ.pop(VISIBLE, None)
    return seen


def test_jobs_side_by_side_have_cards_of_their_own():
    assert taken(1, 1, 2) == ["0", "1", "2,3"]
    assert taken(3, 1) == ["0,1,2", "3"]


def test_the_names_are_those_of_the_cards_that_the_user_leaves_visible(monkeypatch):
    monkeypatch.setenv(VISIBLE, "5, GPU-8932f937")
    assert visible_gpus() == ["5", "GPU-8932f937"]
    with claimed_gpus(1):
        assert os.environ[VISIBLE] == "5"
    assert os.environ[VISIBLE] == "5, GPU-8932f937"


@pytest.mark.parametrize(("found", "count"), [(4, 0), (4, 4), (1, 1)])
def test_a_job_that_sees_no_more_than_it_needs_takes_them_as_they_are(found, count, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: found)
    with claimed_gpus(count), claimed_gpus(count):
        assert VISIBLE not in os.environ


def test_fewer_than_needed_are_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UserError, match=r"^lm\.gpus: 2, but torch sees 1 GPU; set lm\.gpus: 1"):
        taken(2)


def test_a_choice_that_would_have_no_effect_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)  # without NVML
    with pytest.raises(UserError, match=r"^lm\.gpus: of 4 GPUs 1 cannot be chosen here"):
        taken(1)


def test_what_was_visible_is_visible_again_after_an_error():
    with pytest.raises(ValueError, match="lost"), claimed_gpus(1):
        raise ValueError("lost")
    assert VISIBLE not in os.environ


@pytest.fixture
def holder(tmp_path):
    """A process with three of the four cards."""
    search = str(Path(cards.__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": search, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.communicate()


def test_a_killed_job_leaves_its_cards_to_one_that_waits(holder, monkeypatch, caplog):
    caplog.set_level("INFO")
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        holder.kill()
        holder.wait()

    monkeypatch.setattr(cards.time, "sleep", wait)
    with claimed_gpus(1):
        assert os.environ[VISIBLE] == "3"
        assert not waits
    with claimed_gpus(2):
        assert os.environ[VISIBLE] == "0,1"
    assert waits
    assert "waiting for 2 of 4 GPUs: other trainings have them" in caplog.text
