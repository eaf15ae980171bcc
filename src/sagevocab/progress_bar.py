"""Progress for those who look on: a bar of `tqdm`, one for each stage.

Apart from `progress`, which the workflow's stages need and which needs no `tqdm`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event
from tqdm.auto import tqdm

from sagevocab.errors import SettingError
from sagevocab.progress import Listener, Progress, log_progress


@contextmanager
def listener(progress: Listener | bool) -> Iterator[Listener]:
    """Yield what hears of progress: a function of the user's, a bar for True, the log for False.

    Raises:
        UserError: it is none of these.
    """
    if progress is not True:
        if progress is not False and not callable(progress):
            raise SettingError(
                "progress", f"{progress!r:.40} is not allowed; give True, False or a function"
            )
        yield progress or log_progress
        return
    columns, rows = shutil.get_terminal_size()
    # disable=None: no bar where standard error is a file
    bar, stage = tqdm(disable=None, leave=False, ncols=columns, nrows=rows), ""

    def show(progress: Progress) -> None:
        nonlocal stage
        if progress.stage != stage:
            stage = progress.stage
            bar.reset(progress.total or None)
            bar.set_description(stage, refresh=False)
            if bar.disable:
                print(f"sagevocab: {stage}", file=sys.stderr)
        bar.n = progress.done
        bar.refresh()

    with bar, event.install_listener("numba:compile", _Compiling()):
        yield show


class _Compiling(event.Listener):
    """Writes once that code is compiled: a bar that stands still for so long looks broken."""

    _is_written = False

    def on_start(self, event: event.Event) -> None:
        if not self._is_written:
            self._is_written = True
            message = "sagevocab: compiling (some 20 seconds, once for each preset)"
            tqdm.write(message, file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        pass
