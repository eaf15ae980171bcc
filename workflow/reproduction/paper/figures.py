"""The paper's figures (Section 4), one function a figure, named as the rule that makes it.

Every function takes panels, {panel title: {tokenizer label: measurement}}, and writes one figure.
files: `pdf` and `png`, the paths to write, and optionally `style`, a matplotlib style file.
Tokenizers keep the order of the first panel and with it their colour. The paper draws fertility and
ratio of other domains too (Section 4.1): the same functions on other panels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.analysis.counts import neighbour_ratio, rank_neighbours
from reproduction.paper.inputs import require_comparison
from reproduction.paper.style import (
    Files,
    TokenizerStyle,
    bar_legend,
    curve_legend,
    drawing,
    grouped_bars,
    label_below,
    plain_log_scale,
    row_titles,
    tokenizer_styles,
    whole_numbers,
    wrapped,
)

MOST_SUBWORDS = 8  # words of this many subwords or more share the last bar
FIRST_OF_TAIL = 4  # from here on a second panel has a scale of its own
RATIO_BINS = 20
_BARS_END = 0.73  # of the height of a panel of ratios; above is room for text


def figure_lengths(panels: Mapping[str, Mapping[str, pd.Series]], **files: Files) -> None:
    """Draw how many pieces of a vocabulary have each length: one panel a language.

    panels: pieces (int) indexed by length in characters, the word-start mark not counted.
    Source: paper, Section 4, "Token Length".
    """
    styles = _styles(panels)
    longest = max(counts.index.max() for panel in panels.values() for counts in panel.values())
    lengths = np.arange(1, longest + 1)
    with drawing((len(panels), 1), height=1.9, sharey=True, **files) as (figure, grid):
        for axes, (title, panel) in zip(grid[:, 0], panels.items(), strict=True):
            pieces = {k: counts.reindex(lengths, fill_value=0) for k, counts in panel.items()}
            grouped_bars(axes, {k: v.to_numpy() for k, v in pieces.items()}, styles)
            axes.set_xticks(np.arange(len(lengths)), [str(length) for length in lengths])
            axes.set(title=wrapped(figure, title), ylabel="Number of pieces")
            whole_numbers(axes)
        label_below(figure, "Length of the piece (characters, word-start mark not counted)")
        bar_legend(figure, styles)


def figure_fertility(panels: Mapping[str, Mapping[str, pd.Series]], **files: Files) -> None:
    """Draw the share of corpus words by their number of subwords: one row a language.

    The right panel repeats the words of many subwords on a scale of their own.
    panels: corpus words (int) indexed by subwords per word (1, 2, ...).
    Source: paper, Section 4, "Subword Fertility".
    """
    styles = _styles(panels)
    widths = {"width_ratios": (MOST_SUBWORDS, MOST_SUBWORDS - FIRST_OF_TAIL + 1.5)}
    shape, shared = (len(panels), 2), {"sharey": "col", "gridspec_kw": widths}
    with drawing(shape, height=2.0, **shared, **files) as (figure, grid):
        for (whole, tail), (title, panel) in zip(grid, panels.items(), strict=True):
            shares = {label: _fertility_shares(words) for label, words in panel.items()}
            _draw_shares(whole, shares, styles, first=1)
            _draw_shares(tail, shares, styles, first=FIRST_OF_TAIL)
            whole.set_ylabel("Corpus words (%)")
            row_titles((whole, tail), title, ("All words", f"≥{FIRST_OF_TAIL}, enlarged"))
        label_below(figure, "Subwords per word (pieces)")
        bar_legend(figure, styles)


def _fertility_shares(words: pd.Series) -> np.ndarray:
    """Percent of corpus words of 1, 2, ..., MOST_SUBWORDS (or more) subwords."""
    bins = np.clip(words.index.to_numpy(), 1, MOST_SUBWORDS)
    counts = np.bincount(bins, weights=words.to_numpy(), minlength=MOST_SUBWORDS + 1)[1:]
    return 100 * counts / counts.sum()


def _draw_shares(
    axes: Axes,
    shares: Mapping[str, np.ndarray],
    styles: Mapping[str, TokenizerStyle],
    *,
    first: int,
) -> None:
    grouped_bars(axes, {label: values[first - 1 :] for label, values in shares.items()}, styles)
    names = [str(number) for number in range(first, MOST_SUBWORDS)] + [f"≥{MOST_SUBWORDS}"]
    axes.set_xticks(np.arange(len(names)), names)


def figure_exponence(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    windows: Sequence[int],
    top: int,
    **files: Files,
) -> None:
    """Draw distinct neighbours of the `top` pieces, ranked: rows are languages, columns windows.

    The strip below each panel repeats the curves as differences from the first tokenizer's, rank
    by rank. panels: frames of piece, window, distinct, count.
    Source: paper, Section 4, "Contextual Exponence".
    """
    styles = _styles(panels)
    shape = (2 * len(panels), len(windows))
    heights = {"height_ratios": [2.2, 1] * len(panels)}
    with drawing(shape, height=1.45, sharex=True, gridspec_kw=heights, **files) as (figure, grid):
        pairs = zip(grid[::2], grid[1::2], panels.items(), strict=True)
        for row, strips, (title, panel) in pairs:
            for axes, strip, window in zip(row, strips, windows, strict=True):
                ranks = {
                    label: rank_neighbours(neighbours, window).head(top).to_numpy()
                    for label, neighbours in panel.items()
                }
                _draw_ranks(axes, strip, ranks, styles)
                axes.set_xlim(0, top + 1)
            row_titles(row, title, [f"Window {window}" for window in windows])
            row[0].set_ylabel("Distinct neighbours\n(pieces, log scale)")
            strips[0].set_ylabel(f"vs. {next(iter(panel))}\n(%)")
        label_below(figure, "Rank of the piece by distinct neighbours")
        figure.align_ylabels(grid[:, 0])
        curve_legend(figure, styles)


def _draw_ranks(
    axes: Axes,
    strip: Axes,
    ranks: Mapping[str, np.ndarray],
    styles: Mapping[str, TokenizerStyle],
) -> None:
    """Draw counts by rank above, and below their difference from the first tokenizer's in %."""
    baseline = next(iter(ranks.values()))
    for label, counts in ranks.items():
        axes.plot(np.arange(1, len(counts) + 1), counts, **styles[label].curve)
        common = min(len(counts), len(baseline))
        known = np.flatnonzero(baseline[:common] > 0)
        difference = 100 * (counts[known] / baseline[known] - 1)
        strip.plot(known + 1, difference, **styles[label].curve)
    plain_log_scale(axes)


