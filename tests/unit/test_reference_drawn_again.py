"""Every figure and table of the reference results comes out of the committed measurements again."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

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
FIGURES = [key for key in CALLS if key[1].startswith("figure_")]
PAGE = 9.7  # inches of text on a page of the ACL style
WIDTHS = {"full": ["style.mplstyle"], "column": ["style.mplstyle", "column.mplstyle"]}


@pytest.mark.parametrize(("folder", "name"), CALLS)
def test_it_is_drawn_again(folder: str, name: str, tmp_path: Path) -> None:
    files = {form: tmp_path / Path(place).name for form, place in places(name).items()}
    make(**CALLS[folder, name], files={form: str(file) for form, file in files.items()})
    for form, place in places(name).items():
        committed = REFERENCE / folder / place
        if form == "csv":  # a value between two rounded ones may go either way
            numbers = (pd.read_csv(path) for path in (files[form], committed))
            pd.testing.assert_frame_equal(*numbers, rtol=1e-9)
        else:
            assert files[form].read_bytes() == committed.read_bytes(), place


def drawn_at(width: str, key: tuple[str, str], folder: Path) -> dict:
    """The call of a figure of the reference at one of the two widths of the configuration."""
    call = CALLS[key]
    styles = [str(RESOURCES / name) for name in WIDTHS[width]]
    files = {form: str(folder / f"figure.{form}") for form in ("pdf", "png")}
    return {**call, "reads": {**call["reads"], "style": styles}, "files": files}


# The ten panels of figure_differences are a page wide, whatever the configuration says.
@pytest.mark.parametrize(
    ("key", "width"),
    [
        pytest.param(key, width, id=f"{' '.join(key)} {width}")
        for key, width in product(FIGURES, WIDTHS)
        if (key[1], width) != ("figure_differences", "column")
    ],
)
def test_all_of_a_figure_can_be_read(key, width: str, tmp_path: Path, kept: list) -> None:
    make(**drawn_at(width, key, tmp_path))
    assert_readable(kept[0])
    assert_nothing_is_cut(kept[0])
    assert kept[0].get_figheight() <= PAGE


@pytest.mark.parametrize("output", ["folder", "folder/calls.json"])
def test_nothing_is_drawn_over_what_it_is_drawn_from(output: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "calls.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(str(tmp_path / output))):
        redraw(folder, tmp_path / output)
