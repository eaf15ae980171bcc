"""When Numba compiles the engine, and where it keeps what it compiled."""

from __future__ import annotations

import atexit
import functools
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numba
from numba.core import event

from sagevocab.progress import Listener, Progress

log = logging.getLogger(__name__)


@functools.cache
def provide_cache() -> None:
    """Let this process compile where Numba finds no folder that it can write; warn once.

    Numba keeps compiled code beside the library or in the user's cache folder, and refuses to
    define a function where it can write neither. Modules with compiled functions call this first.
    """
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:
        # A folder that others could foresee is none for code that is run when it is found.
        folder = tempfile.mkdtemp(prefix="sagevocab-compiled-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        numba.config.CACHE_DIR = folder
        log.warning(
            "compiled code cannot be kept, so every start compiles anew: the folder of the library "
            "and the home folder cannot be written; set NUMBA_CACHE_DIR to a folder that can"
        )


def _nothing() -> None:
    pass


@contextmanager
def shown_compiling(progress: Listener) -> Iterator[None]:
    """Report a stage "compiling" as soon as anything is compiled here.

    Numba itself says so: it triggers this event when a function is not on disk for the types at
    hand, and for no other reason. Files of the cache do not tell: they may be of other types, of
    another processor or of code that has changed since.
    """
    with event.install_listener("numba:compile", _Announcement(progress)):
        yield


class _Announcement(event.Listener):
    def __init__(self, progress: Listener) -> None:
        self._progress, self._is_made = progress, False

    def on_start(self, event: event.Event) -> None:
        # A function without a place in the cache is a small one, compiled at every start.
        is_kept = event.data["dispatcher"].stats.cache_path is not None
        if is_kept and not self._is_made:
            self._is_made = True
            self._progress(Progress("compiling"))

    def on_end(self, event: event.Event) -> None:
        pass
