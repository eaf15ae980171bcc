"""One look for every figure: a colour and a mark per tokenizer, and files of stable bytes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
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
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from reproduction.paper.formats import Files
from sagevocab.errors import UserError
from sagevocab.files import atomic_path

# It logs every table of a font that it embeds in a PDF.
logging.getLogger("fontTools").setLevel(logging.WARNING)

Styles = Files | Sequence[Files] | None
GREY = "#6E6E6E"
_PER_INCH = 16  # letters of 8 points
_NARROW = 4  # inches; a column of the paper has 3.03, its text block 6.3
_LEGEND_LINE = 0.17  # inches
# Tick positions per decade, by the ratio of the limits of a log axis.
_LOG_TICKS = {10: (1, 2, 5), 3: (1, 1.5, 2, 3, 4, 6, 8), 0: (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8)}


@dataclass(frozen=True)
class TokenizerStyle:
    """How one tokenizer is drawn, in every figure."""

    colour: str
    fill: str
    hatch: str
    line: str | tuple
    mark: str

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

    @property
    def dot(self) -> dict:
        """Keyword arguments of a mark without a line."""
        return {"color": self.colour, "marker": self.mark, "linestyle": "none"}


# Any two colours of the tokenizers of config.yaml are 11 or more apart (CIE76), also with full
# deuteranopia or protanopia; the first three differ in lightness, too. Fill, hatch, dash and mark
# repeat the distinction. The first are after Okabe and Ito; controls have tints and shades of the
# version of SaGe that they take the contexts from.
_KNOWN = {
    "BPE": TokenizerStyle("#00508C", "#00508C", "", "-", "o"),
    "SaGe (printed)": TokenizerStyle("#D55E00", "#F9C9A5", "//////", (0, (4, 1.5)), "D"),
    "SaGe (released)": TokenizerStyle("#2CA58D", "#E4F5F0", "......", (0, (1, 1.2)), "s"),
    "pruned at random": TokenizerStyle(GREY, "#D4D4D4", "", (0, (6, 1, 1, 1)), "v"),
    "least frequent pruned": TokenizerStyle("#B64C96", "#D9A3C9", "xxxxx", (0, (3, 1, 1, 1)), "^"),
    "counts": TokenizerStyle("#222222", "#BBBBBB", "-----", (0, (8, 2)), "P"),
    "counts, ranked again": TokenizerStyle("#B7B79C", "#E4E4DA", "----", (0, (8, 2, 2, 2)), "*"),
    "SaGe (printed) without vectors": TokenizerStyle(
        "#F2A65A", "#FBE3C9", "\\\\", (0, (5, 1, 1, 1)), "<"
    ),
    "SaGe (printed), vectors of shuffled words": TokenizerStyle(
        "#7A3300", "#C9A68F", "++++", (0, (2, 1)), ">"
    ),
    "SaGe (released) without vectors": TokenizerStyle(
        "#64CBBC", "#D2EFEA", "\\\\\\", (0, (5, 1, 1, 1, 1, 1)), "<"
    ),
    "SaGe (released), vectors of shuffled words": TokenizerStyle(
        "#085843", "#9DBDB4", "++++++", (0, (2, 1, 1, 1)), ">"
    ),
    "UnigramLM": TokenizerStyle("#2588BA", "#ABD4E8", "|||||", (0, (7, 1)), "X"),
    "WordPiece": TokenizerStyle("#957934", "#D9CBA5", "oooo", (0, (2, 2)), "p"),
    "BPE (merges)": TokenizerStyle("#7F96E0", "#D3DBF5", "xx", (0, (6, 2, 2, 2)), "h"),
    "SaGe (UnigramLM)": TokenizerStyle("#D9B000", "#F3E5A6", "//", (0, (3, 3)), "d"),
    "UnigramLM (greedy)": TokenizerStyle("#332288", "#B9B4DB", "..", (0, (1, 3)), "*"),
    "extra tokens": TokenizerStyle("#999933", "#DEDEBB", "--", (0, (9, 3)), "8"),
    "swallowed": TokenizerStyle("#C81F56", "#EBAEC2", "||", (0, (4, 1, 1, 1, 1, 1)), "H"),
    "bigram code": TokenizerStyle("#3B1FD1", "#CFC8F7", "oo", (0, (6, 1)), "X"),
    "unigram code": TokenizerStyle("#A08CFF", "#E3DDFF", "..", (0, (2, 2, 6, 2)), "p"),
    "bigram code, shuffled words": TokenizerStyle(
        "#0B0060", "#B5B0DC", "++", (0, (1, 1, 4, 1)), ">"
    ),
}
# The loss of the authors' program alone, in the place of the program: a run compares one of them.
_KNOWN |= {
    label.replace("(released)", "(released loss)"): look
    for label, look in _KNOWN.items()
    if "(released)" in label
}
# Of the others, by their order.
_FURTHER = (
    TokenizerStyle("#882255", "#D9B3C4", "\\\\", (0, (5, 2, 1, 2)), "h"),
    TokenizerStyle("#117733", "#A9CFB4", "++", (0, (3, 2)), "d"),
    TokenizerStyle("#0072B2", "#A6CCE3", "oo", (0, (1, 2)), "*"),
    TokenizerStyle("#994F00", "#DABFA0", "**", (0, (8, 3, 2, 3)), "8"),
)
_BEYOND = TokenizerStyle("#555555", "#EEEEEE", "", "-", ".")


def tokenizer_styles(labels: Iterable[str]) -> dict[str, TokenizerStyle]:
    """Return the style of each label: its own by name, the others' by their order.

    Beyond them all labels look the same; a row's name tells them apart, a legend refuses them.
    """
    further = chain(_FURTHER, repeat(_BEYOND))
    return {label: _KNOWN.get(label) or next(further) for label in labels}


@contextmanager
def drawing(
    heights: Sequence[float],
    columns: int = 1,
    *,
    pdf: Files,
    png: Files,
    style: Styles = None,
    stacks: bool = True,
    together: int = 1,
    stacked_height: float = 1.0,
    **grid: object,
) -> Iterator[tuple[Figure, np.ndarray]]:
    """Yield a figure and its axes (rows x columns); write both files when the block ends well.

    heights: inches of each row of panels. style: matplotlib style file, or several, whose
    `figure.figsize` gives the width. stacks: in a narrow figure panels stand one below the other,
    those of a column in as many rows as `together` says first, each of `stacked_height` times its
    height. grid: further arguments of `Figure.subplots`.
    """
    with styled(style):
        figure = Figure()
        stacks = stacks and is_narrow()
        if stacks:
            heights = [stacked_height * height for height in heights]
            panels = _stacked(figure, heights, columns, together, **grid)
        else:
            figure.set_figheight(0.35 + sum(heights))
            shape = {"nrows": len(heights), "ncols": columns, "height_ratios": heights}
            panels = figure.subplots(**shape, squeeze=False, **grid)
        yield figure, panels
        if stacks:
            _repeat_labels(panels)
        _save(figure, pdf, {"CreationDate": None, "Creator": None, "Producer": None})
        _save(figure, png, {"Software": None})


def styled(style: Styles) -> AbstractContextManager[None]:
    """Return a context with matplotlib's settings of one style file or several; None for none."""
    names = [style] if isinstance(style, str | Path) else style or []
    return matplotlib.style.context([str(name) for name in names])


