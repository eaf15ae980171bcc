"""The figures: panels, shares and ranks drawn right, files whole and of stable bytes."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reproduction.paper import figures, style
from reproduction.paper.inputs import by_panel
from reproduction.paper.tokenizers import figure_tokenizers
from sagevocab.errors import UserError

STYLE = Path(figures.__file__).parents[2] / "resources" / "style.mplstyle"
# The setting figures.width -> the style files that a figure gets.
STYLES = {"page": [STYLE], "column": [STYLE, STYLE.with_name("column.mplstyle")]}
LABELS = ["BPE", "SaGe", "SaGe 1.0"]
TITLES = ["English", "Turkish"]


def files(folder: Path, width: str = "page") -> dict:
    return {"pdf": folder / "figure.pdf", "png": folder / "figure.png", "style": STYLES[width]}


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


def test_fertility_is_a_share_and_long_words_share_a_bar(tmp_path, kept):
    bpe = pd.Series([50, 30, 10, 5, 3, 1, 0.5, 0.25, 0.25], index=range(1, 10)) * 400
    sage = pd.Series([1, 3], index=[1, 12])
    figures.figure_fertility({"English": {"BPE": bpe, "SaGe": sage}}, **files(tmp_path))
    whole, tail = kept[0].axes
    blue, vermillion = (style.tokenizer_styles(LABELS)[name].colour for name in ("BPE", "SaGe"))
    assert bars(whole)[blue] == pytest.approx([50, 30, 10, 5, 3, 1, 0.5, 0.5])
    assert bars(whole)[vermillion] == pytest.approx([25, 0, 0, 0, 0, 0, 0, 75])
    assert bars(tail)[blue] == pytest.approx([5, 3, 1, 0.5, 0.5])
    assert [text.get_text() for text in tail.get_xticklabels()] == ["4", "5", "6", "7", "≥8"]


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
    assert titles == ["Turkish\nWindow 5", "\nWindow 2"]
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


def test_ratio_leaves_out_rare_pieces_tells_so_and_fills_100_percent(tmp_path, kept):
    frame = neighbours([90, 100, 20, 50, 0], [9, 10, 10, 10, 0])
    panel = {"BPE": frame, "SaGe": frame}
    figures.figure_ratio({"English": panel}, window=5, **files(tmp_path))
    axes, _ = kept[0].axes
    (stairs,) = axes.patches
    heights = stairs.get_data().values
    assert len(heights) == figures.RATIO_BINS
    assert sum(heights) == pytest.approx(100)
    assert heights[-1] == pytest.approx(100 / 3)  # 100 of 10: the largest ratio there is
    assert [text.get_text() for text in axes.texts] == ["median 5.00\nleft out 2"]


def test_a_text_whose_pieces_are_all_rare_has_no_median(tmp_path, kept):
    frame = neighbours([3, 0], [1, 0])
    figures.figure_ratio({"English": {"BPE": frame, "SaGe": frame}}, window=5, **files(tmp_path))
    assert [text.get_text() for text in kept[0].axes[0].texts] == ["left out 2"]
    assert not kept[0].axes[0].collections


@pytest.mark.parametrize("ratio", [0, 2, 5, 9, 10])
def test_the_line_of_the_median_stands_on_its_bar_below_the_text(tmp_path, kept, ratio):
    frame = neighbours([10 * ratio, 10 * ratio, 70], [10] * 3)
    figures.figure_ratio({"English": {"BPE": frame, "SaGe": frame}}, window=5, **files(tmp_path))
    axes = kept[0].axes[0]
    kept[0].draw_without_rendering()
    (line,) = axes.collections
    (low, high) = line.get_segments()[0]
    assert low.tolist() == [ratio, pytest.approx(200 / 3)] and high[0] == ratio
    (text,) = axes.texts
    assert axes.transData.transform(high)[1] < text.get_window_extent().y0


def test_scales_are_shared_where_languages_are_compared(tmp_path, kept):
    few, many = pd.Series([9, 1], index=[1, 4]), pd.Series([5, 5], index=[1, 4])
    panels = {"English": {"BPE": few, "SaGe": few}, "Turkish": {"BPE": many, "SaGe": many}}
    figures.figure_lengths(panels, **files(tmp_path))
    figures.figure_fertility(panels, **files(tmp_path))
    lengths, fertility = kept[0].axes, kept[2].axes
    assert lengths[0].get_ylim() == lengths[1].get_ylim()
    assert fertility[0].get_ylim() == fertility[2].get_ylim() > fertility[1].get_ylim()
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


LONG_TITLES = ["News (Lee corpus, instead of Quora questions)", "Turkish", "Hungarian"]


def random_frame() -> pd.DataFrame:
    """Neighbours of 300 pieces at windows 5 and 2."""
    rng = np.random.default_rng(1)
    count = rng.integers(1, 400, 300)
    distinct = np.minimum(count * rng.integers(1, 11, 300), 290)
    return pd.concat([neighbours(distinct, count), neighbours(distinct // 3, count, 2)])


@pytest.mark.parametrize("width", ["page", "column"])
@pytest.mark.parametrize("languages", [1, 3])
@pytest.mark.parametrize("name", ["lengths", "fertility", "exponence", "ratio"])
def test_no_text_overlaps_leaves_the_page_or_is_small(tmp_path, kept, name, languages, width):
    measure = {
        "lengths": pd.Series(range(1, 17), index=range(1, 17)),
        "fertility": pd.Series(range(1, 17), index=range(1, 17)),
    }.get(name, random_frame())
    options = {"exponence": {"windows": [5, 2], "top": 200}, "ratio": {"window": 5}}.get(name, {})
    panels = {title: dict.fromkeys(LABELS, measure) for title in LONG_TITLES[:languages]}
    getattr(figures, f"figure_{name}")(panels, **options, **files(tmp_path, width))
    assert kept[0].get_figwidth() == {"page": 6.3, "column": 3.3}[width]
    assert_readable(kept[0])


def test_a_figure_of_a_comparison_needs_two_tokenizers(tmp_path):
    counts = pd.Series([1], index=[1])
    for panels in ({}, {"English": {}}, {"English": {"SaGe": counts}}):
        with pytest.raises(UserError, match="config key tokenizers: a comparison needs bpe"):
            figures.figure_fertility(panels, **files(tmp_path))
    assert not list(tmp_path.iterdir())


def summary(shift: float) -> dict:
    """A summary as `reproduction.analysis.summary` writes it, of what the figure draws."""
    return {
        "fertility": {"value": 1.5 + shift, "low": 1.4, "high": 1.6},
        "tokens_per_character": 0.25 + shift / 10,
        "whole_word_share": 0.6 + shift / 5,
        "word_initial_share": 0.5 - shift / 5,
        "renyi_efficiency": 0.415 + shift / 14,
        "renyi_alpha": 2.5,
    }


def tokenizers_of(texts, labels):
    return {
        text: {label: summary(number / len(labels)) for number, label in enumerate(labels)}
        for text in texts
    }


TEXTS = [
    ("English", "Training corpus"),
    ("English", "Quora questions"),
    ("Turkish", "Training corpus"),
    ("Turkish", "Turkish reviews"),
]


@pytest.mark.parametrize("texts", [TEXTS[:1], [*TEXTS, ("Hungarian", "Training corpus")]])
@pytest.mark.parametrize("labels", [LABELS[:1], [f"Tokenizer {n}" for n in range(9)]])
def test_tokenizers_are_drawn_for_any_number_of_them(tmp_path, kept, texts, labels):
    figure_tokenizers(tokenizers_of(texts, labels), **files(tmp_path))
    assert_readable(kept[0])
    for axes in kept[0].axes:
        left, right = axes.get_xlim()
        assert sum(left <= tick <= right for tick in axes.get_xticks()) in (3, 4)


def test_a_mark_is_a_value_a_text_has_a_mark_and_a_tokenizer_its_colour(tmp_path, kept):
    figure_tokenizers(tokenizers_of(TEXTS, LABELS), **files(tmp_path))
    train, quora = kept[0].axes[0].collections
    assert train.get_offsets()[:, 0].tolist() == [1.5 + n / 3 for n in range(3)]
    assert train.get_offsets()[:, 1].round().tolist() == [0, 1, 2]
    styles = style.tokenizer_styles(LABELS)
    edges = [matplotlib.colors.to_hex(colour).upper() for colour in quora.get_edgecolors()]
    assert edges == [styles[label].colour for label in LABELS]
    assert matplotlib.colors.to_hex(train.get_facecolors()[1]).upper() == styles["SaGe"].colour
    assert matplotlib.colors.to_hex(quora.get_facecolors()[0]) == "#ffffff"
    shares = kept[0].axes[2].collections[0].get_offsets()[:, 0]
    assert shares.tolist() == pytest.approx([60, 60 + 20 / 3, 60 + 40 / 3])


def test_no_text_of_a_tokenizer_covers_another(tmp_path, kept):
    texts = [("English", name) for name in ("Training corpus", "Quora", "Bills", "Pages")]
    figure_tokenizers(tokenizers_of(texts, LABELS), **files(tmp_path))
    axes = kept[0].axes[0]
    axes.figure.draw_without_rendering()
    marks = axes.collections
    points = axes.transData.transform([mark.get_offsets()[1] for mark in marks])
    sizes = [np.sqrt(mark.get_sizes()[0]) * axes.figure.dpi / 72 for mark in marks]
    assert len(points) == 4 and np.ptp(points[:, 0]) < 1e-6
    for above, below in pairwise(range(4)):
        apart = points[above, 1] - points[below, 1]
        assert apart >= (sizes[above] + sizes[below]) / 2


@pytest.mark.parametrize("low", [-3.3, 0, 0.407, 1.34, 41, 990, 12_345])
@pytest.mark.parametrize("span", [0.003, 0.083, 0.1, 0.28, 0.99, 1.07, 2.5, 13, 19.9, 100, 3000])
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


def assert_readable(figure) -> None:
    """Check that no text leaves the page, stands on another or is smaller than 7 points."""
    texts = list(drawn_texts(figure))
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    page = figure.bbox
    for index, (text, box) in enumerate(boxes):
        assert texts[index].get_fontsize() >= 7, text
        assert page.x0 <= box.x0 and box.x1 <= page.x1, text
        assert page.y0 <= box.y0 and box.y1 <= page.y1, text
        clashes = [other for other, place in boxes[index + 1 :] if box.overlaps(place)]
        assert not clashes, (text, clashes)


def drawn_texts(figure):
    """Yield every text of a figure; a tick outside its axis is not drawn."""
    figure.draw_without_rendering()
    for legend in figure.legends:
        yield from legend.get_texts()
    if figure._supxlabel is not None:
        yield figure._supxlabel
    for axes in figure.axes:
        ticks = [
            tick.label1
            for axis in (axes.xaxis, axes.yaxis)
            for tick in axis.get_major_ticks()
            if min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        ]
        titles = (axes.title, axes._left_title)
        for text in [*ticks, *axes.texts, axes.xaxis.label, axes.yaxis.label, *titles]:
            if text.get_visible() and text.get_text().strip() and text.get_text()[0] != "\n":
                yield text


def test_styles_stay_apart_in_grey_and_follow_the_order():
    styles = list(style.tokenizer_styles("abcdef").values())
    for attribute in ("colour", "fill", "hatch", "line"):
        assert len({str(getattr(one, attribute)) for one in styles}) == 6
    assert style.tokenizer_styles("ab")["b"] == styles[1]
    with pytest.raises(UserError, match="config key tokenizers: .* got 7"):
        style.tokenizer_styles("abcdefg")


# Deuteranopia and protanopia in full, in linear RGB (Machado, Oliveira and Fernandes 2009).
BLINDNESS = {
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
}


TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour, as seen through a matrix in linear RGB."""
    encoded = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    white = TO_XYZ @ np.ones(3)
    x, y, z = np.cbrt(np.maximum(TO_XYZ @ np.clip(seen @ linear, 0, 1) / white, 0.009))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("attribute", ["colour", "fill"])
def test_the_papers_three_tokenizers_stay_apart_in_grey_and_under_colour_blindness(attribute):
    colours = [getattr(one, attribute) for one in style.tokenizer_styles("abc").values()]
    grey = [lab(colour, np.identity(3))[0] for colour in colours]
    assert all(lighter - darker > 4 for darker, lighter in pairwise(grey)), grey
    for matrix in BLINDNESS.values():
        seen = [lab(colour, np.array(matrix)) for colour in colours]
        for one, other in combinations(seen, 2):
            assert np.linalg.norm(one - other) > 20


def test_panels_are_read_row_by_row():
    read = by_panel(["en", "tr"], ["BPE", "SaGe"], ["1", "2", "3", "4"], int)
    assert read == {"en": {"BPE": 1, "SaGe": 2}, "tr": {"BPE": 3, "SaGe": 4}}
    with pytest.raises(ValueError, match="3 files for 2 panels"):
        by_panel(["en", "tr"], ["BPE", "SaGe"], ["1", "2", "3"], int)
