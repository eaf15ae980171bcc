"""What a training tells of itself: a log row an update, lines while it runs."""

from __future__ import annotations

import logging
import math
from collections import deque
from dataclasses import dataclass

import pandas as pd

from sagevocab.lm.live import Live
from sagevocab.lm.training import REPORT_SECONDS, Clock, Progress, hours_minutes_seconds

log = logging.getLogger(__name__)

LIVE_SECONDS = 60.0
WINDOW_SECONDS = 30.0
VALIDATION = (
    "heldout_bits_per_character",
    "heldout_word_accuracy",
    "heldout_loss",
    "heldout_accuracy",
)
NO_VALIDATION = dict.fromkeys(VALIDATION, math.nan)


@dataclass(frozen=True)
class Scale:
    """What an update is, and what it is a part of.

    Attributes:
        rows: rows of an update, over all devices.
        length: tokens of a row.
        corpus_rows: rows of the corpus.
        corpus_tokens: its tokens, without special ones.
        corpus_characters: its characters.
        flops: floating-point operations of an update.
        peak: what all devices together can do at most in a second; None if unknown.
    """

    rows: int
    length: int
    corpus_rows: int
    corpus_tokens: int
    corpus_characters: int
    flops: float
    peak: float | None


class Speed:
    """Updates a second of late: validations, checkpoints and the first update are left out."""

    def __init__(self, window: float = WINDOW_SECONDS) -> None:
        """Look at the updates of the last `window` seconds of training, at least one."""
        self._window, self._durations = window, deque()
        self._sum, self._warm = 0.0, False

    def add(self, seconds: float) -> None:
        """Take in how long an update took."""
        if not self._warm and self._durations:  # the first one compiles, allocates, reads
            self._durations.clear()
            self._sum, self._warm = 0.0, True
        self._durations.append(seconds)
        self._sum += seconds
        while len(self._durations) > 1 and self._sum - self._durations[0] >= self._window:
            self._sum -= self._durations.popleft()

    def per_second(self) -> float:
        """Return the updates a second."""
        return len(self._durations) / max(self._sum, 1e-9)


class Journal:
    """Keeps the log of one sitting of a run, reports and shows it."""

    def __init__(self, scale: Scale, progress: Progress, clock: Clock, live: Live) -> None:
        """Go on with `progress`."""
        self._scale, self._progress, self._live = scale, progress, live
        self._speed, self._clock = Speed(), clock
        self._start: tuple[float, float] | None = None
        self._waited, self._seconds = 0.0, progress.seconds

    def begin(self, spent: float) -> None:
        """Remember which share of the budget was spent before this sitting."""
        self._start = (spent, self._progress.seconds)

    def record(
        self,
        *,
        loss: float,
        rate: float,
        duration: float,
        waited: float,
        validation: dict[str, float],
    ) -> None:
        """Append the row of the update that is done.

        Args:
            loss: nats a masked token.
            rate: learning rate.
            duration: seconds of the update.
            waited: seconds of waiting for data in this sitting so far.
            validation: of VALIDATION.
        """
        scale, progress = self._scale, self._progress
        self._speed.add(duration)
        speed, rows = self._speed.per_second(), progress.updates * scale.rows
        epoch = rows / scale.corpus_rows
        passed = max(progress.seconds - self._seconds, 1e-9)
        progress.record(
            step=progress.updates,
            epoch=epoch,
            tokens=epoch * scale.corpus_tokens,
            characters=epoch * scale.corpus_characters,
            loss=loss,
            learning_rate=rate,
            seconds=progress.seconds,
            tokens_per_second=speed * scale.rows * scale.length,
            peak_share=speed * scale.flops / scale.peak if scale.peak else math.nan,
            waiting=(waited - self._waited) / passed,
            **validation,
        )
        self._waited, self._seconds = waited, progress.seconds

    def tell(self, spent: float, validated: bool) -> None:
        """Print lines and renew the live files, if it is time."""
        first = len(self._progress.log["step"]) == 1
        if validated or first or self._clock.is_due("report", REPORT_SECONDS):
            self._report(spent, validated)
        due = self._clock.is_due("live", LIVE_SECONDS)
        if validated or (due and self._live.wanted):
            self._live.show(self.frame())

    def frame(self) -> pd.DataFrame:
        """Return the log as a table, one row an update."""
        return pd.DataFrame(self._progress.log).astype({"step": "int64"})

    def _report(self, spent: float, validated: bool) -> None:
        row = {name: values[-1] for name, values in self._progress.log.items()}
        share = "" if math.isnan(row["peak_share"]) else f" ({row['peak_share']:.1%} of the peak)"
        log.info(
            "update %d (%.0f %%), epoch %.2f, loss %.3f, learning rate %.2e, %.0f tokens/s%s, "
            "waiting for data %.1f %%, %s left",
            self._progress.updates,
            100 * spent,
            row["epoch"],
            row["loss"],
            row["learning_rate"],
            row["tokens_per_second"],
            share,
            100 * row["waiting"],
            hours_minutes_seconds(self._left(spent)),
        )
        if validated and math.isfinite(row["heldout_loss"]):
            log.info(
                "held-out words: %.3f bits per character, %.1f %% right; %.3f nats a piece, "
                "%.1f %% right",
                row["heldout_bits_per_character"],
                100 * row["heldout_word_accuracy"],
                row["heldout_loss"],
                100 * row["heldout_accuracy"],
            )

    def _left(self, spent: float) -> float:
        """Return the seconds left at the pace of this sitting, validations included."""
        before, seconds = self._start
        pace = (spent - before) / max(self._progress.seconds - seconds, 1e-9)
        return max(0.0, 1 - spent) / max(pace, 1e-12)
