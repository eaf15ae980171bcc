"""Every figure and table of the reference results comes out of the committed measurements again."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from readable import assert_nothing_is_cut, assert_readable
from reproduction.artefacts.registry import RESOURCES, make, places
from reproduction.paper.frames import read_calls
from reproduction.redraw import redraw
from sagevocab.errors import UserError

REFERENCE = Path(__file__).parents[2] / "results/reference"
CALLS = {
    (folder, name): call
    for folder in ("intrinsic", "lm")
    for name, call in read_calls(REFERENCE / folder / "frames", RESOURCES).items()
}
PAGE = 9.7  # inches of text on a page of the ACL style
COLUMN = [str(RESOURCES / name) for name in ("style.mplstyle", "column.mplstyle")]


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Keep the figures that are saved."""
    figures: list[Figure] = []
    save = Figure.savefig

    def savefig(figure: Figure, *given: Any, **options: Any) -> None:
        figures.append(figure)
        save(figure, *given, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return figures


def assert_fits_a_page(figure: Figure) -> None:
    assert_readable(figure)
    assert_nothing_is_cut(figure)
    assert figure.get_figheight() <= PAGE


STREAM = re.compile(rb"(?<=>>\nstream\n).*?(?=\nendstream)", re.DOTALL)
LENGTH = re.compile(rb"obj\n\d+\nendobj")


def drawing(pdf: Path) -> bytes:
    """A PDF without lengths and offsets, numbers to six places: processors differ in the tenth."""

    def plain(stream: re.Match[bytes]) -> bytes:
        numbers = re.compile(rb"\d+\.\d+")
        return numbers.sub(lambda one: b"%.6f" % float(one[0]), zlib.decompress(stream[0]))

    body, _, _ = pdf.read_bytes().rpartition(b"\nxref\n")
    return STREAM.sub(plain, LENGTH.sub(b"", body))


@pytest.mark.parametrize(("folder", "name"), CALLS)
def test_it_is_drawn_again(folder: str, name: str, tmp_path: Path, saved: list) -> None:
    files = {form: tmp_path / Path(place).name for form, place in places(name).items()}
    make(**CALLS[folder, name], files={form: str(file) for form, file in files.items()})
    for form, place in places(name).items():
        committed = REFERENCE / folder / place
        if form == "csv":  # a value between two rounded ones may go either way
            numbers = (pd.read_csv(path) for path in (files[form], committed))
            pd.testing.assert_frame_equal(*numbers, rtol=1e-9)
        elif form == "pdf":
            assert drawing(files[form]) == drawing(committed), place
        else:
            assert files[form].read_bytes() == committed.read_bytes(), place
    for figure in saved[:1]:
        assert_fits_a_page(figure)


# figure_overlap is always a column wide, and the ten panels of figure_differences a page.
OF_ONE_WIDTH = ("figure_overlap", "figure_differences")
OF_BOTH_WIDTHS = [key for key in CALLS if re.match("figure", key[1]) and key[1] not in OF_ONE_WIDTH]


@pytest.mark.parametrize("key", OF_BOTH_WIDTHS, ids=" ".join)
def test_it_can_be_read_in_a_column(key: tuple[str, str], tmp_path: Path, kept: list) -> None:
    call = CALLS[key]
    files = {form: str(tmp_path / f"figure.{form}") for form in ("pdf", "png")}
    make(**{**call, "reads": {**call["reads"], "style": COLUMN}}, files=files)
    assert_fits_a_page(kept[0])


@pytest.mark.parametrize("output", ["folder", "folder/calls.json"])
def test_nothing_is_drawn_over_what_it_is_drawn_from(output: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "calls.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(str(tmp_path / output))):
        redraw(folder, tmp_path / output)
