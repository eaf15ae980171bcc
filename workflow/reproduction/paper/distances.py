"""How far readings of the loss, and controls, are from the numbers that the paper prints.

The numbers are the five of Section 4 that a vocabulary decides, in English. A distance is the root
mean square of differences from the paper, each in standard deviations over the readings, so that
none counts more because it moves more. No reading comes near one of the five, SaGe-only pieces of 5
or more characters, which then decides; so there is a distance of the other four, too. That was
added when the distances of five were known, and all values had been seen before either was defined:
they describe, and test nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reproduction.paper.claims_frame import CONTROL, read_claims_frame
from reproduction.paper.control_pieces import LABELS
from reproduction.paper.formats import NOTHING, Files, number
from reproduction.paper.style import drawing, legend_above, name_panels
from reproduction.paper.table import Table

NUMBERS = {
    "token_ratio": "tokens over BPE's",
    "sage_only_word_initial": "SaGe-only, start a word",
    "bpe_only_word_initial": "BPE-only, start a word",
    "bpe_only_short": "BPE-only, 2 or 3 characters",
    "sage_only_long": "SaGe-only, 5 or more characters",
}
_UNREACHED = "sage_only_long"
_DISTANCES = {"distance": [*NUMBERS], "distance_of_four": [n for n in NUMBERS if n != _UNREACHED]}
_PAPER = "the paper"
_MARK = {"color": "#00508C", "marker": "o", "markersize": 3.5, "linestyle": "none"}
_LOOKS = {750_000: _MARK, 150_000: {**_MARK, "markerfacecolor": "white"}}
_ROW = 0.16  # inches of a reading


def distances(readings: pd.DataFrame, paper: pd.Series, scale: pd.Series) -> pd.Series:
    """Return the distance of each row from the paper's numbers.

    Args:
        readings: a row a reading, a column a number.
        paper: the paper's numbers.
        scale: the unit of each number.
    """
    return np.sqrt((((readings - paper) / scale) ** 2).mean(axis=1))


def distance_rows(table_readings: Path, claims: Path) -> pd.DataFrame:
    """Return the five numbers of every reading and control of English, and the distance.

    Args:
        table_readings: csv of the readings' means over seeds, on 150,000 lines.
        claims: frame of the claims of the reference run, on 750,000 lines.

    Returns:
        Columns: lines, reading, the five of `NUMBERS`, distance, distance_of_four; the paper first,
        then the nearest by four first for each number of lines.
    """
    sample = pd.read_csv(table_readings).query("language == 'English' and scale == 'sample'")
    sample = sample[sample["kind"] == "quantity"]
    sample = sample[sample["id"].isin(NUMBERS)].astype({"mean": "float64", "paper": "float64"})
    of_readings = sample.pivot_table("mean", "label", "id")[[*NUMBERS]]
    paper = sample.groupby("id")["paper"].first()[[*NUMBERS]]
    frame = read_claims_frame(claims)
    chosen = (frame["language"] == "en") & (frame["corpus"] == "train")
    chosen &= frame["statement"].isin(NUMBERS) & frame["value"].notna()
    frame = frame[chosen & frame["seed"].notna()].astype({"value": "float64"})
    name = frame["control"].where(frame["role"] == CONTROL, frame["tokenizer"])
    whole = frame.assign(name=name.map(LABELS)).drop_duplicates(["name", "seed", "statement"])
    of_run = whole.pivot_table("value", "name", "statement")[[*NUMBERS]]
    parts = [paper.to_frame(_PAPER).T]
    for lines, values in ((150_000, of_readings), (750_000, of_run)):
        away = {
            name: distances(values[of], paper[of], of_readings[of].std())
            for name, of in _DISTANCES.items()
        }
        parts.append(values.assign(lines=lines, **away).sort_values("distance_of_four"))
    rows = pd.concat(parts).rename_axis("reading").reset_index()
    return rows[["lines", "reading", *NUMBERS, *_DISTANCES]]


def table_distances(rows: pd.DataFrame) -> Table:
    """Return the table of `distance_rows`."""
    cells = [
        [
            number(row["lines"], ",.0f"),
            row["reading"],
            *(number(row[name], ".3f") for name in NUMBERS),
            *(number(row[name], ".2f") for name in _DISTANCES),
        ]
        for row in rows.to_dict("records")
    ]
    cells = [[NOTHING if cell == "nan" else cell for cell in row] for row in cells]
    return Table(["lines", "", *NUMBERS.values(), "distance", "of the first four"], [cells], rows)


def figure_distances(rows: pd.DataFrame, **files: Files) -> None:
    """Draw the five numbers of every reading and control: a panel a number.

    An upright line is the paper's number; the nearest by four is at the top. files: pdf, png and
    style.
    """
    paper, *_ = rows.to_dict("records")
    shown = rows.dropna(subset="lines").sort_values("distance_of_four", ignore_index=True)
    height = 0.5 + _ROW * len(shown)
    with drawing([height], len(NUMBERS), sharey=True, **files) as (figure, [panels]):
        for axes, name in zip(panels, NUMBERS, strict=True):
            axes.axvline(paper[name], color="black", linewidth=0.8)
            for lines, look in _LOOKS.items():
                here = shown[shown["lines"] == lines]
                axes.plot(here[name], here.index, **look)
            axes.set_yticks(range(len(shown)), shown["reading"])
            axes.set_ylim(len(shown) - 0.5, -0.5)
            axes.grid(visible=True, axis="y")
            axes.tick_params(axis="y", length=0)
            axes.xaxis.set_major_locator(MaxNLocator(2))
        name_panels(panels, NUMBERS.values())
        handles = [Line2D([], [], label=f"{n:,} lines", **look) for n, look in _LOOKS.items()]
        legend_above(figure, [*handles, Line2D([], [], label=_PAPER, color="black", linewidth=0.8)])