def is_narrow() -> bool:
    """Whether a figure of the present style fits a column and no page."""
    return matplotlib.rcParams["figure.figsize"][0] < _NARROW


def _stacked(
    figure: Figure,
    heights: Sequence[float],
    columns: int,
    together: int,
    sharex: bool | str = False,
    sharey: bool | str = False,
) -> np.ndarray:
    """Return panels one below the other, as rows and columns that share axes as side by side."""
    blocks = np.arange(len(heights) * columns).reshape(-1, columns, together)
    places = blocks.swapaxes(1, 2).reshape(len(heights), columns)
    ratios = np.empty(places.size)
    ratios[places] = np.reshape(heights, (-1, 1))
    figure.set_figheight(0.35 + ratios.sum())
    axes = figure.subplots(nrows=len(ratios), height_ratios=ratios, squeeze=False)
    panels = axes[places, 0]
    for axis, shared in (("sharex", sharex), ("sharey", sharey)):
        groups = {"row": panels, "col": panels.T, True: [panels.ravel()]}.get(shared, [])
        for first, *others in groups:
            for other in others:
                getattr(other, axis)(first)
    return panels


def _repeat_labels(panels: np.ndarray) -> None:
    """Name every panel of a row at its left, where they stand one below the other."""
    for first, *others in panels:
        for axes in others:
            axes.set_ylabel(axes.get_ylabel() or first.get_ylabel())


def _save(figure: Figure, path: Files, metadata: dict[str, None]) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, metadata=metadata)


