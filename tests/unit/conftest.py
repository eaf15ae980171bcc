"""What several tests of tables and figures need."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from reproduction.digests import PACKAGES


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Undo what `job` sets for the rest of its process: levels, and a handler of its log."""
    root = logging.getLogger()
    loggers = [root, *map(logging.getLogger, PACKAGES)]
    levels, handlers = [logger.level for logger in loggers], set(root.handlers)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    for handler in set(root.handlers) - handlers:
        root.removeHandler(handler)


@pytest.fixture
def outputs(tmp_path: Path) -> dict[str, Path]:
    """Where a table is written."""
    return {form: tmp_path / f"table.{form}" for form in ("tex", "csv", "md")}


@pytest.fixture
def drawings(tmp_path: Path) -> dict[str, Path]:
    """Where a figure is written."""
    return {form: tmp_path / f"figure.{form}" for form in ("pdf", "png")}


@pytest.fixture
def kept(monkeypatch) -> list[Figure]:
    """Keep the figures that would be saved; nothing is rendered."""
    figures: list[Figure] = []

    def keep(figure, path, **options):
        figures.append(figure)
        Path(path).touch()

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures
