"""The figures: bytes, colours and refusals; the reference holds what they draw."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
import yaml
from matplotlib.figure import Figure

from colours import apart, lab
from readable import assert_readable
from reproduction.artefacts import figures as declarations
from reproduction.artefacts import registry
from reproduction.paper import figures, style
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

STYLE = Path(figures.__file__).parents[2] / "resources" / "style.mplstyle"
CONFIG = STYLE.parents[2] / "config.yaml"
WINDOW = {"window": 5}
LABELS = ["BPE", "SaGe (printed)", "SaGe (released)"]
TITLES = ["English", "Turkish"]


def files(folder: Path) -> dict:
    return {"pdf": folder / "figure.pdf", "png": folder / "figure.png", "style": STYLE}


def neighbours(distinct, count, window=5) -> pd.DataFrame:
    pieces = [f"p{number}" for number in range(len(distinct))]
    return pd.DataFrame({"piece": pieces, "window": window, "distinct": distinct, "count": count})


def test_a_text_whose_pieces_are_all_rare_has_no_median(tmp_path, kept):
    frame = neighbours([3, 0], [1, 0])
    panels = {"English": {"BPE": frame, "SaGe (printed)": frame}}
    figures.figure_ratio(panels, **WINDOW, **files(tmp_path))
    (axes,) = kept[0].axes
    assert axes.texts[0].get_text() == "BPE: left out 2\nSaGe (printed): left out 2"
    assert not axes.collections


@pytest.mark.parametrize("limits", [(-0.083, 0.036), (0.0, 0.4), (-1.25, 6.6), (0.97, 1.03)])
def test_ticks_of_a_panel_in_a_column_are_few(limits):
    with matplotlib.rc_context({"figure.figsize": (3.03, 2)}):
        figure = Figure()
        axes = figure.subplots()
        axes.set_xlim(*limits)
        style.few_round_ticks(axes)
        ticks = [tick for tick in axes.get_xticks() if limits[0] <= tick <= limits[1]]
    assert 2 <= len(ticks) <= 3


def test_rows_of_one_language_can_be_read_in_a_column(tmp_path, kept):
    frames = [neighbours(range(300, 0, -1), [9] * 300, window) for window in (5, 2)]
    panels = {"Turkish": dict.fromkeys(LABELS, pd.concat(frames))}
    column = [STYLE, STYLE.with_name("column.mplstyle")]
    figures.figure_exponence(panels, windows=[5, 2], **{**files(tmp_path), "style": column})
    assert_readable(kept[0])


def test_a_tokenizer_looks_the_same_whatever_is_beside_it():
    alone, beside = (
        style.tokenizer_styles(["SaGe (printed)"]),
        style.tokenizer_styles(["mine", *LABELS]),
    )
    assert (
        alone["SaGe (printed)"]
        == beside["SaGe (printed)"]
        == style.tokenizer_styles(LABELS)["SaGe (printed)"]
    )
    assert beside["mine"] == style.tokenizer_styles(["SaGe (printed)", "mine"])["mine"]


def test_a_legend_refuses_tokenizers_that_look_the_same(tmp_path):
    counts = pd.Series([5, 3], index=[1, 2])
    panels = {"English": dict.fromkeys(["BPE", *"abcdefg"], counts)}
    with pytest.raises(UserError, match=r"config key figures\.tokenizers: .* list fewer"):
        figures.figure_lengths(panels, **files(tmp_path))
    assert not list(tmp_path.iterdir())


def test_colours_of_the_configurations_tokenizers_are_apart_to_every_reader():
    stanzas = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["tokenizer_settings"]
    labels = [one["label"] for one in stanzas.values() if "label" in one]
    styles = style.tokenizer_styles(labels)
    assert len(styles) > 15
    for (label, one), (other, two) in combinations(styles.items(), 2):
        assert apart(one.colour, two.colour) >= 10, (label, other)


def test_a_users_tokenizers_differ_from_all_by_colour_or_by_mark_and_dash():
    labels = [f"mine {number}" for number in range(4)]
    styles = style.tokenizer_styles(labels)
    for label in labels:
        for other in {*styles.values(), *style.tokenizer_styles(style._KNOWN).values()}:
            one = styles[label]
            marked = one.mark != other.mark and one.line != other.line
            assert one is other or marked or apart(one.colour, other.colour) >= 10, label


@pytest.mark.parametrize("attribute", ["colour", "fill"])
def test_the_papers_three_tokenizers_stay_apart_in_grey_and_to_every_reader(attribute):
    colours = [getattr(one, attribute) for one in style.tokenizer_styles(LABELS).values()]
    greys = [lab(colour)[0] for colour in colours]
    assert all(lighter - darker > 4 for darker, lighter in pairwise(greys)), greys
    assert all(apart(one, other) > 20 for one, other in combinations(colours, 2))


def test_the_figure_that_contributing_adds_is_drawn(tmp_path, kept, monkeypatch):
    """Its declaration, its drawing and its test run as they stand on the page."""
    page = (CONFIG.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    others = {k: v for k, v in registry.declarations().items() if k != "figure_coverage"}
    monkeypatch.setattr(registry, "_REGISTERED", others)
    declared, drawn, tested = {**vars(declarations)}, {**vars(figures)}, {**globals()}
    for block, names in zip(blocks, (declared, drawn, tested), strict=True):
        exec(block, names)
    monkeypatch.setattr(figures, "figure_coverage", drawn["figure_coverage"], raising=False)
    tested["test_coverage_begins_with_the_most_frequent_piece"](tmp_path, kept)
    paths = {label: str(tmp_path / f"{label}.parquet") for label in LABELS}
    for path in paths.values():
        write_parquet(path, pd.DataFrame({"piece": ["a", "b"], "count": [3, 1]}))
    reads = {"panels": dict.fromkeys(TITLES, paths), "style": [str(STYLE)]}
    written = {form: str(path) for form, path in files(tmp_path).items() if form != "style"}
    registry.make("figure_coverage", reads=reads, settings={}, caption="", files=written)
    assert_readable(kept[-1])
