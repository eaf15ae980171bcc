"""How far a training is, told to whoever asks, from what the parts log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_LOGGERS = ("sagevocab.vocab.embeddings", "sagevocab.vocab.sage")


@dataclass(frozen=True)
class Progress:
    """A point in a training.

    stage: what is being done. done, total: in the stage's own unit (epochs, pieces); total is 0
        where it is unknown. left: seconds to the stage's end, as far as known.
    """

    stage: str
    done: float = 0
    total: int = 0
    left: float | None = None


Listener = Callable[[Progress], None]


class _LogListener(logging.Handler):
    """Turns the two progress messages of `vocab.embeddings` and `vocab.sage` into `Progress`."""

    def __init__(self, listener: Listener, final_size: int, initial_size: int) -> None:
        super().__init__(logging.INFO)
        self._listener = listener
        self._final, self._initial = final_size, initial_size

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("word2vec: %.2f of "):
            done, epochs, _, left = record.args
            self._listener(Progress("word2vec", round(done, 2), epochs, left))
        elif record.msg.startswith("sage: batch "):
            _, size, _, left = record.args
            total = self._initial - self._final
            self._listener(Progress("pruning", self._initial - size, total, left))


@contextmanager
def listening(listener: Listener | None, final_size: int, initial_size: int) -> Iterator[None]:
    """Tell `listener` of each epoch and batch that ends inside the block."""
    if listener is None:
        yield
        return
    handler = _LogListener(listener, final_size, initial_size)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(min(logging.INFO, logger.getEffectiveLevel()))
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
