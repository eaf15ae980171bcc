"""The learning curves of the language models as a figure, and where they end as a table.

Both take what `curves.read_curves` returns: {language: {tokenizer label: its pretrainings}}. The
figure has those of causal models, too (`paper.causal`).
Source: paper, Section 4, "Subword Fertility" (fewer update steps; left to future work).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.analysis.scores import TaskScores, rate_sums, resample_scores
from reproduction.analysis.stats import Estimate, adjust, resampled_weights
from reproduction.lm.floors import CONTEXT_FREE
from reproduction.paper.causal import CausalPanels, draw_causal
from reproduction.paper.curves import (
    AXES,
    Curve,
    Curves,
    along,
    bits_per_character,
    cards_note,
    difference_along,
    effort_ratio,
    efforts,
    first_reached,
    floor_bits,
    is_above_floor,
)
from reproduction.paper.formats import NOTHING, Row, Show, decimal, p_value, plus_minus
from reproduction.paper.style import (
    Files,
    TokenizerStyle,
    curve_handles,
    draw_band,
    drawing,
    legend_above,
    name_panels,
    name_row,
    tokenizer_styles,
)
from reproduction.paper.table import Table
from sagevocab.errors import UserError

# --- figure

_AXIS = "characters"
# (limit of the largest value, size of the unit, its name)
_UNITS = [(2e6, 1e3, "thousands"), (2e9, 1e6, "millions"), (np.inf, 1e9, "billions")]


def figure_learning_curves(
    panels: Curves,
    *,
    labels: Sequence[str],
    baseline: str | None,
    seed: int,
    causal: CausalPanels | None = None,
    **files: Files,
) -> None:
    """Draw how far models are from BPE's on held-out lines, along their training.

    A row of panels is of the causal models, where there are some, one of the masked ones; a column
    is a language, a line a tokenizer with its 95 % interval as a band: bits per character minus the
    baseline's on the same lines and at the same place. Of several pretrainings a line is the mean,
    and the interval is over held-out lines and seeds. `table_learning_curves` has values and
    floors.

    labels: of all tokenizers of the run. baseline: label of BPE; None, if it has no model, draws
    the bits themselves. seed: of the bootstrap. causal: as `read_causal` gives them. files: pdf,
    png and optionally style.
    """
    causal = causal or {}
    if not panels:
        raise UserError(
            "config keys lm.enabled and lm.tokenizers: figure_learning_curves needs a model; "
            "enable them"
        )
    compared = list(next(iter(panels.values())))
    shown = list(dict.fromkeys([*compared, *chain.from_iterable(causal.values())]))
    known = tokenizer_styles(labels)
    styles = {label: known[label] for label in shown}
    baseline = baseline if len(compared) > 1 else None
    rows = [*[causal] * bool(causal), panels]
    columns = list(dict.fromkeys(chain.from_iterable(rows)))
    with drawing([2.0] * len(rows), len(columns), **files) as (figure, grid):
        for title, *column in zip(columns, *grid, strict=True):
            if causal and title in causal:
                draw_causal(column[0], causal[title], styles, baseline)
            if title in panels:
                _draw_masked(column[-1], panels[title], styles, baseline, seed)
        minus = f"\nminus {baseline}" if baseline else ""
        for kind, row, own in zip(("Causal", "Masked")[-len(rows) :], grid, rows, strict=True):
            name_row(row[0], kind, f"Bits per character{minus}")
            for axes, title in zip(row, columns, strict=True):
                axes.set_visible(title in own)
        name_panels([axes for axes in grid.flat if axes.get_visible()], chain(*rows))
        figure.align_ylabels(grid[:, 0])
        legend_above(figure, curve_handles(styles))


def _draw_masked(
    axes: Axes,
    panel: Mapping[str, Sequence[Curve]],
    styles: Mapping[str, TokenizerStyle],
    baseline: str | None,
    seed: int,
) -> None:
    """Draw the curves of masked models against the characters that they have seen."""
    weights = resampled_weights(len(next(iter(panel.values()))[0].lines), seed=seed)
    largest = max(curve.at[_AXIS].max() for curves in panel.values() for curve in curves)
    size, unit = next((size, unit) for limit, size, unit in _UNITS if largest < limit)
    for label, curves in panel.items():
        if label == baseline:
            axes.axhline(0, linewidth=0.8, **styles[label].curve)
        else:
            _draw_tokenizer(axes, curves, panel.get(baseline), weights, size, styles[label])
    axes.set_xlim(0, 1.03 * largest / size)
    axes.locator_params(nbins=4)
    axes.set_xlabel(f"Characters seen ({unit})")


def _draw_tokenizer(
    axes: Axes,
    curves: Sequence[Curve],
    baseline: Sequence[Curve] | None,
    weights: np.ndarray,
    unit: float,
    style: TokenizerStyle,
) -> None:
    """Draw the curve of a tokenizer's pretrainings with its band.

    baseline: draws the difference from these pretrainings instead, seed by seed.
    """
    others = baseline if baseline is not None else [None] * len(curves)
    drawn = [_values(*pair, weights) for pair in zip(curves, others, strict=False)]
    # Seeds have not seen quite as many characters at a validation: at the places of the first.
    at = drawn[0][0]
    seeds = np.array([along(at, *one) for one in drawn if len(one[0])])
    bands = [_over_seeds(seeds[:, :, place]) for place in range(len(at))]
    draw_band(axes, at / unit, *np.reshape(bands, (-1, 3)).T, style)


def _over_seeds(values: np.ndarray) -> Estimate:
    """Return the mean over seeds with its interval; values: float64[seeds, 1 + resamples]."""
    return TaskScores({"": values.T}).mean("")


def _values(
    curve: Curve, other: Curve | None, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if other is not None:
        return difference_along(curve, other, weights, _AXIS)
    return curve.at[_AXIS].to_numpy(), bits_per_character(curve, weights)


# --- table

# A curve -> what it adds up at its last validation, and over what, each float64[lines].
Terms = Callable[[Curve], tuple[np.ndarray, np.ndarray]]
_QUANTITIES: dict[str, Terms] = {
    "bits_per_character": lambda curve: (curve.nats[-1] / math.log(2), curve.characters),
    "word_accuracy": lambda curve: (curve.right[-1], curve.words),
}


def table_learning_curves(
    panels: Curves,
    logs: Sequence[Files] = (),
    *,
    baseline: str | None,
    seed: int,
    notes: Sequence[str],
    hours: float | None = None,
) -> Table:
    """Return final bits per character, their floors, word accuracy and effort of every model.

    baseline: label of BPE, None if it has no model. seed: of the bootstrap. notes: further
    sentences, of the models' budget and the presets.
    """
    data = summarise_curves(panels, baseline=baseline, seed=seed)
    columns = [c for c in _columns(baseline) if c[2] in data and data[c[2]].notna().any()]
    blocks = [
        [
            [row["language"], row["tokenizer"], *(show(row, name) for *_, name, show in columns)]
            for row in rows.to_dict("records")
        ]
        for _, rows in data.groupby("language", sort=False)
    ]
    return Table(
        ["Language", "Tokenizer", *(column[:2] for column in columns)],
        blocks,
        data,
        opening=1,
        note=[_note(data, baseline), *notes, cards_note(logs, hours)],
    )


def _note(data: pd.DataFrame, baseline: str | None) -> str:
    hours = data["seconds_spent"] / 3600
    several = data["seeds"].max() > 1
    over = f"lines and {_span(data['seeds'], 'd')} pretraining seeds" if several else "lines"
    parts = [
        f"A model took {_span(data['step_spent'], ',.0f')} updates, {_span(hours, '.2g')} hours. "
        f"On {_span(data['words'], ',d')} words of {_span(data['lines'], ',d')} held-out lines; ±: "
        f"half of the 95 % interval over {over}. Floors: bits per character that tables of the "
        "training text reach on the same words, with the frequencies of pieces, these by number of "
        "pieces and place in the word, and these after the piece before. All bits have the code of "
        "the number of pieces in them.",
        _floor_note(data),
    ]
    if baseline is not None and len(data) > 1:
        parts.append(
            f"Difference: tokenizer minus {baseline}, on the same lines; p: by Holm over "
            "tokenizers and languages. Ratios: what the tokenizer needs over what "
            f"{baseline} needs for the worse of the two final values, which both reach, with an "
            f"interval over {'seeds' if several else 'lines'}; ≤ or ≥ where one was there at its "
            "first validation. Time includes validations and depends on what else the machine did."
        )
        if data["above_floor"].any():
            parts.append(
                "What is needed is left out where that value is not below the floors that see no "
                "context."
            )
    parts.append(
        "Final values are means over seeds, and updates, characters and minutes medians; seeds: "
        "standard deviation of the final value."
        if several
        else "Intervals say nothing of another pretraining."
    )
    return " ".join(filter(None, parts))


def _floor_note(data: pd.DataFrame) -> str:
    """Name the models that know no more than frequencies of pieces do without a context."""
    floors = data[[f"floor_{name}" for name in CONTEXT_FREE]].min(axis=1)
    above = data[data["bits_per_character"] >= floors]
    names = ", ".join(f"{row.tokenizer} ({row.language})" for row in above.itertuples())
    return f"Not below the floors that see no context: {names}." if names else ""


def _span(values: pd.Series, form: str) -> str:
    low, high = format(values.min(), form), format(values.max(), form)
    return low if low == high else f"{low} to {high}"


def _columns(baseline: str | None) -> list[tuple[str, str, str, Show]]:
    """Return group, column, field of the data and how it is printed."""
    bits, floors, words = "Bits per character", "Floors", "Words right (%)"
    reach = f"To {baseline}'s final bits"
    ratio = f"Needed, over {baseline}"
    return [
        (bits, "final", "bits_per_character", plus_minus(".3f")),
        (bits, "difference", "bits_per_character_difference", _tested(plus_minus(".3f"))),
        (bits, "seeds", "bits_per_character_sd", decimal(".3f")),
        (floors, "pieces", "floor_unigram", decimal(".3f")),
        (floors, "by place", "floor_placed", decimal(".3f")),
        (floors, "after a piece", "floor_bigram", decimal(".3f")),
        (words, "final", "word_accuracy", plus_minus(".1f", 100)),
        (words, "difference", "word_accuracy_difference", _tested(plus_minus(".1f", 100))),
        (words, "seeds", "word_accuracy_sd", decimal(".1f", 100)),
        (reach, "updates", "step_to_baseline", _amount(1)),
        (reach, "M characters", "characters_to_baseline", _amount(1e6)),
        (reach, "minutes", "seconds_to_baseline", _amount(60)),
        (ratio, "updates", "step_ratio", _ratio),
        (ratio, "characters", "characters_ratio", _ratio),
        (ratio, "seconds", "seconds_ratio", _ratio),
    ]


def _tested(show: Show) -> Show:
    """Return a printer of a difference and its p-value."""

    def form(row: Row, name: str) -> str:
        shown = show(row, name)
        if pd.isna(row[name]):
            return shown
        return f"{shown} ({p_value(row[name.replace('_difference', '_p_adjusted')], 'p')})"

    return form


def _amount(unit: float) -> Show:
    def form(row: Row, name: str) -> str:
        value = row[name] / unit
        if pd.isna(value):
            return NOTHING
        if math.isinf(value):
            return "not reached"
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    return form


def _ratio(row: Row, name: str) -> str:
    if pd.isna(row[name]):
        return NOTHING
    bound = f"{row[f'{name}_bound']} ".lstrip()
    return f"{bound}{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"


def summarise_curves(panels: Curves, *, baseline: str | None, seed: int) -> pd.DataFrame:
    """Return the final values of every model and its effort, a row for each language and tokenizer.

    Of the floors, in bits per character: floor_unigram, floor_placed, floor_bigram.
    Of bits_per_character and word_accuracy: the mean over pretraining seeds at the last validation
    with its interval (`_low`, `_high`), `_sd` over seeds, and where `baseline` is among the labels,
    `_difference` from it (tokenizer minus baseline) with interval, `_p_value` and `_p_adjusted`
    (Holm over tokenizers and languages, each quantity by itself). Intervals and tests are those of
    scores (`analysis.scores`), with lines for examples.
    Of step, characters and seconds: `_spent`, `_to_baseline` (until the baseline's final bits per
    character, a median over seeds; inf if it is not reached), and `_ratio` with interval (see
    `effort_ratio`) and `_bound`: "≤" or "≥" where one of the two curves was there at its
    first validation already, so that the ratio is a bound. above_floor: whether any two are
    compared at bits per character that frequencies of pieces reach without a context; then nothing
    is said of effort.
    """
    rows = []
    for title, panel in panels.items():
        weights = resampled_weights(len(next(iter(panel.values()))[0].lines), seed=seed)
        finals = {name: _finals(panel, terms, seed) for name, terms in _QUANTITIES.items()}
        for label, curves in panel.items():
            row = {"language": title, "tokenizer": label, "above_floor": False}
            row |= _ends(curves, weights)
            for name, scores in finals.items():
                row |= _named(name, scores.mean(label))
                row[f"{name}_sd"] = _spread(scores.values[label])
            pairs = list(zip(curves, panel.get(baseline, []), strict=False))
            if pairs and label != baseline:
                row["above_floor"] = any(is_above_floor(*pair) for pair in pairs)
                row |= _differences(finals, label, baseline)
            if pairs and not row["above_floor"]:
                row |= _needs(pairs, weights)
                row |= _ratios(pairs, weights) if label != baseline else {}
            rows.append(row)
    return _adjusted(pd.DataFrame(rows))


def _finals(panel: Mapping[str, Sequence[Curve]], terms: Terms, seed: int) -> TaskScores:
    """Return a quantity at the last validation of all pretrainings, and its replicates."""
    models = [(label, curve) for label, curves in panel.items() for curve in curves]
    sums = rate_sums([terms(curve) for _, curve in models])
    return resample_scores(sums, [label for label, _ in models], seed=seed)


def _spread(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _ends(curves: Sequence[Curve], weights: np.ndarray) -> dict[str, float]:
    own = curves[0]
    row = {"lines": len(own.lines), "words": int(own.words.sum()), "seeds": len(curves)}
    row |= {f"{axis}_spent": own.at[axis].iloc[-1] for axis in AXES}
    floors = floor_bits(own, weights[:1])
    return row | {f"floor_{name}": bits.item() for name, bits in floors.items()}


def _needs(pairs: Sequence[tuple[Curve, Curve]], weights: np.ndarray) -> dict[str, float]:
    return {
        f"{axis}_to_baseline": float(np.median([_reached(*pair, weights, axis) for pair in pairs]))
        for axis in AXES
    }


def _reached(curve: Curve, baseline: Curve, weights: np.ndarray, axis: str) -> float:
    target = bits_per_character(baseline, weights[:1])[:, -1]
    values = bits_per_character(curve, weights[:1])
    return first_reached(curve.at[axis].to_numpy(), values, target).item()


def _differences(finals: Mapping[str, TaskScores], label: str, baseline: str) -> dict[str, float]:
    row = {}
    for name, scores in finals.items():
        *found, p_value = scores.difference(label, baseline)
        row |= _named(f"{name}_difference", Estimate(*found)) | {f"{name}_p_value": p_value}
    return row


def _ratios(pairs: Sequence[tuple[Curve, Curve]], weights: np.ndarray) -> dict[str, float | str]:
    row: dict[str, float | str] = {}
    for axis in AXES:
        row |= _named(f"{axis}_ratio", Estimate(*effort_ratio(pairs, weights, axis)[:3]))
        row[f"{axis}_ratio_bound"] = _bound(pairs, weights[:1], axis)
    return row


def _bound(pairs: Sequence[tuple[Curve, Curve]], whole: np.ndarray, axis: str) -> str:
    """Return which bound a ratio is, because some curves were there at their first validation."""
    early = np.zeros(2, dtype=bool)
    for pair in pairs:
        needed = efforts(*pair, whole, axis)
        early |= [one[0] == curve.at[axis].iloc[0] for one, curve in zip(needed, pair, strict=True)]
    return {(True, False): "≤", (False, True): "≥"}.get(tuple(early.tolist()), "")


def _named(name: str, found: Estimate) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    for name in _QUANTITIES:
        if f"{name}_p_value" in frame:
            frame[f"{name}_p_adjusted"] = adjust(frame[f"{name}_p_value"], [name] * len(frame))
    return frame