def figure_ratio(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    window: int,
    **files: Files,
) -> None:
    """Draw how neighbours / frequency spreads over the pieces.

    A row is a language, a column a tokenizer. Pieces that are too rare (`neighbour_ratio`) are left
    out; a panel says how many. An occurrence has at most 2 * window neighbours, so the ratio ends
    there. panels: frames of piece, window, distinct, count.
    Source: paper, Section 4, "Contextual Exponence".
    """
    styles = _styles(panels)
    shape = (len(panels), len(styles))
    with drawing(shape, height=1.75, sharex=True, sharey=True, **files) as (figure, grid):
        for row, (title, panel) in zip(grid, panels.items(), strict=True):
            for axes, (label, neighbours) in zip(row, panel.items(), strict=True):
                _draw_ratios(axes, neighbour_ratio(neighbours, window), window, styles[label])
            row_titles(row, title, list(panel))
            row[0].set_ylabel("Pieces (%)")
        grid[0, 0].set_ylim(top=grid[0, 0].get_ylim()[1] / _BARS_END)
        frames = (neighbours for panel in panels.values() for neighbours in panel.values())
        for axes, neighbours in zip(grid.flat, frames, strict=True):
            pieces = int((neighbours["window"] == window).sum())
            _tell_median(axes, neighbour_ratio(neighbours, window), pieces)
        label_below(
            figure, f"Distinct neighbours / frequency (pieces per occurrence, window {window})"
        )


def _draw_ratios(axes: Axes, ratios: pd.Series, window: int, style: TokenizerStyle) -> None:
    edges = np.linspace(0, 2 * window, RATIO_BINS + 1)
    weights = np.full(len(ratios), 100 / max(len(ratios), 1))
    heights, _ = np.histogram(ratios, bins=edges, weights=weights)
    axes.stairs(heights, edges, fill=True, **style.bar)
    axes.set_xlim(0, 2 * window)


def _tell_median(axes: Axes, ratios: pd.Series, pieces: int) -> None:
    """Write median and pieces left out above the bars; a line joins the median's bar to them."""
    text = f"left out {pieces - len(ratios):,}"
    if len(ratios):
        median = ratios.median()
        heights, edges, _ = axes.patches[0].get_data()
        place = min(np.searchsorted(edges, median, side="right"), len(heights)) - 1
        top = _BARS_END * axes.get_ylim()[1]
        axes.vlines(median, heights[place], top, color="black", linewidth=0.9)
        text = f"median {median:.2f}\n{text}"
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # no grid line crosses it
    axes.text(0.98, 0.99, text, va="top", ha="right", transform=axes.transAxes, bbox=box)


def _styles(panels: Mapping[str, Mapping]) -> dict[str, TokenizerStyle]:
    require_comparison(panels)
    return tokenizer_styles(next(iter(panels.values())))
