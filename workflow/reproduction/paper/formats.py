"""How values are printed in tables and sentences, and the templates of pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

NOTHING = "–"  # a cell without a value
MINUS = "−"
_WORD = re.compile(r"[^\W\d_]{4}")
_LONGEST_NUMBER = 34  # characters

Files = str | Path
# A row of numbers by column, and a function that prints the value of one column.
Row = Mapping[str, Any]
Show = Callable[[Row, str], str]


def listed(names: Sequence[object]) -> str:
    """Return names as a list in a sentence: "a, b and c"."""
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def number(value: float, form: str) -> str:
    """Return a number as text, with a minus sign; form: as in `,.2f`."""
    return format(value, form).replace("-", MINUS)


def rounded(value: Any) -> Any:
    """Return a float to ten significant digits, and any other value as it is.

    The digits beyond depend on the processor and on the number of threads of its linear algebra.
    """
    return float(f"{value:.10g}") if isinstance(value, float) else value


def p_value(value: float, name: str = "") -> str:
    """Return a p-value to three decimals, after `name` as in `p = 0.012` and `p < 0.001`."""
    shown, sign = ("< 0.001", "") if value < 0.001 else (f"{value:.3f}", "= ")
    return f"{name} {sign}{shown}" if name else shown


def decimal(form: str, factor: float = 1) -> Show:
    """Return a printer of a value times `factor`; form: as in `,.2f`."""
    return lambda row, name: NOTHING if pd.isna(row[name]) else number(factor * row[name], form)


def with_half(value: float, low: float, high: float, form: str) -> str:
    """Return a value ± half of its interval, if it has one; form: of the value, as in `+.2f`."""
    if pd.isna(low):
        return number(value, form)
    return f"{number(value, form)} ± {number((high - low) / 2, form.removeprefix('+'))}"


def difference(row: Row, form: str, factor: float = 1) -> str:
    """Return the column `difference` times `factor`, with half of its interval, `low` to `high`."""
    return with_half(*(factor * row[name] for name in ("difference", "low", "high")), form)


def plus_minus(form: str, factor: float = 1) -> Show:
    """Return a printer of a value ± half of its interval, `{name}_low` to `{name}_high`."""

    def show(row: Row, name: str) -> str:
        if pd.isna(row.get(name)):
            return NOTHING
        return with_half(*(factor * row[f"{name}{of}"] for of in ("", "_low", "_high")), form)

    return show


def is_number(cell: object) -> bool:
    """Return whether a cell is a number with what belongs to it, which no line may break."""
    is_short = isinstance(cell, str) and len(cell) <= _LONGEST_NUMBER
    return is_short and bool(re.search(r"\d", cell)) and not _WORD.search(cell)


def are_numbers(column: Iterable[object]) -> bool:
    """Return whether all cells of a column are numbers, but for those without a value."""
    return all(cell in ("", NOTHING) or is_number(cell) for cell in column)


def page_environment(
    template: Path | str, filters: Mapping[str, Callable[..., object]]
) -> jinja2.Environment:
    """Return the environment of the templates beside one; values in HTML are escaped.

    A name that a template misses is an error.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(template).parent),
        autoescape=jinja2.select_autoescape(("html", "html.jinja")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment
