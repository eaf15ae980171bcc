"""The paper's figures (Sections 3 and 4), one function a figure, named as the rule that makes it.

Every function takes panels, {title of a language or a text: {tokenizer label: measurement}}, and
writes one figure. files: `pdf` and `png`, the paths to write, and optionally `style`, a matplotlib
style file. The paper draws fertility and ratio of other domains too (Section 4.1): the same
functions on other panels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.analysis.counts import neighbour_ratio, rank_neighbours
from reproduction.paper.formats import Files
from reproduction.paper.style import (
    TokenizerStyle,
    bar_handles,
    curve_handles,
    drawing,
    grouped_bars,
    is_narrow,
    label_below,
    legend_above,
    logarithmic_differences,
    logarithmic_shares,
    name_panels,
    name_row,
    plain_log_scale,
    tokenizer_styles,
    whole_numbers,
)

MOST_SUBWORDS = 8  # words of this many subwords or more share the last group
RANKS = 200  # of neighbours, as the paper's figure
RATIO_BINS = 20
_SUBWORDS = [str(number) for number in range(1, MOST_SUBWORDS)] + [f"≥{MOST_SUBWORDS}"]
_SHARES, _DIFFERENCES = "Share of words (%)", "Minus {} (points)"
_NOTE = 0.1  # of the height of a panel of ratios: a line of text above the curves

Words = Mapping[str, Mapping[str, pd.Series]]
Neighbours = Mapping[str, Mapping[str, pd.DataFrame]]


def figure_lengths(panels: Words, **files: Files) -> None:
    """Draw how many pieces of a vocabulary have each length: one panel a language.

    panels: pieces (int) indexed by length in characters, the word-start mark not counted.
    Source: paper, Section 4, "Token Length".
    """
    styles = _styles(panels)
    longest = max(counts.index.max() for panel in panels.values() for counts in panel.values())
    lengths = np.arange(1, longest + 1)
    with drawing([1.9] * len(panels), sharey=True, **files) as (figure, grid):
        for axes, (title, panel) in zip(grid[:, 0], panels.items(), strict=True):
            pieces = {k: counts.reindex(lengths, fill_value=0) for k, counts in panel.items()}
            grouped_bars(axes, {k: v.to_numpy() for k, v in pieces.items()}, styles)
            shown = lengths[:: 2 if is_narrow() else 1]
            axes.set_xticks(shown - 1, [str(length) for length in shown])
            name_row(axes, title, "Number of pieces")
            whole_numbers(axes)
        name_panels(grid.flat)
        label_below(figure, "Length of the piece (characters, word-start mark not counted)")
        legend_above(figure, bar_handles(styles))


def figure_fertility(panels: Words, *, controls: Sequence[str] = (), **files: Files) -> None:
    """Draw the share of corpus words by their number of subwords, and its difference from BPE's.

    Both axes are logarithmic, the second around 0: what the paper says is about words of five and
    more subwords, which are few. panels: corpus words (int) indexed by subwords per word (1, 2,
    ...). controls: labels of those that are no reading of SaGe; their marks are open.
    Source: paper, Section 4, "Subword Fertility".
    """
    styles = _styles(panels)
    with drawing([2.1] * len(panels), 2, sharey="col", **files) as (figure, grid):
        for row, (title, panel) in zip(grid, panels.items(), strict=True):
            shares = {label: _fertility_shares(words) for label, words in panel.items()}
            baseline = next(iter(shares))
            others = {k: shares[k] - shares[baseline] for k in shares if k != baseline}
            _draw_dots(row[0], shares, styles, controls)
            _draw_dots(row[1], others, styles, controls)
            row[1].axhline(0, color="black", linewidth=0.7)
            name_row(row[0], title, "")
        logarithmic_shares(grid[:, 0])
        logarithmic_differences(grid[:, 1])
        name_panels(grid.flat, [_SHARES, _DIFFERENCES.format(baseline)] * len(panels))
        label_below(figure, "Subwords per word (pieces)")
        legend_above(
            figure,
            [Line2D([], [], label=k, **_dot(one, k in controls)) for k, one in styles.items()],
        )


def _draw_dots(
    axes: Axes,
    values: Mapping[str, np.ndarray],
    styles: Mapping[str, TokenizerStyle],
    controls: Sequence[str],
) -> None:
    """Draw a mark a tokenizer beside one another in each group of words."""
    width = 0.8 / len(styles)
    for place, label in enumerate(styles):
        if label in values:
            at = np.arange(len(_SUBWORDS)) + (place - (len(styles) - 1) / 2) * width
            axes.plot(at, values[label], **_dot(styles[label], label in controls))
    axes.set_xticks(np.arange(len(_SUBWORDS)), _SUBWORDS)


def _dot(style: TokenizerStyle, is_open: bool) -> dict:
    face = {"markerfacecolor": "white"} if is_open else {}
    return {**style.dot, "markersize": 3.5, **face}


def _fertility_shares(words: pd.Series) -> np.ndarray:
    """Percent of corpus words of 1, 2, ..., MOST_SUBWORDS (or more) subwords."""
    bins = np.clip(words.index.to_numpy(), 1, MOST_SUBWORDS)
    counts = np.bincount(bins, weights=words.to_numpy(), minlength=MOST_SUBWORDS + 1)[1:]
    return 100 * counts / counts.sum()


def figure_exponence(panels: Neighbours, *, windows: Sequence[int], **files: Files) -> None:
    """Draw distinct neighbours of the first pieces, ranked: rows are languages, columns windows.

    The strip below each panel repeats the curves as differences from the first tokenizer's, rank
    by rank; all strips have one scale. panels: frames of piece, window, distinct, count.
    Source: paper, Section 4, "Contextual Exponence".
    """
    styles = _styles(panels)
    shape = {"heights": [2.0, 1.1] * len(panels), "columns": len(windows)}
    stacked = {"together": 2, "stacked_height": 0.7}  # two languages and windows fit a page
    with drawing(**shape, **stacked, sharex=True, **files) as (figure, grid):
        upper, strips = grid[::2], grid[1::2]
        for row, below, (title, panel) in zip(upper, strips, panels.items(), strict=True):
            for axes, strip, window in zip(row, below, windows, strict=True):
                ranks = {
                    label: rank_neighbours(neighbours, window).head(RANKS).to_numpy()
                    for label, neighbours in panel.items()
                }
                _draw_ranks(axes, strip, ranks, styles)
                axes.set_xlim(0, RANKS + 1)
                axes.tick_params(labelbottom=True)
                strip.tick_params(labelbottom=True)
            name_row(row[0], title, "Neighbours (log)" if is_narrow() else "Neighbours (log scale)")
            below[0].set_ylabel(f"vs. {next(iter(panel))} (%)")
        _share_limits(strips)
        names = [f"Window {window}" for window in windows]
        name_panels(upper.flat, names * len(panels))
        label_below(figure, "Rank of the piece by distinct neighbours")
        figure.align_ylabels(grid[:, 0])
        legend_above(figure, curve_handles(styles))


def _share_limits(panels: np.ndarray) -> None:
    """Give panels one y axis that holds what is drawn in each of them."""
    limits = [axes.get_ylim() for axes in panels.flat]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    for axes in panels.flat:
        axes.set_ylim(low, high)


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


def figure_ratio(panels: Neighbours, *, window: int, **files: Files) -> None:
    """Draw how neighbours / frequency spreads over the pieces: a panel a language.

    A line is a tokenizer, an upright line its median. Pieces that are too rare (`neighbour_ratio`)
    are left out; a panel says how many. panels: frames of piece, window, distinct, count.
    Source: paper, Section 4, "Contextual Exponence".
    """
    styles = _styles(panels)
    with drawing([2.1], len(panels), sharey=True, **files) as (figure, grid):
        for axes, panel in zip(grid[0], panels.values(), strict=True):
            _draw_ratios(axes, panel, window)
        grid[0, 0].set_ylim(0, grid[0, 0].get_ylim()[1] / (1 - _NOTE * len(styles)))
        for axes, panel in zip(grid[0], panels.values(), strict=True):
            _write_medians(axes, panel, window)
        name_panels(grid[0], panels)
        grid[0, 0].set_ylabel("Pieces (%)")
        unit = f"pieces per occurrence, window {window}"
        label_below(figure, f"Distinct neighbours / frequency ({unit})")
        legend_above(figure, curve_handles(styles))


def _draw_ratios(axes: Axes, panel: Mapping[str, pd.DataFrame], window: int) -> None:
    """Draw outlines of histograms; an occurrence has at most 2 * window neighbours."""
    styles = tokenizer_styles(panel)
    edges = np.linspace(0, 2 * window, RATIO_BINS + 1)
    for label, neighbours in panel.items():
        ratios = neighbour_ratio(neighbours, window)
        weights = np.full(len(ratios), 100 / max(len(ratios), 1))
        heights, _ = np.histogram(ratios, bins=edges, weights=weights)
        line = {"edgecolor": styles[label].colour, "linestyle": styles[label].line}
        axes.stairs(heights, edges, linewidth=1.2, **line)
        if len(ratios):
            upright = {"colors": styles[label].colour, "linestyles": styles[label].line}
            axes.vlines(ratios.median(), 0, heights.max(), linewidth=0.9, **upright)
    axes.set_xlim(0, 2 * window)


def _write_medians(axes: Axes, panel: Mapping[str, pd.DataFrame], window: int) -> None:
    """Write medians, and how many pieces are left out, above the curves."""
    notes = []
    for label, neighbours in panel.items():
        ratios = neighbour_ratio(neighbours, window)
        left_out = int((neighbours["window"] == window).sum()) - len(ratios)
        median = f"median {ratios.median():.2f}, " if len(ratios) else ""
        notes.append(f"{label}: {median}left out {left_out:,}")
    place = {"x": 0.99, "y": 0.99, "transform": axes.transAxes, "va": "top", "ha": "right"}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # no grid line crosses it
    axes.text(s="\n".join(notes), fontsize=7, bbox=box, **place)


def _styles(panels: Mapping[str, Mapping]) -> dict[str, TokenizerStyle]:
    return tokenizer_styles(next(iter(panels.values())))
