"""How far training is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

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
