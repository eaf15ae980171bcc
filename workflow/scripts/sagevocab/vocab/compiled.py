"""Functions compiled by Numba and kept on disk, and not used again once what they call has changed.

Numba looks only at the file of a function to tell whether its compiled form is still good. What it
calls from other modules is part of that form: after an update, old code could meet new data.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import njit

from sagevocab.provenance import source_digest


def compiled(function: Callable) -> Callable:
    """Compile `function` at its first call, without Python's global lock; keep it on disk."""
    dispatcher = njit(cache=True, nogil=True)(function)
    files = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if not hasattr(files, "_source_stamp"):  # another Numba: compile anew rather than trust a file
        return njit(nogil=True)(function)
    module = function.__module__.removeprefix("sagevocab.")
    files._source_stamp = (files._source_stamp, source_digest(module))
    files._load_index = _or_nothing(files._load_index)
    return dispatcher


def _or_nothing(load: Callable[[], dict]) -> Callable[[], dict]:
    """Numba reads names of classes before it looks whether they are of this version of the code."""

    def load_index() -> dict:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return load_index
