"""Claims counted: by verdict, and how many SaGe and its controls meet.

A vocabulary meets a statement if its value alone lies in the statement's target
(`statements.meets`), without interval and test, which controls do not have. Statements are not
independent: the same is said of two windows, three domains and two languages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper.statements import VERDICTS

Record = Mapping[str, Any]
# The controls of these methods, by whatever name a configuration has them.
RANDOM, FREQUENCY = "random", "frequency"


def numbers(values: Iterable[float | str]) -> np.ndarray:
    """Return the numbers among what the seeds of a control give: float64[seeds], none for words."""
    return np.array([value for value in values if not isinstance(value, str)], dtype=float)


def count_verdicts(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Return verdict -> {real, constructed, beyond} -> number of records.

    Each record counts by its `origin_of`; those without one do not count.
    """
    counts = Counter((record["verdict"], origin_of(record)) for record in records)
    origins = ("real", "constructed", "beyond")
    return {verdict: {one: counts[verdict, one] for one in origins} for verdict in VERDICTS}


def count_by_reading(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Return reading of SaGe -> verdict -> number of the paper's statements on real data."""
    of_readings = [record for record in records if record["preset"]]
    real = (record for record in of_readings if origin_of(record) == "real")
    counts = Counter((record["tokenizer"], record["verdict"]) for record in real)
    names = dict.fromkeys(record["tokenizer"] for record in of_readings)
    return {name: {verdict: counts[name, verdict] for verdict in VERDICTS} for name in names}


def origin_of(record: Record) -> str | None:
    """Return what a record is counted as: `real`, `constructed` or `beyond`; None if it is not.

    A definition, which no pruning can break, and a variant, another reading of what is counted
    already, are not counted. `beyond` is what the paper does not say of the language, `constructed`
    one of its statements on examples that a rule makes, `real` any other.
    """
    if record["uncounted"]:
        return None
    if record.get("beyond"):
        return "beyond"
    return "constructed" if record["constructed"] else "real"


def tally(records: Sequence[Record]) -> tuple[int, dict[str, float]]:
    """Count what SaGe's tokenizers and the controls meet of the paper's statements on real data.

    records: of SaGe's tokenizers, with controls. Statements that are no numbers are left out.

    Returns:
        How many statements could be measured on all, and how many of them each tokenizer and each
        control meets, most first; of several seeds of a control the mean.
    """
    numeric = [r for r in records if origin_of(r) == "real" and not isinstance(r["value"], str)]
    rows: dict[tuple[str, str | None], dict[str, float]] = {}
    for record in filter(lambda r: r["controls"] and r["meets"] is not None, numeric):
        key = (record["id"], record["language"])
        shares = rows.setdefault(key, {record["tokenizer"]: 0.0, **shares_that_agree(record)})
        shares[record["tokenizer"]] = float(record["meets"])
    whole = pd.DataFrame(rows.values()).dropna()
    return len(whole), whole.sum().sort_values(ascending=False, kind="stable").to_dict()


def shares_that_agree(record: Record) -> dict[str, float]:
    """Return control -> the share of its seeds that meet a record's statement."""
    return {
        name: record["agreeing"][name] / len(seeds) for name, seeds in record["controls"].items()
    }


def controls_that_agree(record: Record) -> list[str]:
    """Return the controls that meet a record's statement: more than half of their seeds do."""
    return [name for name, share in shares_that_agree(record).items() if share > 1 / 2]
