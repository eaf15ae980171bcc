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
from reproduction.paper.inputs import require_comparison
from reproduction.paper.style import (
    GREY,
    Files,
    TokenizerStyle,
    bar_handles,
    curve_handles,
    drawing,
    grouped_bars,
    label_below,
    legend_above,
    name_panels,
    name_row,
    plain_log_scale,
    tokenizer_styles,
    whole_numbers,
)

MOST_SUBWORDS = 8  # words of this many subwords or more share the last group
RATIO_BINS = 20
_SUBWORDS = [str(number) for number in range(1, MOST_SUBWORDS)] + [f"≥{MOST_SUBWORDS}"]
_SHARES, _DIFFERENCES = "Share of words (%)", "Minus {} (points)"
_NOTE = 0.1  # of the height of a panel of ratios: a line of text above the curves
_BOUND = {"color": GREY, "linewidth": 0.8, "linestyle": "-", "zorder": 1.5}
_RANKINGS_FROM = 0.75  # correlation; below it is no room unless a run needs it

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
            axes.set_xticks(np.arange(len(lengths)), [str(length) for length in lengths])
            name_row(axes, title, "Number of pieces")
            whole_numbers(axes)
        name_panels(grid.flat)
        label_below(figure, "Length of the piece (characters, word-start mark not counted)")
        legend_above(figure, bar_handles(styles))


def figure_fertility(panels: Words, *, thin: Sequence[str] = (), **files: Files) -> None:
    """Draw the share of corpus words by their number of subwords, and its difference from BPE's.

    panels: corpus words (int) indexed by subwords per word (1, 2, ...). thin: labels of controls,
    whose differences are thin lines.
    Source: paper, Section 4, "Subword Fertility".
    """
    styles = _styles(panels)
    with drawing([1.9] * len(panels), 2, sharey="col", **files) as (figure, grid):
        for row, (title, panel) in zip(grid, panels.items(), strict=True):
            _draw_fertility(*row, title, panel, thin)
        baseline = next(iter(panels[title]))
        name_panels(grid.flat, [_SHARES, _DIFFERENCES.format(baseline)] * len(panels))
        label_below(figure, "Subwords per word (pieces)")
        legend_above(figure, _bar_and_control_handles(styles, thin))


def _draw_fertility(
    shares: Axes,
    differences: Axes,
    title: str,
    panel: Mapping[str, pd.Series],
    thin: Sequence[str],
) -> None:
    """Draw the shares as bars, and beside them what each tokenizer has more than the first."""
    styles = tokenizer_styles(panel)
    found = {label: _fertility_shares(words) for label, words in panel.items()}
    drawn = {label: values for label, values in found.items() if label not in thin}
    grouped_bars(shares, drawn, styles)
    baseline, *others = drawn
    grouped_bars(differences, {k: drawn[k] - drawn[baseline] for k in others}, styles)
    for label in [label for label in thin if label in found]:
        look = {"linewidth": 0.8, "marker": styles[label].mark, "markersize": 3}
        differences.plot(found[label] - found[baseline], **styles[label].curve, **look)
    differences.axhline(0, color="black", linewidth=0.7)
    for axes in (shares, differences):
        axes.set_xticks(np.arange(len(_SUBWORDS)), _SUBWORDS)
    shares.set_ylim(0, 100)  # the same in every text, so that figures compare
    name_row(shares, title, "")


def _fertility_shares(words: pd.Series) -> np.ndarray:
    """Percent of corpus words of 1, 2, ..., MOST_SUBWORDS (or more) subwords."""
    bins = np.clip(words.index.to_numpy(), 1, MOST_SUBWORDS)
    counts = np.bincount(bins, weights=words.to_numpy(), minlength=MOST_SUBWORDS + 1)[1:]
    return 100 * counts / counts.sum()


def _bar_and_control_handles(styles: Mapping[str, TokenizerStyle], thin: Sequence[str]) -> list:
    bars = {label: style for label, style in styles.items() if label not in thin}
    return [
        *bar_handles(bars),
        *(
            Line2D([], [], label=k, linewidth=0.8, marker=styles[k].mark, **styles[k].curve)
            for k in thin
            if k in styles
        ),
    ]


def figure_exponence(
    panels: Neighbours, *, windows: Sequence[int], top: int, **files: Files
) -> None:
    """Draw distinct neighbours of the `top` pieces, ranked: rows are languages, columns windows.

    The strip below each panel repeats the curves as differences from the first tokenizer's, rank
    by rank; all strips have one scale. panels: frames of piece, window, distinct, count.
    Source: paper, Section 4, "Contextual Exponence".
    """
    styles = _styles(panels)
    shape = {"heights": [2.0, 1.1] * len(panels), "columns": len(windows)}
    with drawing(**shape, sharex=True, **files) as (figure, grid):
        upper, strips = grid[::2], grid[1::2]
        for row, below, (title, panel) in zip(upper, strips, panels.items(), strict=True):
            for axes, strip, window in zip(row, below, windows, strict=True):
                ranks = {
                    label: rank_neighbours(neighbours, window).head(top).to_numpy()
                    for label, neighbours in panel.items()
                }
                _draw_ranks(axes, strip, ranks, styles)
                axes.set_xlim(0, top + 1)
                axes.tick_params(labelbottom=True)
                strip.tick_params(labelbottom=True)
                strip.sharey(strips[0, 0])
            name_row(row[0], title, "Neighbours (log scale)")
            below[0].set_ylabel(f"vs. {next(iter(panel))} (%)")
        names = [f"Window {window}" for window in windows]
        name_panels(upper.flat, names * len(panels))
        label_below(figure, "Rank of the piece by distinct neighbours")
        figure.align_ylabels(grid[:, 0])
        legend_above(figure, curve_handles(styles))


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
        label_below(figure, _ratio_label(window))
        legend_above(figure, curve_handles(styles))


def _ratio_label(window: int) -> str:
    return f"Distinct neighbours / frequency (pieces per occurrence, window {window})"


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
            top = heights.max()
            axes.vlines(ratios.median(), 0, top, linewidth=0.9, **_upright(styles[label]))
    axes.set_xlim(0, 2 * window)


def _upright(style: TokenizerStyle) -> dict:
    return {"colors": style.colour, "linestyles": style.line}


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


def figure_domains(
    fertility: Words, neighbours: Neighbours, *, window: int, thin: Sequence[str], **files: Files
) -> None:
    """Draw fertility and ratio of every text of another domain: a row a text.

    fertility, thin: as for `figure_fertility`. neighbours, window: as for `figure_ratio`.
    Source: paper, Section 4.1.
    """
    styles = _styles(fertility)
    with drawing([1.5] * len(fertility), 3, sharey="col", **files) as (figure, grid):
        for row, (title, panel) in zip(grid, fertility.items(), strict=True):
            _draw_fertility(*row[:2], title, panel, thin)
            _draw_ratios(row[2], neighbours[title], window)
        baseline = next(iter(fertility[title]))
        names = [_SHARES, _DIFFERENCES.format(baseline), "Pieces (%)"]
        name_panels(grid.flat, names * len(fertility))
        grid[0, 2].set_ylim(bottom=0)
        below = ["Subwords per word"] * 2 + ["Neighbours / frequency"]
        for axes, name in zip(grid[-1], below, strict=True):
            axes.set_xlabel(name)
        legend_above(figure, _bar_and_control_handles(styles, thin))


def _styles(panels: Mapping[str, Mapping]) -> dict[str, TokenizerStyle]:
    require_comparison(panels)
    return tokenizer_styles(next(iter(panels.values())))
