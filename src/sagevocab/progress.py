"""How far training is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """A point in a training run.

    stage: what is being done. done, total: in the stage's own unit (epochs, pieces); total is 0
        where it is unknown, and done counts seconds then. left: seconds to the stage's end, as far
        as known.
    """

    stage: str
    done: float = 0
    total: int = 0
    left: float | None = None


Listener = Callable[[Progress], None]


def log_progress(progress: Progress) -> None:
    """Write progress to the log: the listener where no other is given."""
    if progress.done and not progress.total:
        return  # a second more of a stage that was logged
    message = progress.stage
    if progress.total:
        message += f": {progress.done:g} of {progress.total} done"
    if progress.left is not None:
        message += f", about {progress.left:.0f} s to go"
    log.info(message)
