"""Every figure and table of the reference results comes out of the committed measurements again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reproduction.artefacts.registry import RESOURCES, make, places
from reproduction.paper.frames import read_calls

REFERENCE = Path(__file__).parents[2] / "results/reference"
CALLS = {
    (folder, name): call
    for folder in ("intrinsic", "lm")
    for name, call in read_calls(REFERENCE / folder / "frames", RESOURCES).items()
}


@pytest.mark.parametrize(("folder", "name"), CALLS)
def test_it_is_drawn_again(folder: str, name: str, tmp_path: Path) -> None:
    files = {form: tmp_path / Path(place).name for form, place in places(name).items()}
    make(**CALLS[folder, name], files={form: str(file) for form, file in files.items()})
    for form, place in places(name).items():
        committed = REFERENCE / folder / place
        if form == "csv":  # a value between two rounded ones may go either way
            drawn, expected = pd.read_csv(files[form]), pd.read_csv(committed)
            pd.testing.assert_frame_equal(drawn, expected, rtol=1e-9)
        elif committed.is_file():
            assert files[form].read_bytes() == committed.read_bytes(), place
