"""Where Numba keeps what it compiled."""

from __future__ import annotations

import atexit
import functools
import logging
import shutil
import tempfile

import numba

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
