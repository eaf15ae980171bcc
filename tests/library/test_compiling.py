"""What is compiled is compiled in a stage of its own, and kept where a folder can be written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import sagevocab
from sagevocab.compiling import provide_cache, shown_compiling
from sagevocab.progress import Progress

# Prints what a training compiled, or loaded from disk, after the few words.
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
def test_a_few_words_meet_all_that_a_training_meets(preset: str, decoder: str) -> None:
    ours = str(Path(sagevocab.__file__).parents[1])
    command = [sys.executable, "-c", TRAINING, preset, decoder]
    environment = {**os.environ, "PYTHONPATH": ours}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    met, more = json.loads(done.stdout)
    assert met > 10
    assert more == []


def test_a_stage_is_shown_where_something_is_compiled(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    told: list[Progress] = []
    for number, expected in ((1, 1), (1, 1), (1.5, 2)):  # anew, from disk, for another type
        function = numba.njit(cache=True)(twice)
        with shown_compiling(told.append):
            assert function(number) == 2 * number
        assert told == [Progress("compiling")] * expected


def twice(x):
    return 2 * x


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
