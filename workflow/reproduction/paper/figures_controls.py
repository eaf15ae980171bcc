"""The paper's main statements under SaGe and under prunings without contexts, which it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.paper.claims_frame import CONTROL, read_claims_frame
from reproduction.paper.formats import Files
from reproduction.paper.statements import read_claims
from reproduction.paper.style import (
    TokenizerStyle,
    drawing,
    few_round_ticks,
    legend_above,
    name_panels,
    tokenizer_styles,
)

# What a reader can take in at a glance; `table_controls` has all main statements.
SHOWN = (
    *("sage_only_word_initial", "bpe_only_word_initial", "bpe_only_short", "words_of_5_more"),
    *("token_ratio", "ratio_lower"),
)
_PAPER = "the paper's value"
_ACROSS = 2  # panels side by side
_LANE = 0.085  # inches of a vocabulary in a panel
_TICKS, _LINE = 0.4, 0.15  # inches of a panel's ticks, and of a line of its title
_MARK = {"markersize": 4, "linestyle": "none"}


def read_shown(values: str) -> dict[str, tuple[str, Any]]:
    """Return the statements that the figure shows: id -> headline, and what the paper prints.

    Raises:
        UserError: `values`, which is `paper_values.yaml`, is missing or damaged.
    """
    known = {one.id: (one.headline, one.paper) for one in read_claims(values)["claims"]}
    return {name: known[name] for name in SHOWN if name in known}


def read_values(claims: str) -> pd.DataFrame:
    """Return what vocabularies give of each statement, a row a vocabulary, language and statement.

    A reading of SaGe has the value and the interval of all its seeds together, a control the mean
    of its seeds and their range.

    Columns: statement, language, vocabulary, value, low and high (NaN: no interval), is_control.

    Raises:
        UserError: `claims`, which is `claims.parquet`, is missing or damaged.
    """
    frame = read_claims_frame(claims)
    is_control = frame["role"] == CONTROL
    values = frame["value"].astype("float64")
    rows = frame[["statement", "language"]].assign(
        vocabulary=frame["control"].fillna(frame["tokenizer"]),
        value=values,
        low=frame["low"].astype("float64").mask(is_control, values),
        high=frame["high"].astype("float64").mask(is_control, values),
        is_control=is_control,
    )
    rows = rows[values.notna() & (is_control | frame["seed"].isna())]
    by_vocabulary = rows.groupby(["statement", "language", "vocabulary"], sort=False)
    numbers = {"value": "mean", "low": "min", "high": "max", "is_control": "first"}
    return by_vocabulary.agg(numbers).reset_index()


def panels_of(
    claims: pd.DataFrame,
    shown: Iterable[str],
    vocabularies: Iterable[str],
    languages: Iterable[str],
) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the rows of each statement and language that SaGe and a control have values of.

    The arguments are those of `figure_controls`; the rows are by vocabulary.
    """
    found = claims[claims["vocabulary"].isin(vocabularies)].set_index("vocabulary")
    panels = {
        (name, language): found[(found["statement"] == name) & (found["language"] == language)]
        for name, language in product(shown, languages)
    }
    return {key: rows for key, rows in panels.items() if rows["is_control"].nunique() == 2}


def figure_controls(
    claims: pd.DataFrame,
    *,
    shown: Mapping[str, tuple[str, Any]],
    vocabularies: Mapping[str, str],
    languages: Mapping[str, str],
    **files: Files,
) -> None:
    """Draw SaGe beside its controls: a panel a statement and language, with a scale of its own.

    Args:
        claims: as `read_values` returns it.
        shown: id of a statement -> its headline, and what the paper prints.
        vocabularies: readings of SaGe and controls, and what they are called, from above.
        languages: code -> title.
        files: pdf, png and optionally style.
    """
    panels = panels_of(claims, shown, vocabularies, languages)
    styles = tokenizer_styles(vocabularies.values())
    looks = {name: styles[label] for name, label in vocabularies.items()}
    titles = [_title(*shown[name], languages[language]) for name, language in panels]
    heights = [_TICKS + _LANE * len(looks)] * math.ceil(len(panels) / _ACROSS)
    with drawing(heights, _ACROSS, stacks=False, **files) as (figure, grid):
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, ((name, _), points) in zip(grid.flat, panels.items(), strict=False):
            _draw_panel(axes, points, looks, shown[name][1])
        name_panels(grid.flat[: len(panels)], titles)
        lines = sum(max(map(_title_lines, row)) for row in grid)
        figure.set_figheight(figure.get_figheight() + _LINE * lines)
        controls = {k for points in panels.values() for k in points.index[points["is_control"]]}
        legend_above(figure, list(_handles(looks, vocabularies, controls)))


def _title(headline: str, paper: Any, language: str) -> str:
    """Return the title of a panel; it has the paper's words where the paper prints no value."""
    words = f" (paper: {paper})" if isinstance(paper, str) else ""
    return f"{headline}, {language}{words}"


def _title_lines(axes: Axes) -> int:
    title = axes.get_title("left") or axes.get_title()
    return 1 + title.count("\n")


def _draw_panel(
    axes: Axes, points: pd.DataFrame, looks: Mapping[str, TokenizerStyle], paper: Any
) -> None:
    if isinstance(paper, int | float):
        axes.axvline(paper, color="black", linewidth=1, zorder=1)
    for place, (name, style) in enumerate(looks.items()):
        if name in points.index:
            point = points.loc[name]
            ends = [point["low"], point["high"]]
            axes.plot(ends, [place, place], color=style.colour, linewidth=1)
            axes.plot(point["value"], place, **_mark(style, point["is_control"]))
    axes.set_ylim(len(looks) - 0.4, -0.6)
    axes.set_yticks([])
    axes.grid(visible=True, axis="x")
    axes.margins(x=0.06)
    few_round_ticks(axes)


def _mark(style: TokenizerStyle, is_control: bool) -> dict[str, Any]:
    """Return how a vocabulary is drawn: the marks of controls are open."""
    inside = "white" if is_control else style.colour
    return {"color": style.colour, "marker": style.mark, "markerfacecolor": inside, **_MARK}


def _handles(
    looks: Mapping[str, TokenizerStyle], labels: Mapping[str, str], controls: set[str]
) -> Iterator[Line2D]:
    for name, style in looks.items():
        yield Line2D([], [], label=labels[name], **_mark(style, name in controls))
    stroke = {"marker": "|", "markersize": 8, "linestyle": "none"}
    yield Line2D([], [], label=_PAPER, color="black", **stroke)
