"""A training's log and learning curve as files that are renewed while it runs."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pandas as pd

from sagevocab.state import atomic_path, write_parquet

log = logging.getLogger(__name__)

LOG, CURVE = "training_log.parquet", "learning_curve.png"


class Live:
    """Writes both files into a folder, in a thread, so that training does not wait."""

    def __init__(self, folder: str | Path | None) -> None:
        """Write into `folder`; None writes nothing."""
        self._folder = None if folder is None else Path(folder)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="live")
        self._last: Future[None] | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is a folder, and the files of the last time are written."""
        return self._folder is not None and (self._last is None or self._last.done())

    def show(self, frame: pd.DataFrame) -> None:
        """Renew the files from the rows of the training log so far."""
        if self._folder is not None:
            self._last = self._thread.submit(_write, frame, self._folder)

    def close(self) -> None:
        """Wait for the files that are being written."""
        self._thread.shutdown(wait=True)


def _write(frame: pd.DataFrame, folder: Path) -> None:
    try:
        write_parquet(folder / LOG, frame)
        draw_curve(frame, folder / CURVE)
    except Exception as error:  # a full disk or a missing font is no reason to end a training
        log.warning("%s: could not be written (%s)", folder, error)


def draw_curve(frame: pd.DataFrame, path: str | Path) -> None:
    """Draw losses and held-out bits per character against updates.

    frame: rows of a training log, one an update.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    losses, bits = figure.subplots(1, 2)
    validated = frame[frame["heldout_loss"].notna()]
    losses.plot(frame["step"], frame["loss"], linewidth=0.8, label="training (masked tokens)")
    losses.plot(validated["step"], validated["heldout_loss"], marker="o", label="held-out words")
    losses.set(xlabel="updates", ylabel="nats a piece")
    losses.legend()
    bits.plot(validated["step"], validated["heldout_bits_per_character"], marker="o")
    bits.set(xlabel="updates", ylabel="held-out bits per character")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100, metadata={"Software": None})
