"""One look for every figure: a colour, hatch and line per tokenizer, and files of stable bytes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from sagevocab.errors import UserError
from sagevocab.state import atomic_path

# It logs every table of a font that it embeds in a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)

Files = str | Path
_NARROW = 5  # inches: a figure below it is for one column of a page

# After Okabe and Ito: hues that stay apart under every common colour blindness, the first three
# also in lightness. Fill, hatch and line repeat the distinction for a print in grey.
_COLOURS = ("#00508C", "#D55E00", "#2CA58D", "#AA4499", "#8C7000", "#56A4D9")
_FILLS = ("#00508C", "#F9C9A5", "#E4F5F0", "#C583B8", "#D9C66B", "#BBDDF5")
_HATCHES = ("", "//////", "......", "xxxxx", "-----", "|||||")
_LINES = (
    "-",
    (0, (4, 1.5)),
    (0, (1, 1.2)),
    (0, (6, 1, 1, 1)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
)
# Ticks within each power of ten of a log axis that spans more than so many times its lowest value.
_LOG_TICKS = {10: (1, 2, 5), 3: (1, 1.5, 2, 3, 4, 6, 8), 0: (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8)}
MOST_STYLES = len(_COLOURS)
_UNSTYLED = "#555555"  # for tokenizers beyond those that have a colour; their names tell them apart


@dataclass(frozen=True)
class TokenizerStyle:
    """How one tokenizer is drawn, in every figure."""

    colour: str
    fill: str
    hatch: str
    line: str | tuple

    @property
    def bar(self) -> dict:
        """Keyword arguments of a bar: an outline and a hatch of the colour on a fill of its own."""
        return {
            "facecolor": self.fill,
            "hatch": self.hatch,
            "edgecolor": self.colour,
            "linewidth": 0.6,
        }

    @property
    def curve(self) -> dict:
        """Keyword arguments of a line."""
        return {"color": self.colour, "linestyle": self.line}


def tokenizer_styles(labels: Iterable[str]) -> dict[str, TokenizerStyle]:
    """Style of each label: the order of the tokenizers decides, and it is the same in all figures.

    Raises:
        UserError: more tokenizers than a reader can tell apart.
    """
    labels = list(labels)
    if len(labels) > MOST_STYLES:
        raise UserError(
            f"config key tokenizers: a figure tells {MOST_STYLES} tokenizers apart, "
            f"got {len(labels)}; list fewer"
        )
    styles = map(TokenizerStyle, _COLOURS, _FILLS, _HATCHES, _LINES)
    return dict(zip(labels, styles, strict=False))


def tokenizer_colours(labels: Sequence[str]) -> dict[str, str]:
    """Colour of each label, also of more than `MOST_STYLES`, for figures that name every one."""
    styles = tokenizer_styles(labels[:MOST_STYLES])
    return {label: styles[label].colour if label in styles else _UNSTYLED for label in labels}


@contextmanager
def drawing(
    shape: tuple[int, int],
    *,
    height: float,
    pdf: Files,
    png: Files,
    style: Files | Iterable[Files] = (),
    fold: int | None = None,
    **grid: object,
) -> Iterator[tuple[Figure, np.ndarray]]:
    """Yield a figure and its axes (rows x columns); write both files when the block ends well.

    height: inches of one row. style: matplotlib style files, whose `figure.figsize` gives the
    width; the last one counts. fold: so many panels of a row stand side by side in a figure of one
    column, and the others below them. grid: further arguments of `Figure.subplots`.
    """
    rows, columns = shape
    files = [style] if isinstance(style, Files) else style
    with matplotlib.style.context(list(map(str, files))):
        figure = Figure()
        across = min(columns, fold) if fold and is_narrow(figure) else columns
        down = math.ceil(columns / across)
        figure.set_figheight(0.35 + height * rows * down)
        cells = figure.subplots(rows * down, across, squeeze=False, **grid)
        cells = cells.reshape(rows, down * across)
        for unused in cells[:, columns:].flat:
            unused.remove()
        yield figure, cells[:, :columns]
        _save(figure, pdf, {"CreationDate": None, "Creator": None, "Producer": None})
        _save(figure, png, {"Software": None})


def is_narrow(figure: Figure) -> bool:
    """Whether a figure is for one column of a page and not for its whole width."""
    return figure.get_figwidth() < _NARROW


def _save(figure: Figure, path: Files, metadata: dict[str, None]) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, metadata=metadata)


def row_titles(row: Iterable[Axes], title: str, columns: Sequence[str]) -> None:
    """Name a row of panels and, on the line below, each of its columns.

    The row's title starts above its first column and may extend over the others.
    """
    for number, (axes, column) in enumerate(zip(row, columns, strict=True)):
        axes.set_title(f"{'' if number else wrapped(axes.figure, title)}\n{column}")


def wrapped(figure: Figure, title: str) -> str:
    """Return a title on as many lines as it needs in a figure of this width."""
    return fill(title, 38 if is_narrow(figure) else 80, break_on_hyphens=False)


def label_below(figure: Figure, text: str) -> None:
    """Write one label for the x axes of all panels."""
    figure.supxlabel(fill(text, 52 if is_narrow(figure) else 90, break_on_hyphens=False))


def bar_legend(figure: Figure, styles: Mapping[str, TokenizerStyle]) -> None:
    """Put one legend of bars above all panels."""
    legend_above(figure, [Patch(label=label, **style.bar) for label, style in styles.items()])


def curve_legend(figure: Figure, styles: Mapping[str, TokenizerStyle]) -> None:
    """Put one legend of lines above all panels."""
    lines = [Line2D([], [], label=label, **style.curve) for label, style in styles.items()]
    legend_above(figure, lines)


def legend_above(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend above all panels, on as few lines as its width allows."""
    options = {"handles": handles, "loc": "outside upper center"}
    room = (
        figure.bbox.width - 2 * figure.dpi * matplotlib.rcParams["figure.constrained_layout.w_pad"]
    )
    for lines in range(1, len(handles) + 1):
        legend = figure.legend(ncols=math.ceil(len(handles) / lines), **options)
        if legend.get_window_extent().width <= room:
            return
        legend.remove()
    figure.legend(ncols=1, **options)