def name_panels(panels: Iterable[Axes], titles: Iterable[str] = repeat("")) -> None:
    """Write a letter above each panel, (a), (b), ..., and its title beside it; none above one."""
    panels = list(panels)
    for number, (axes, title) in enumerate(zip(panels, titles, strict=False)):
        letter = chr(ord("a") + number % 26) * (1 + number // 26)
        inches = axes.get_position().width * axes.figure.get_figwidth()
        lines = (f"({letter}) {title}" if len(panels) > 1 else title).rstrip().split("\n")
        axes.set_title("\n".join(_wrapped(line, inches) for line in lines))


def name_row(axes: Axes, title: str, label: str) -> None:
    """Write what a row of panels is of (a language, a text) left of the label of its y axis."""
    inches = axes.get_position().height * axes.figure.get_figheight()
    axes.set_ylabel(f"{_wrapped(title, inches)}\n{label}".strip())


def _wrapped(text: str, inches: float) -> str:
    return fill(text, max(1, int(_PER_INCH * inches)), break_on_hyphens=False)


def label_below(figure: Figure, text: str) -> None:
    """Write one label for the x axes of all panels."""
    figure.supxlabel(fill(text, int(14.3 * figure.get_figwidth()), break_on_hyphens=False))


def bar_handles(styles: Mapping[str, TokenizerStyle]) -> list[Patch]:
    """Return bars for a legend."""
    _require_different(styles)
    return [Patch(label=label, **style.bar) for label, style in styles.items()]


def curve_handles(styles: Mapping[str, TokenizerStyle]) -> list[Line2D]:
    """Return lines for a legend."""
    _require_different(styles)
    return [Line2D([], [], label=label, **style.curve) for label, style in styles.items()]


def _require_different(styles: Mapping[str, TokenizerStyle]) -> None:
    if len(set(styles.values())) < len(styles):
        raise UserError(
            f"config key figures.tokenizers: two of {', '.join(styles)} look the same in a figure; "
            "list fewer"
        )


def legend_above(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend above all panels, on as few lines as its width allows; each makes room."""
    options = {"handles": handles, "loc": "outside upper center"}
    room = (
        figure.bbox.width - 2 * figure.dpi * matplotlib.rcParams["figure.constrained_layout.w_pad"]
    )
    for lines in range(1, len(handles) + 1):
        legend = figure.legend(ncols=math.ceil(len(handles) / lines), **options)
        if legend.get_window_extent().width <= room or lines == len(handles):
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * (lines - 1))


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


def whole_numbers(axes: Axes) -> None:
    """Write the ticks of the y axis as 1,000 and not as 1000 or 1e3."""
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def few_round_ticks(axes: Axes) -> None:
    """Give the x axis of a panel three round ticks, or a few more; two or three in a column."""
    few = {"steps": [1, 2, 4, 5, 10], "min_n_ticks": 2} if is_narrow() else {"min_n_ticks": 3}
    axes.xaxis.set_major_locator(MaxNLocator(3, **{"steps": [1, 2, 5, 10], **few}))


def logarithmic_shares(panels: Iterable[Axes]) -> None:
    """Make the y axes of percentages logarithmic, up to 100; a share of 0 has no place on them."""
    panels = list(panels)
    drawn = np.concatenate([line.get_ydata() for axes in panels for line in axes.lines])
    lowest = min(drawn[drawn > 0].min(), 0.1)
    for axes in panels:
        axes.set_yscale("log")
        axes.set_ylim(0.6 * lowest, 150)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def logarithmic_differences(panels: Iterable[Axes], linear: float = 0.1) -> None:
    """Make y axes logarithmic on both sides of 0; between -linear and linear they are linear."""
    panels = list(panels)
    drawn = np.concatenate([line.get_ydata() for axes in panels for line in axes.lines])
    reach = 1.5 * max(linear, np.abs(drawn).max())
    powers = linear * 10.0 ** np.arange(1 + np.floor(np.log10(reach / linear)))
    for axes in panels:
        axes.set_yscale("symlog", linthresh=linear)
        axes.set_ylim(-reach, reach)
        axes.set_yticks([*-powers[::-1], 0, *powers])
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def plain_log_scale(axes: Axes) -> None:
    """Make the y axis logarithmic with round ticks written in full; more of them if it is short."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = next(steps for times, steps in _LOG_TICKS.items() if high > times * low)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_minor_locator(NullLocator())
    whole_numbers(axes)
