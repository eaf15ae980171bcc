"""What several tests of tables and figures need."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def outputs(tmp_path: Path) -> dict[str, Path]:
    """Where a table is written."""
    return {form: tmp_path / f"table.{form}" for form in ("tex", "csv", "md", "html")}


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
