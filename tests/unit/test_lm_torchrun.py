"""Several processes train one model; what happens to one of them is said by the job."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time

import pandas as pd
import psutil
import pytest

from lm_samples import TINY, make_shards
from reproduction.lm import torchrun as module
from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.torchrun import end_with_parent, pretrain_together
from sagevocab.errors import UserError


def test_two_processes_train_the_model_of_one(tmp_path):
    """Each has half of the rows; without dropout, the weights are equal to the byte."""
    make_shards(tmp_path)
    no_dropout = {"dropout": 0.0, "attention_dropout": 0.0}
    call = {
        "shards": tmp_path / "shards",
        "vocabulary": tmp_path / "vocabulary",
        "settings": PretrainSettings(**TINY | no_dropout),
        "name": "x",
        "seed": 1,
    }
    for processes, train in ((1, pretrain), (2, lambda **how: pretrain_together(2, **how))):
        output = tmp_path / str(processes)
        train(**call, output=output, state_dir=output.with_suffix(".state"))
        assert f"{processes} x CPU in fp32" in (output / "README.md").read_text(encoding="utf-8")
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in "12")
    assert one == two
    logs = [pd.read_parquet(tmp_path / name / "training_log.parquet") for name in "12"]
    pd.testing.assert_frame_equal(*(log.drop(columns="seconds") for log in logs), rtol=1e-6)


@pytest.mark.parametrize(
    ("launcher", "message"),
    [
        ("open(sys.argv[1], 'w').write('the reason'); sys.exit(1)", "^the reason$"),
        ("sys.exit(1)", r"^lm\.gpus: 2: one of the training processes ended early"),
        (
            "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'w').write('saved'), "
            "os._exit(1))); os.kill(os.getppid(), signal.SIGTERM); time.sleep(30)",
            "^saved$",
        ),
    ],
    ids=["refused", "killed", "terminated"],
)
def test_the_job_says_how_its_processes_ended(launcher, message, tmp_path, monkeypatch):
    code = f"import os, signal, sys, time; {launcher}"
    command = [sys.executable, "-c", code, str(tmp_path / "error.txt")]
    monkeypatch.setattr(module, "torchrun", lambda processes, call: command)
    (tmp_path / "error.txt").write_text("of the run before")
    with pytest.raises(UserError, match=message):
        pretrain_together(2, settings=PretrainSettings(**TINY), state_dir=str(tmp_path))


def start_and_sleep(started) -> None:
    started.send(subprocess.Popen(["sleep", "600"], preexec_fn=end_with_parent).pid)
    time.sleep(600)


def test_torchrun_ends_when_its_job_is_killed():
    here, there = multiprocessing.Pipe()
    job = multiprocessing.get_context("fork").Process(target=start_and_sleep, args=(there,))
    job.start()
    assert here.poll(60)
    process = psutil.Process(here.recv())
    job.kill()
    process.wait(timeout=60)
    job.join()
