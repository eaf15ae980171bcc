"""The measures that peers report, drawn for every tokenizer of the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sagevocab.paper.style import MOST_STYLES, drawing, few_round_ticks, tokenizer_styles
from sagevocab.paper.tables_tokenizers import Summary, Texts

Files = str | Path
_MARKERS = ("o", "D", "^", "s", "v", "P", "X", "<", ">", "*")
_TEXT_HEIGHT = 0.06  # inches of a row for each text, so that no mark stands on another
_UNSTYLED = "#555555"  # tokenizers beyond those that a colour can tell apart have a name only
# field of a summary, what the axis says, factor
_MEASURES = (
    ("fertility", "Tokens\nper word", 1),
    ("characters_per_token", "Characters\nper token", 1),
    ("whole_word_share", "Words that are\none token (%)", 100),
    ("word_initial_share", "Word-initial\ntokens (%)", 100),
    ("renyi_efficiency", "Rényi efficiency\n(order {alpha:g})", 1),
)


def figure_tokenizers(texts: Texts, *, pdf: Files, png: Files, style: Files | None = None) -> None:
    """Draw five measures of every tokenizer: a row of panels a language, a mark a text.

    texts: (language, text) -> {label: summary of `analysis.summary`}, a language's training corpus
    first; its mark is filled. Source: none in the paper; these are the measures of its peers.
    """
    panels = _by_language(texts)
    labels = list(next(iter(next(iter(panels.values())).values())))
    colours = _colours(labels)
    markers = dict(zip(dict.fromkeys(text for _, text in texts), _MARKERS * 9, strict=False))
    shape = (len(panels), len(_MEASURES))
    row_height = _TEXT_HEIGHT * max(3, *map(len, panels.values()), 0) + 0.04
    height = 0.75 + row_height * max(len(labels), 3)
    with drawing(shape, height=height, pdf=pdf, png=png, style=style, sharey=True) as (
        figure,
        grid,
    ):
        for row, (language, panel) in zip(grid, panels.items(), strict=True):
            for axes, (field, name, factor) in zip(row, _MEASURES, strict=True):
                _draw_measure(axes, panel, field, factor, colours, markers)
                _dress_panel(axes, len(labels))
                axes.set_xlabel(name.format(alpha=_alpha(panel)))
            row[0].set_title(language)
        grid[0, 0].set_yticks(range(len(labels)), labels)
        grid[0, 0].set_ylim(len(labels) - 0.5, -0.5)
        figure.legend(
            handles=_legend(markers, {text for text, *_ in map(list, panels.values())}),
            loc="outside upper center",
            ncols=math.ceil(len(markers) / math.ceil(len(markers) / 4)),
        )


def _by_language(texts: Texts) -> dict[str, dict[str, Mapping[str, Summary]]]:
    panels: dict[str, dict[str, Mapping[str, Summary]]] = {}
    for (language, text), panel in texts.items():
        panels.setdefault(language, {})[text] = panel
    return panels


def _colours(labels: Sequence[str]) -> list[str]:
    styles = tokenizer_styles(labels[:MOST_STYLES])
    return [styles[label].colour if label in styles else _UNSTYLED for label in labels]


def _alpha(panel: Mapping[str, Mapping[str, Summary]]) -> float:
    return next(iter(next(iter(panel.values())).values()))["renyi_alpha"]


def _draw_measure(
    axes: Axes,
    panel: Mapping[str, Mapping[str, Summary]],
    field: str,
    factor: float,
    colours: Sequence[str],
    markers: Mapping[str, str],
) -> None:
    """Draw one mark a tokenizer and text, those of a tokenizer one below the other."""
    shifts = np.linspace(-0.5, 0.5, 2 * len(panel) + 1)[1::2] * 0.9
    for number, (text, summaries) in enumerate(panel.items()):
        values = [factor * _value(summary, field) for summary in summaries.values()]
        axes.scatter(
            values,
            np.arange(len(values)) + shifts[number],
            s=18 if number == 0 else 14,
            marker=markers[text],
            facecolors=colours if number == 0 else "white",
            edgecolors=colours,
            linewidths=0.9,
            zorder=3,
        )


def _dress_panel(axes: Axes, rows: int) -> None:
    """Part the tokenizers by lines, which no mark stands on, and give the axis its ticks."""
    for place in range(1, rows):
        axes.axhline(place - 0.5, color="#D9D9D9", linewidth=0.5, zorder=0)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.12)
    few_round_ticks(axes)


def _value(summary: Summary, field: str) -> float:
    if field == "fertility":
        return summary["fertility"]["value"]
    if field == "characters_per_token":
        tokens = summary["tokens_per_character"]
        return 1 / tokens if tokens else float("nan")
    return summary[field]


def _legend(markers: Mapping[str, str], filled: set[str]) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            label=text,
            linestyle="none",
            marker=marker,
            markersize=4.5,
            color="black",
            markerfacecolor="black" if text in filled else "white",
        )
        for text, marker in markers.items()
    ]
