"""Where the learning curves end and what it takes to get there, as one table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.paper.formats import MINUS, NOTHING, write_table
from sagevocab.paper.learning_curves import Curves, summarise_curves
from sagevocab.paper.notes import with_notes

Files = str | Path
Row = Mapping[str, Any]


def table_learning_curves(
    panels: Curves,
    *,
    baseline: str | None,
    seed: int,
    notes: Sequence[str],
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write final bits per character and word accuracy of every model, and what it needed.

    panels: as `read_curves` gives them. baseline: label of BPE, None if it has no model. seed:
    of the bootstrap. notes: further sentences, of the models' budget and the presets.
    Source: paper, Section 4, "Subword Fertility" (fewer update steps; left to future work).
    """
    data = summarise_curves(panels, baseline=baseline, seed=seed)
    columns = [c for c in _columns(baseline) if c[2] in data and data[c[2]].notna().any()]
    rows, blocks = [], []
    for language, block in data.groupby("language", sort=False):
        blocks += [len(rows)] if rows else []
        for place, row in enumerate(block.to_dict("records")):
            cells = [form(row, name) for *_, name, form in columns]
            rows.append(["" if place else language, row["tokenizer"], *cells])
    header = [("Language", ""), ("Tokenizer", ""), *(column[:2] for column in columns)]
    shown = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))
    note = with_notes(_note(data, baseline), notes)
    align = "ll" + "r" * len(columns)
    files = {"tex": tex, "csv": csv, "md": md}
    write_table(shown, data, align=align, note=note, blocks=blocks, **files)


def _note(data: pd.DataFrame, baseline: str | None) -> str:
    hours = data["seconds_spent"] / 3600
    parts = [
        f"A model took {_span(data['step_spent'], ',.0f')} updates, {_span(hours, '.2g')} hours. "
        f"On {_span(data['words'], ',d')} "
        f"words of {_span(data['lines'], ',d')} held-out lines; ±: half of the 95 % bootstrap "
        "interval over lines, which says nothing of another pretraining."
    ]
    if baseline is not None and len(data) > 1:
        parts.append(
            f"Difference: tokenizer minus {baseline}, on the same lines; p: labels exchanged "
            "within lines, by Holm over tokenizers and languages. Ratios: what the tokenizer needs "
            f"over what {baseline} needs for the worse of the two final values, which both reach, "
            "with its interval; ≤ or ≥ where one was there at its first validation. Time includes "
            "validations and depends on what else the machine did; intervals are over lines alone. "
            "A model sees of how many pieces a hidden word is, which tells more where they are "
            "many."
        )
    if data["seeds"].max() > 1:
        parts.append("Seeds: standard deviation of the final value over pretraining seeds.")
    return " ".join(parts)


def _span(values: pd.Series, form: str) -> str:
    low, high = format(values.min(), form), format(values.max(), form)
    return low if low == high else f"{low} to {high}"


def _columns(baseline: str | None) -> list[tuple[str, str, str, Callable[[Row, str], str]]]:
    """Return group, column, field of the data and how it is printed."""
    bits, words = "Bits per character", "Words right (%)"
    reach = f"To {baseline}'s final bits"
    ratio = f"Needed, over {baseline}"
    return [
        (bits, "final", "bits_per_character", _plus_minus(1, 3)),
        (bits, "difference", "bits_per_character_difference", _tested(1, 3)),
        (bits, "seeds", "bits_per_character_sd", _spread(1, 3)),
        (words, "final", "word_accuracy", _plus_minus(100, 1)),
        (words, "difference", "word_accuracy_difference", _tested(100, 1)),
        (words, "seeds", "word_accuracy_sd", _spread(100, 1)),
        (reach, "updates", "step_to_baseline", _amount(1)),
        (reach, "M characters", "characters_to_baseline", _amount(1e6)),
        (reach, "minutes", "seconds_to_baseline", _amount(60)),
        (ratio, "updates", "step_ratio", _ratio),
        (ratio, "characters", "characters_ratio", _ratio),
        (ratio, "seconds", "seconds_ratio", _ratio),
    ]


def _plus_minus(factor: float, digits: int) -> Callable[[Row, str], str]:
    def form(row: Row, name: str) -> str:
        if pd.isna(row[name]):
            return NOTHING
        half = factor * (row[f"{name}_high"] - row[f"{name}_low"]) / 2
        return f"{_signed(factor * row[name], digits)} ± {half:.{digits}f}"

    return form


def _spread(factor: float, digits: int) -> Callable[[Row, str], str]:
    return lambda row, name: NOTHING if pd.isna(row[name]) else f"{factor * row[name]:.{digits}f}"


def _signed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)


def _tested(factor: float, digits: int) -> Callable[[Row, str], str]:
    plain = _plus_minus(factor, digits)

    def form(row: Row, name: str) -> str:
        p_value = row[name.replace("_difference", "_p_adjusted")]
        if pd.isna(p_value):
            return NOTHING
        return f"{plain(row, name)} (p = {p_value:.4f})"

    return form


def _amount(unit: float) -> Callable[[Row, str], str]:
    def form(row: Row, name: str) -> str:
        value = row[name] / unit
        if math.isinf(value):
            return "not reached"
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    return form


def _ratio(row: Row, name: str) -> str:
    if pd.isna(row[name]):
        return NOTHING
    bound = f"{row[f'{name}_bound']} ".lstrip()
    return f"{bound}{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"
