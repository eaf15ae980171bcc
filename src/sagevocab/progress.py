"""How far training is, and a bar of `tqdm` for those who look on, one for each stage."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tqdm.auto import tqdm

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """A point in a training run: what is being done, and how much of `total` epochs or pieces."""

    stage: str
    done: float = 0
    total: int = 0


Listener = Callable[[Progress], None]


def log_progress(progress: Progress) -> None:
    """Write progress to the log, by whole epochs: the listener where no other is given."""
    if not float(progress.done).is_integer():
        return
    done = f": {progress.done:g} of {progress.total}" if progress.total else ""
    log.info("%s%s", progress.stage, done)


@contextmanager
def listener(progress: Listener | bool) -> Iterator[Listener]:
    """Yield what hears of progress: a function of the user's, a bar for True, the log for False."""
    if progress is not True:
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

    with bar:
        yield show
