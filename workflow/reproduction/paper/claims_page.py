"""`claims.md`: the claims of a run as a page of Markdown; how their values are written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.paper.formats import NOTHING, number, p_value, page_environment
from reproduction.paper.measures import FAMILIES, SIGNIFICANT
from reproduction.paper.statements import VERDICTS
from reproduction.paper.tally import (
    RANDOM,
    count_by_reading,
    count_verdicts,
    numbers,
    shares_that_agree,
    tally,
)

# Shown before the name of a verdict, so that colour is not the only sign.
SIGNS = dict(zip(VERDICTS, ("✓", "≈", "?", "✗", "–"), strict=True))


def claims_markdown(records: Sequence[Mapping[str, Any]], template: Path | str) -> str:
    """Return the claims as Markdown: counts on top, then a table for each verdict.

    Args:
        records: see `claims_frame.records_of`.
        template: `claims.md.jinja`.
    """
    filters = {
        "cell": lambda text: text.replace("|", "\\|"),
        "value": show_value,
        "measured": show_measured,
        "p_value": show_p_value,
        "control": show_control,
        "agreeing": show_agreeing,
        "tokenizer": _show_tokenizer,
        "notes": show_notes,
    }
    tested = Counter((record["tokenizer"], record["family"]) for record in records)
    environment = page_environment(template, filters)
    page = environment.get_template(Path(template).name).render(
        records=records,
        verdicts=VERDICTS,
        counts=count_verdicts(records),
        readings=count_by_reading(records),
        tallied=tally(records),
        significant=SIGNIFICANT,
        families=FAMILIES,
        tested={
            family: [f"{name} {count}" for (name, of), count in tested.items() if of == family]
            for family in FAMILIES
        },
        tests=sorted({record["test"] for record in records if record["test"]}),
    )
    return page.rstrip("\n") + "\n"


def _show_tokenizer(record: Mapping[str, Any]) -> str:
    name, preset = record["tokenizer"], record["preset"]
    return f"{name} ({preset})" if preset else name


def show_value(value: Any) -> str:
    """Return a value as text: four significant digits, from 1000 on whole numbers."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return " to ".join(show_value(one) for one in value)
    return number(value, ",.0f" if abs(value) >= 1000 else ".4g")


def show_measured(record: Mapping[str, Any]) -> str:
    """Return the measured value with its interval, as precise as the interval is narrow."""
    value, low, high = record["value"], record["low"], record["high"]
    if low is None or high is None:
        return show_value(value)
    decimals = _decimals(value, (high - low) / 2)
    shown, *bounds = (number(one, f",.{decimals}f") for one in (value, low, high))
    return f"{shown} [{bounds[0]}, {bounds[1]}]"


def show_control(record: Mapping[str, Any], control: str = RANDOM) -> str:
    """Return what a control gives: of several seeds mean, lowest and highest; empty for nothing,
    and for the words of several.
    """
    values = record["controls"].get(control, ())
    known = numbers(values)
    if len(values) == 1:
        return show_value(values[0])
    if not known.size:
        return ""
    mean, low, high = known.mean(), known.min(), known.max()
    decimals = _decimals(mean, (high - low) / 2)
    shown = [number(one, f",.{decimals}f") for one in (mean, low, high)]
    return "{} ({} to {})".format(*shown)


def show_agreeing(record: Mapping[str, Any]) -> str:
    """Return the controls for which the statement holds too, of several seeds how many."""
    met = []
    for name, share in shares_that_agree(record).items():
        seeds = len(record["controls"][name])
        of_seeds = f" {record['agreeing'][name]} of {seeds}" if seeds > 1 else ""
        met += [name + of_seeds] if share else []
    return ", ".join(met)


def _decimals(value: float, half_width: float) -> int:
    """Return the decimals of a value: three significant digits, more for a narrower interval."""
    of_value = 2 - math.floor(math.log10(abs(value))) if value else 0
    of_interval = -math.floor(math.log10(half_width)) if half_width > 0 else 0
    return max(0, min(3, of_value), of_interval)


def show_p_value(record: Mapping[str, Any]) -> str:
    """Return the adjusted p-value; empty without a test or a verdict."""
    return "" if record["p_adjusted"] is None else p_value(record["p_adjusted"])


def show_notes(record: Mapping[str, Any]) -> str:
    """Return the reason of a verdict and the marks of a record."""
    marks = [
        record["reason"] or "",
        "beyond" if record["beyond"] else "",
        "variant" if record["uncounted"] == "variant" else "",
        "constructed" if record["constructed"] else "",
        "timed" if record["timing"] else "",
    ]
    return "; ".join(mark for mark in marks if mark)