def draw_band(
    axes: Axes,
    at: np.ndarray,
    middle: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    style: TokenizerStyle,
) -> None:
    """Draw a tokenizer's curve and its interval; a curve of one place is a point."""
    axes.fill_between(at, low, high, color=style.colour, alpha=0.18, linewidth=0)
    axes.plot(at, middle, marker="o" if len(at) == 1 else "", **style.curve)


def grouped_bars(
    axes: Axes, heights: Mapping[str, np.ndarray], styles: Mapping[str, TokenizerStyle]
) -> None:
    """Draw one group of bars a position (0, 1, ...), one bar a label; arrays of equal length."""
    width = 0.84 / len(heights)
    for index, (label, values) in enumerate(heights.items()):
        shift = (index - (len(heights) - 1) / 2) * width
        axes.bar(np.arange(len(values)) + shift, values, width, **styles[label].bar)


def dress_rows(axes: Axes, lines: int, margin: float) -> None:
    """Separate rows of marks by lines below the first ones; the x axis alone has grid and ticks."""
    for place in range(lines):
        axes.axhline(place + 0.5, color="#D9D9D9", linewidth=0.5, zorder=0)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=margin)
    few_round_ticks(axes)


def whole_numbers(axes: Axes) -> None:
    """Write the ticks of the y axis as 1,000 and not as 1000 or 1e3."""
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def few_round_ticks(axes: Axes) -> None:
    """Give a narrow panel three round ticks on the x axis, or four if they are short to write.

    The limits are widened to the next round number where fewer lie within them.
    """
    low, high = axes.get_xlim()
    power = 10.0 ** np.floor(np.log10(high - low))
    for step in (part * power for part in (0.2, 0.5, 1, 2, 5)):
        first, last = int(np.ceil(low / step)), int(np.floor(high / step))
        if last - first < _most_ticks(first, last, step):
            break
    while last - first < 2:
        below, above = low - (first - 1) * step, (last + 1) * step - high
        first, last = (first - 1, last) if below < above else (first, last + 1)
    ticks = [number * step for number in range(first, last + 1)]
    axes.set_xticks(ticks)
    axes.set_xlim(min(low, ticks[0]), max(high, ticks[-1]))


def _most_ticks(first: int, last: int, step: float) -> int:
    return 4 if all(len(f"{number * step:.6g}") < 4 for number in (first, last)) else 3


def plain_log_scale(axes: Axes) -> None:
    """Make the y axis logarithmic with round ticks written in full; more of them if it is short."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = next(steps for times, steps in _LOG_TICKS.items() if high > times * low)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_minor_locator(NullLocator())
    whole_numbers(axes)
