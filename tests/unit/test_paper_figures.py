"""The figures: panels, shares and ranks drawn right, files whole and of stable bytes."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib
import numpy as np
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
LABELS = ["BPE", "SaGe", "SaGe 1.0"]
TITLES = ["English", "Turkish"]


def files(folder: Path) -> dict:
    return {"pdf": folder / "figure.pdf", "png": folder / "figure.png", "style": STYLE}


def same_for_all(measure):
    return {title: dict.fromkeys(LABELS, measure) for title in TITLES}


def neighbours(distinct, count, window=5) -> pd.DataFrame:
    pieces = [f"p{number}" for number in range(len(distinct))]
    return pd.DataFrame({"piece": pieces, "window": window, "distinct": distinct, "count": count})


def bars(axes) -> dict[str, list[float]]:
    """Heights of the bars by the colour of their tokenizer."""
    heights: dict[str, list[float]] = {}
    for bar in axes.patches:
        colour = matplotlib.colors.to_hex(bar.get_edgecolor()).upper()
        heights.setdefault(colour, []).append(bar.get_height())
    return heights


def dots(axes) -> dict[str, list[float]]:
    """Values of the marks by the colour of their tokenizer."""
    return {line.get_color(): list(line.get_ydata()) for line in axes.lines}


def test_fertility_is_a_share_beside_what_it_is_more_than_bpes(tmp_path, kept):
    bpe = pd.Series([50, 30, 10, 5, 3, 1, 0.5, 0.25, 0.25], index=range(1, 10)) * 400
    sage = pd.Series([1, 3], index=[1, 12])
    panel = {"BPE": bpe, "SaGe": sage, "random": bpe * 3}
    figures.figure_fertility({"English": panel}, controls=["random"], **files(tmp_path))
    shares, differences = kept[0].axes
    styles = style.tokenizer_styles([*LABELS[:2], "random"])
    blue, vermillion, other = (one.colour for one in styles.values())
    assert dots(shares)[blue] == pytest.approx([50, 30, 10, 5, 3, 1, 0.5, 0.5])
    assert dots(shares)[vermillion] == pytest.approx([25, 0, 0, 0, 0, 0, 0, 75])
    assert blue not in dots(differences)
    assert dots(differences)[vermillion] == pytest.approx([-25, -30, -10, -5, -3, -1, -0.5, 74.5])
    assert dots(differences)[other] == pytest.approx(np.zeros(8), abs=1e-12)
    assert (shares.get_yscale(), differences.get_yscale()) == ("log", "symlog")
    assert [text.get_text() for text in shares.get_xticklabels()][-2:] == ["7", "≥8"]
    assert shares.get_ylabel().strip() == "English"
    legend = [text.get_text() for text in kept[0].legends[0].get_texts()]
    assert legend == ["BPE", "SaGe", "random"]


def test_lengths_are_aligned_when_a_vocabulary_lacks_one(tmp_path, kept):
    panel = {"BPE": pd.Series([3, 2], index=[1, 2]), "SaGe": pd.Series([1, 4], index=[0, 4])}
    figures.figure_lengths({"English": panel}, **files(tmp_path))
    (axes,) = kept[0].axes
    assert list(bars(axes).values()) == [[3, 2, 0, 0], [0, 0, 0, 4]]


def test_exponence_ranks_the_top_of_its_own_window(tmp_path, kept):
    bpe = pd.concat([neighbours([3, 9, 8, 1], [9] * 4), neighbours([2, 2, 4, 1], [9] * 4, 2)])
    sage = pd.concat([neighbours([6, 3, 9], [9] * 3), neighbours([4, 2], [9] * 2, 2)])
    panels = {"Turkish": {"BPE": bpe, "SaGe": sage}}
    figures.figure_exponence(panels, windows=[5, 2], top=3, **files(tmp_path))
    wide, narrow, wide_strip, narrow_strip = kept[0].axes
    assert list(wide.lines[0].get_ydata()) == [9, 8, 3]
    assert list(narrow.lines[0].get_ydata()) == [4, 2, 2]
    titles = [axes.get_title(loc="left") for axes in (wide, narrow)]
    assert titles == ["(a) Window 5", "(b) Window 2"]
    assert wide.get_ylabel().startswith("Turkish\n")
    assert wide_strip.get_ylim() == narrow_strip.get_ylim()
    assert wide.get_yscale() == "log"
    assert wide.lines[0].get_linestyle() != wide.lines[1].get_linestyle()
    assert list(wide_strip.lines[0].get_ydata()) == [0, 0, 0]
    assert list(wide_strip.lines[1].get_ydata()) == pytest.approx([0, -25, 0])
    assert list(narrow_strip.lines[1].get_xdata()) == [1, 2]


@pytest.mark.parametrize(("low", "high"), [(8200, 15800), (5000, 15700), (90, 2000), (700, 3900)])
def test_a_log_axis_has_three_ticks_or_more(tmp_path, kept, low, high):
    frame = neighbours(np.geomspace(low, high, 200).astype(int), np.full(200, 9))
    panels = {"English": {"BPE": frame, "SaGe": frame}}
    figures.figure_exponence(panels, windows=[5], top=200, **files(tmp_path))
    axes = kept[0].axes[0]
    bottom, top = axes.get_ylim()
    assert 3 <= sum(bottom <= tick <= top for tick in axes.get_yticks()) <= 8


def test_ratio_leaves_out_rare_pieces_says_so_and_fills_100_percent(tmp_path, kept):
    frame = neighbours([90, 100, 20, 50, 0], [9, 10, 10, 10, 0])
    panel = {"BPE": frame, "SaGe": frame}
    figures.figure_ratio({"English": panel}, **WINDOW, **files(tmp_path))
    (axes,) = kept[0].axes
    for stairs in axes.patches:
        heights = stairs.get_data().values
        assert len(heights) == figures.RATIO_BINS
        assert sum(heights) == pytest.approx(100)
        assert heights[-1] == pytest.approx(100 / 3)  # 100 of 10: the largest ratio there is
    (note,) = axes.texts
    assert note.get_text().split("\n") == [f"{k}: median 5.00, left out 2" for k in panel]
    assert [line.get_segments()[0][0].tolist() for line in axes.collections] == [[5, 0]] * 2


def test_a_text_whose_pieces_are_all_rare_has_no_median(tmp_path, kept):
    frame = neighbours([3, 0], [1, 0])
    panels = {"English": {"BPE": frame, "SaGe": frame}}
    figures.figure_ratio(panels, **WINDOW, **files(tmp_path))
    (axes,) = kept[0].axes
    assert axes.texts[0].get_text() == "BPE: left out 2\nSaGe: left out 2"
    assert not axes.collections


@pytest.mark.parametrize("ratio", [0, 2, 5, 9, 10])
def test_no_curve_reaches_the_text_above_it(tmp_path, kept, ratio):
    frame = neighbours([10 * ratio, 10 * ratio, 70], [10] * 3)
    panels = {"English": dict.fromkeys(LABELS, frame)}
    figures.figure_ratio(panels, **WINDOW, **files(tmp_path))
    (axes,) = kept[0].axes
    kept[0].draw_without_rendering()
    highest = axes.transData.transform((ratio, 200 / 3))[1]
    assert highest < axes.texts[0].get_window_extent().y0


def test_scales_are_shared_where_languages_are_compared(tmp_path, kept):
    few, many = pd.Series([9, 1], index=[1, 4]), pd.Series([5, 5], index=[1, 4])
    panels = {"English": {"BPE": few, "SaGe": few}, "Turkish": {"BPE": many, "SaGe": many}}
    figures.figure_lengths(panels, **files(tmp_path))
    figures.figure_fertility(panels, **files(tmp_path))
    lengths, fertility = kept[0].axes, kept[2].axes
    assert lengths[0].get_ylim() == lengths[1].get_ylim()
    assert fertility[0].get_ylim() == fertility[2].get_ylim()
    assert fertility[1].get_ylim() == fertility[3].get_ylim()


def test_equal_data_give_equal_bytes_without_dates_or_versions(tmp_path):
    panels = same_for_all(pd.Series([5, 3, 2], index=[1, 2, 3]))
    for name in ("first", "second"):
        figures.figure_lengths(panels, **files(tmp_path / name))
    for name in ("figure.pdf", "figure.png"):
        first, second = ((tmp_path / folder / name).read_bytes() for folder in ("first", "second"))
        assert first == second
        assert b"CreationDate" not in first
        assert b"matplotlib" not in first.lower()


def test_a_figure_of_a_comparison_needs_two_tokenizers(tmp_path):
    counts = pd.Series([1], index=[1])
    for panels in ({}, {"English": {}}, {"English": {"SaGe": counts}}):
        with pytest.raises(UserError, match="config key tokenizers: a comparison needs bpe"):
            figures.figure_fertility(panels, **files(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("low", "span"),
    [(-3.3, 1.07), (0, 0.99), (0.407, 0.003), (1.34, 0.28), (41, 19.9), (990, 13), (12_345, 3000)],
)
def test_a_narrow_panel_has_three_or_four_round_ticks(low, span):
    axes = Figure().subplots()
    axes.set_xlim(low, low + span)
    style.few_round_ticks(axes)
    left, right = axes.get_xlim()
    ticks = axes.get_xticks()
    assert len(ticks) in (3, 4)
    assert left <= low and low + span <= right
    assert left <= ticks[0] and ticks[-1] <= right
    step = ticks[1] - ticks[0]
    assert float(f"{step:e}"[0:8]) in (1, 2, 5)
    assert right - left <= span + 2 * step


def test_a_tokenizer_looks_the_same_whatever_is_beside_it():
    alone, beside = style.tokenizer_styles(["SaGe"]), style.tokenizer_styles(["mine", *LABELS])
    assert alone["SaGe"] == beside["SaGe"] == style.tokenizer_styles(LABELS)["SaGe"]
    assert beside["mine"] == style.tokenizer_styles(["SaGe", "mine"])["mine"]


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
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry.declarations()))
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
