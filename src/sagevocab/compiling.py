"""When Numba compiles the engine, and where it keeps what it compiled."""

from __future__ import annotations

import atexit
import functools
import itertools
import logging
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

import numba
from numba.core import event

from sagevocab.progress import Listener, Progress

log = logging.getLogger(__name__)

_THREAD = "sagevocab: compiling"


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


def meet_compiled(work: Callable[[], None], progress: Listener) -> None:
    """Run `work`, which meets compiled functions, and report a stage "compiling" if need be.

    Numba itself says so: it triggers this event when a function is not on disk for the types at
    hand, and for no other reason. Files of the cache do not tell: they may be of other types, of
    another processor or of code that has changed since. The stage is reported every second.

    `work` runs in a thread: Ctrl-C interrupts the main thread alone, and an interrupt where Numba
    loads or links code can crash the interpreter. The thread continues, and what it compiles is
    kept; the end of the process waits for it.
    """
    outcome: Future[None] = Future()
    announcement = _Announcement()
    thread = threading.Thread(target=_run, args=(work, outcome), name=_THREAD, daemon=True)
    with event.install_listener("numba:compile", announcement):
        try:
            thread.start()
            seconds = itertools.count()
            while wait([outcome], timeout=1).not_done:
                if announcement.is_made:
                    progress(Progress("compiling", next(seconds)))
            if announcement.is_made:
                progress(Progress("compiling", next(seconds)))
            return outcome.result()
        except KeyboardInterrupt:
            if thread.is_alive():
                atexit.register(thread.join)
            raise


def _run(work: Callable[[], None], outcome: Future[None]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)


def is_left_behind() -> bool:
    """Return whether a thread still compiles, which the end of the process would wait for."""
    return any(thread.name == _THREAD for thread in threading.enumerate())


class _Announcement(event.Listener):
    """Whether Numba compiled a function that is kept."""

    def __init__(self) -> None:
        self.is_made = False

    def on_start(self, event: event.Event) -> None:
        # A function without a place in the cache is a small one, compiled at every start.
        self.is_made |= event.data["dispatcher"].stats.cache_path is not None

    def on_end(self, event: event.Event) -> None:
        pass
