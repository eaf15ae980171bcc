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
    others = [label for label in labels if label in set(data["tokenizer"])]
    # A row a tokenizer in every panel, also where it was not run.
    known = data.set_index(["measure", "tokenizer"])
    every = pd.MultiIndex.from_product([data["measure"].unique(), others], names=known.index.names)
    missing = every.difference(known.index, sort=False)
    rows = pd.concat([known, pd.DataFrame(index=missing)]).loc[every.unique()].reset_index()
    units = data.groupby("measure")[["metric", "more_is_better"]].first().loc[rows["measure"]]
    factors = np.array([unit_of(metric)[1] for metric in units["metric"]])
    sign = factors * np.where(units["more_is_better"], 1, -1)
    languages = list(dict.fromkeys(data["language"]))
    shown = rows["language"].fillna(languages[0])
    styles = tokenizer_styles(labels)
    marks = pd.DataFrame(
        {
            "strip": "",
            "panel": wrapped(rows["measure"], _WIDTH),
            "unit": [_unit(metric) for metric in units["metric"]],
            "row": rows["tokenizer"],
            "group": shown,
            "x": sign * rows["difference"],
            "low": sign * rows["low"],
            "high": sign * rows["high"],
            "filled": rows["significant"].eq(True),
            "colour": [styles[label].colour for label in rows["tokenizer"]],
            "marker": [MARKS[languages.index(name) % len(MARKS)] for name in shown],
        }
    )
    shade = (factors * rows["seen_from"]).groupby(marks["panel"]).max()
    forest(marks, across=_ACROSS, shade=shade.to_dict(), handles=_handles(), **files)


def _read_table(path: Files, baseline: str) -> pd.DataFrame:
    try:
        data = pd.read_csv(path)
        return data[data["tested"].astype(bool) & (data["baseline"] == baseline)]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: is no table of evidence ({error}); delete it") from error


def _unit(metric: str) -> str:
    unit = unit_of(metric)[0]
    return "bits per character,\nfewer →" if unit == BITS else f"{unit} (× 100),\nmore →"


def _handles() -> list[Line2D | Patch]:
    hollow = {"color": "black", "linestyle": "none", "marker": "o", "markersize": 3.8}
    return [
        Line2D([], [], label="open: not significant", markerfacecolor="white", **hollow),
        Patch(label="power below 80 %", facecolor=SHADE),
    ]
