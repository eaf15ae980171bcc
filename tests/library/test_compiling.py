"""What is compiled is compiled in a stage of its own, and kept where a folder can be written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numba
import pytest

import sagevocab
from sagevocab.compiling import meet_compiled, provide_cache
from sagevocab.progress import Progress

OURS = str(Path(sagevocab.__file__).parents[1])
# Prints what a training run compiled, or loaded from disk, after the few words.
TRAINING = """
import json, sys
from numba.core.registry import CPUDispatcher
import sagevocab.training as training

def met():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("sagevocab")]
    values = [value for module in modules for value in vars(module).values()]
    functions = {value for value in values if isinstance(value, CPUDispatcher)}
    return {f"{f.py_func.__qualname__}{types}" for f in functions for types in f.signatures}

def train_a_few_words(*settings):
    original(*settings)
    few.update(met())

few, original = set(), training._train_a_few_words
training._train_a_few_words = train_a_few_words
preset, decoder = sys.argv[1:]
lines = [f"b{a}n{c}a {a}an{c} na{a}a {c}" for a in "abcd" for c in "xyz"] * 9
training.train(
    lines, vocab_size=30, initial_size=40, preset=preset, threads=2, vocabulary={"ascii": False},
    sage={"decoder": decoder, "prune_batch": 2, "candidates": 6, "rerank_every": 2},
    word2vec={"epochs": 2, "dimension": 8},
)
print(json.dumps([len(few), sorted(met() - few)]))
"""


@pytest.mark.parametrize(("preset", "decoder"), [("printed", "greedy"), ("released", "merges")])
def test_a_few_words_meet_all_that_training_meets(preset: str, decoder: str) -> None:
    command = [sys.executable, "-c", TRAINING, preset, decoder]
    environment = {**os.environ, "PYTHONPATH": OURS}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    met, more = json.loads(done.stdout)
    assert met > 10
    assert more == []


def test_a_stage_is_shown_where_something_is_compiled(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    message: list[Progress] = []
    for number, expected in ((1, 1), (1, 1), (1.5, 2)):  # anew, from disk, for another type
        function = numba.njit(cache=True)(twice)
        meet_compiled(lambda called=function, given=number: called(given), message.append)
        stages = [progress for progress in message if not progress.done]  # not the seconds
        assert stages == [Progress("compiling")] * expected


def twice(x):
    return 2 * x


def test_a_mistake_where_functions_are_met_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        meet_compiled(lambda: 1 // 0, print)


def test_an_interrupt_does_not_reach_what_compiles() -> None:
    continues, is_done = threading.Event(), threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        continues.wait(60)
        is_done.set()

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest-xdist ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            meet_compiled(work, print)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not is_done.is_set()
    continues.set()
    assert is_done.wait(60)


CATCHING = """
import os, signal, time
from sagevocab.compiling import meet_compiled

def work():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
    print("compiled")

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    meet_compiled(work, print)
except KeyboardInterrupt:
    print("caught", flush=True)
"""


def test_a_script_that_catches_an_interrupt_ends_well(tmp_path: Path) -> None:
    command, environment = [sys.executable, "-c", CATCHING], {**os.environ, "PYTHONPATH": OURS}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "caught\ncompiled\n")


def test_an_interrupt_ends_the_command_while_it_compiles(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("some words\n" * 9, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "sagevocab", "train", text, "-o", tmp_path / "out"],
        env={**os.environ, "PYTHONPATH": OURS, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert first == "sagevocab: compiling (some 20 s; kept for later runs with such settings)\n"
    assert rest == "\nsagevocab: interrupted; run the same command again to resume\n"
    assert process.returncode == 130


def test_where_no_folder_can_be_written_it_says_so(monkeypatch, caplog) -> None:
    def refuse(**options):
        def decorate(function):
            raise RuntimeError("cannot cache function: no locator available")

        return decorate

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(numba, "njit", refuse)
    provide_cache.__wrapped__()
    assert Path(numba.config.CACHE_DIR).is_dir()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "set NUMBA_CACHE_DIR" in caplog.text
