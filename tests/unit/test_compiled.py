from __future__ import annotations

import importlib

import pytest
from numba.core.registry import CPUDispatcher

MODULES = [
    "sagevocab.segmentation.decoder",
    "sagevocab.pruning.codes",
    "sagevocab.pruning.kernels",
    "sagevocab.pruning.released",
    "sagevocab.segmentation.counts",
    "sagevocab.word2vec.blocks",
]
MODULES += ["sagevocab.corpus.reading", "reproduction.analysis.counts"]
OURS = ("sagev", "repro")


@pytest.mark.parametrize("name", MODULES)
def test_compiled_functions_use_nothing_of_other_files(name):
    """Numba looks only at a function's own file to tell whether what is on disk is still good."""
    module = importlib.import_module(name)
    compiled = [value for value in vars(module).values() if isinstance(value, CPUDispatcher)]
    assert compiled
    for function in compiled:
        assert function._cache is not None
        assert function.py_func.__module__ == module.__name__
        used = {getattr(module, used, None) for used in function.py_func.__code__.co_names}
        homes = {getattr(value, "__module__", None) for value in used}
        assert not {home for home in homes - {module.__name__} if (home or "").startswith(OURS)}
