"""The figure of all methods (`paper.evidence`), which the paper does not have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reproduction.paper.evidence import BITS, unit_of
from reproduction.paper.forest import MARKS, SHADE, forest, wrapped
from reproduction.paper.style import Files, tokenizer_styles
from sagevocab.errors import UserError

_ACROSS = 4  # panels side by side
_WIDTH = 16  # characters that a panel holds


def figure_evidence(table: Files, *, labels: Sequence[str], baseline: str, **files: Files) -> None:
    """Draw the differences from BPE, right the better: a panel a measure, a row a tokenizer.

    A colour is a tokenizer, a mark a language; it is filled where the difference is significant. A
    true difference in the grey is found less often than four times in five.

    Args:
        table: csv of `table_evidence`.
        labels: of all tokenizers in their order.
        baseline: label of BPE.
        files: pdf, png and optionally style.

    Raises:
        UserError: the table is missing or damaged.
    """
    data = _read_table(table, baseline)
    factors = np.array([unit_of(metric)[1] for metric in data["metric"]])
    sign = factors * np.where(data["more_is_better"], 1, -1)
    languages = list(dict.fromkeys(data["language"]))
    styles = tokenizer_styles(labels)
    marks = pd.DataFrame(
        {
            "strip": "",
            "panel": wrapped(data["measure"], _WIDTH),
            "unit": [
                _unit(*unit) for unit in zip(data["metric"], data["more_is_better"], strict=True)
            ],
            "row": data["tokenizer"],
            "group": data["language"],
            "x": sign * data["difference"],
            "low": sign * data["low"],
            "high": sign * data["high"],
            "filled": data["significant"].astype(bool),
            "colour": [styles[label].colour for label in data["tokenizer"]],
            "marker": [MARKS[languages.index(name) % len(MARKS)] for name in data["language"]],
        }
    )
    shade = (factors * data["seen_from"]).groupby(marks["panel"]).max()
    forest(marks, across=_ACROSS, shade=shade.to_dict(), handles=_handles(), **files)


def _read_table(path: Files, baseline: str) -> pd.DataFrame:
    try:
        data = pd.read_csv(path)
        return data[data["tested"].astype(bool) & (data["baseline"] == baseline)]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: is no table of evidence ({error}); delete it") from error


def _unit(metric: str, more_is_better: bool) -> str:
    unit = unit_of(metric)[0]
    name = "bits per character" if unit == BITS else f"{unit} (× 100)"
    return f"{name},\n{'more' if more_is_better else 'fewer'} →"


def _handles() -> list[Line2D | Patch]:
    hollow = {"color": "black", "linestyle": "none", "marker": "o", "markersize": 3.8}
    return [
        Line2D([], [], label="open: not significant", markerfacecolor="white", **hollow),
        Patch(label="power below 80 %", facecolor=SHADE),
    ]
