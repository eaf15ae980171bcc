"""How progress is shown: a bar in a terminal or notebook, else the names of the stages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import auto, tqdm

from sagevocab.progress import Listener, Progress, log_progress


@contextmanager
def listener(progress: Listener | bool) -> Iterator[Listener]:
    """Yield what hears of progress: a function of the user's, or what True and False stand for.

    True shows it on standard error: a bar in a terminal or notebook, else the names of the stages.
    False writes it to the log.
    """
    if not progress:
        yield log_progress
    elif progress is not True:
        yield progress
    elif sys.stderr is not None and (sys.stderr.isatty() or _in_notebook()):
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield _Stages()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


_TITLES = {"compiling": "compiling (some 20 s; kept for later runs with such settings)"}


class _Stages:
    """One line for each new stage of a kind not seen before."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, progress: Progress) -> None:
        if progress.stage not in self._seen:
            self._seen.add(progress.stage)
            title = _TITLES.get(progress.stage, progress.stage)
            print(f"sagevocab: {title}", file=sys.stderr, flush=True)


class _Bar:
    """A bar for the stage that is under way; embeddings trained while pruning have their own."""

    _FORMAT = "{desc:<18} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"

    def __init__(self) -> None:
        self._bar: tqdm | None = None
        self._stage = ""

    def __call__(self, progress: Progress) -> None:
        if progress.stage != self._stage:
            self.close()
            self._stage = progress.stage
            self._bar = self._opened(progress)
        self._bar.total = progress.total or None
        self._bar.n = progress.done
        if progress.left is not None:
            left = tqdm.format_interval(progress.left)
            self._bar.set_postfix_str(f"about {left} to go", refresh=False)
        self._bar.refresh()

    def _opened(self, progress: Progress) -> tqdm:
        title, total = _TITLES.get(progress.stage, progress.stage), progress.total or None
        if _in_notebook():
            return auto.tqdm(desc=title, total=total, leave=False)
        size = shutil.get_terminal_size()
        layout = self._FORMAT if total else "{desc:<18} [{elapsed}]"
        return tqdm(
            **{"desc": title, "total": total, "leave": False, "bar_format": layout},
            **{"ncols": size.columns, "nrows": size.lines},
        )

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
