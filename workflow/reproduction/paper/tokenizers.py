"""The measures that peers report of every tokenizer of the run: one table and one figure.

Both take {(language, text): {tokenizer label: summary}}, as `analysis.summary` writes summaries. A
language's training corpus is its first text. The paper has no such table or figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from reproduction.paper.formats import NOTHING, Row, Show, decimal
from reproduction.paper.inputs import by_panel
from reproduction.paper.style import Files, drawing, dress_rows, tokenizer_colours
from reproduction.paper.table import Cells, Table
from sagevocab.state import read_json

Summary = Mapping[str, Any]
# group of columns, column, field of the data, how it is printed
Column = tuple[str, str, str, Show]
Texts = Mapping[tuple[str, str], Mapping[str, Summary]]


def by_text(
    texts: Sequence[Sequence[str]], labels: Sequence[str], paths: Sequence[Files]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Read summaries, listed text by text and tokenizer by tokenizer.

    texts: pairs of language and text.
    """
    return by_panel([tuple(text) for text in texts], labels, paths, read_json)


# --- figure

_MARKERS = ("o", "D", "^", "s", "v", "P", "X", "<", ">", "*")
_TEXT_HEIGHT = 0.06  # inches of a row for each text, so that marks do not overlap
# field of a summary, label of the axis, factor
_MEASURES = (
    ("fertility", "Tokens\nper word", 1),
    ("characters_per_token", "Characters\nper token", 1),
    ("whole_word_share", "Words that are\none token (%)", 100),
    ("word_initial_share", "Word-initial\ntokens (%)", 100),
    ("renyi_efficiency", "Rényi efficiency\n(order {alpha:g})", 1),
)


def figure_tokenizers(texts: Texts, **files: Files) -> None:
    """Draw five measures of every tokenizer: a row of panels a language, a mark a text.

    The mark of the training corpus is filled. files: pdf, png and optionally style.
    """
    panels: dict[str, dict[str, Mapping[str, Summary]]] = {}
    for (language, text), panel in texts.items():
        panels.setdefault(language, {})[text] = panel
    labels = list(next(iter(next(iter(panels.values())).values())))
    colours = list(tokenizer_colours(labels).values())
    markers = dict(zip(dict.fromkeys(text for _, text in texts), _MARKERS * 9, strict=False))
    shape = (len(panels), len(_MEASURES))
    row_height = _TEXT_HEIGHT * max(3, *map(len, panels.values()), 0) + 0.04
    height = 0.75 + row_height * max(len(labels), 3)
    with drawing(shape, height=height, sharey=True, **files) as (figure, grid):
        for row, (language, panel) in zip(grid, panels.items(), strict=True):
            for axes, (field, name, factor) in zip(row, _MEASURES, strict=True):
                _draw_measure(axes, panel, field, factor, colours, markers)
                dress_rows(axes, len(labels) - 1, margin=0.12)
                axes.set_xlabel(name.format(alpha=_alpha(panel)))
            row[0].set_title(language)
        grid[0, 0].set_yticks(range(len(labels)), labels)
        grid[0, 0].set_ylim(len(labels) - 0.5, -0.5)
        figure.legend(
            handles=_legend(markers, {text for text, *_ in map(list, panels.values())}),
            loc="outside upper center",
            ncols=math.ceil(len(markers) / math.ceil(len(markers) / 4)),
        )


def _alpha(panel: Mapping[str, Mapping[str, Summary]]) -> float:
    return next(iter(next(iter(panel.values())).values()))["renyi_alpha"]


def _draw_measure(
    axes: Axes,
    panel: Mapping[str, Mapping[str, Summary]],
    field: str,
    factor: float,
    colours: Sequence[str],
    markers: Mapping[str, str],
) -> None:
    """Draw a mark for each tokenizer and text, those of one tokenizer below one another."""
    shifts = np.linspace(-0.5, 0.5, 2 * len(panel) + 1)[1::2] * 0.9
    for number, (text, summaries) in enumerate(panel.items()):
        values = [factor * _value(summary, field) for summary in summaries.values()]
        axes.scatter(
            values,
            np.arange(len(values)) + shifts[number],
            s=18 if number == 0 else 14,
            marker=markers[text],
            facecolors=colours if number == 0 else "white",
            edgecolors=colours,
            linewidths=0.9,
            zorder=3,
        )


def _value(summary: Summary, field: str) -> float:
    if field == "fertility":
        return summary["fertility"]["value"]
    if field == "characters_per_token":
        return _inverse(summary["tokens_per_character"])
    return summary[field]


def _legend(markers: Mapping[str, str], filled: set[str]) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            label=text,
            linestyle="none",
            marker=marker,
            markersize=4.5,
            color="black",
            markerfacecolor="black" if text in filled else "white",
        )
        for text, marker in markers.items()
    ]


# --- table

_AS_MEASURED = (
    "type_token_ratio",
    "vocabulary_use",
    "shannon_efficiency",
    "renyi_efficiency",
    "renyi_alpha",
    "word_initial_share",
    "single_character_share",
    "whole_word_share",
    "unknown_share",
    "mean_token_length",
    "mean_piece_length",
)
_MORPHEMES = "Morphemes: F1 of the boundaries inside the words of a list, whatever the text."
_NO_LIST = (
    "Agreement with morphemes is left out where no list of segmented words is given "
    "(language_settings.LANGUAGE.morphology); docs/deviations.md names free ones."
)


def table_tokenizers(
    texts: Texts,
    *,
    morphology: Mapping[str, Mapping[str, Summary]],
    notes: Sequence[str] = (),
) -> Table:
    """Return compression, fertility, efficiency and use of every tokenizer on every text.

    morphology: language -> {label: agreement of `analysis.morphology`}, for languages with a list
    of segmented words. notes: sentences that end the note.
    """
    data = pd.DataFrame(list(_records(texts, morphology)))
    columns = [column for column in _SHOWN if column[2] in data.columns]
    languages = {language for language, _ in texts}
    return Table(
        ["Language", "Text", "Tokenizer", *((group, name) for group, name, _, _ in columns)],
        list(_shown_blocks(data, columns)),
        data,
        opening=2,
        note=[_note(texts), _morpheme_note(languages, morphology), *notes],
    )


def _note(texts: Texts) -> str:
    alphas = {one["renyi_alpha"] for panel in texts.values() for one in panel.values()}
    return (
        "Fertility: tokens per word, ± half of its 95 % bootstrap interval over lines. Characters "
        "and bytes per token are of the normalised text, spaces counted. Whole: words that are one "
        "token. Word-initial: tokens that start a word. Used: pieces that occur in the text; it "
        "depends on the text's length, as do the types: pieces that occur, per 1,000 tokens "
        "(type-token ratio). Efficiency: entropy of the tokens over that of equally "
        f"frequent pieces, Rényi's of order {', '.join(f'{alpha:g}' for alpha in sorted(alphas))}."
    )


def _morpheme_note(languages: set[str], morphology: Mapping[str, Mapping]) -> str:
    measured = [_MORPHEMES] if morphology else []
    return " ".join([*measured, *([] if languages <= set(morphology) else [_NO_LIST])])


def _records(
    texts: Texts, morphology: Mapping[str, Mapping[str, Summary]]
) -> Iterator[dict[str, Any]]:
    """Yield one row of bare numbers a text and tokenizer."""
    for (language, text), panel in texts.items():
        for label, summary in panel.items():
            agreement = morphology.get(language, {}).get(label)
            yield {
                "language": language,
                "text": text,
                "tokenizer": label,
                **{name: summary[name] for name in ("vocabulary", "lines", "words", "tokens")},
                **_estimate("fertility", summary["fertility"]),
                "characters_per_token": _inverse(summary["tokens_per_character"]),
                "bytes_per_token": _inverse(summary["tokens_per_byte"]),
                **{name: summary[name] for name in _AS_MEASURED},
                **(_agreement(agreement) if agreement else {}),
            }


def _inverse(ratio: float) -> float:
    return 1 / ratio if ratio else float("nan")


def _estimate(name: str, estimate: Mapping[str, float]) -> dict[str, float]:
    low, high = estimate["low"], estimate["high"]
    return {name: estimate["value"], f"{name}_low": low, f"{name}_high": high}


def _agreement(agreement: Summary) -> dict[str, Any]:
    return {
        "morpheme_words": agreement["words"],
        **_estimate("morpheme_precision", agreement["precision"]),
        **_estimate("morpheme_recall", agreement["recall"]),
        **_estimate("morpheme_f1", agreement["f1"]),
    }


def _shown_blocks(data: pd.DataFrame, columns: Sequence[Column]) -> Iterator[list[Cells]]:
    """Yield the rows of each text; a language is named at its first text."""
    named = set()
    for (language, text), rows in data.groupby(["language", "text"], sort=False):
        opening = ["" if language in named else language, text]
        named.add(language)
        yield [
            [*opening, row["tokenizer"], *(show(row, name) for *_, name, show in columns)]
            for row in rows.to_dict("records")
        ]


def _with_interval(row: Row, name: str) -> str:
    """Print a value with half of its interval, to the interval's second digit."""
    half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2
    if pd.isna(row[name]) or pd.isna(half):
        return NOTHING
    return f"{row[name]:.3f} ± {half:.3f}" if half >= 0.0005 else f"{row[name]:.4f} ± {half:.4f}"


_SECOND_PART = "word_initial_share"
_SHOWN: tuple[Column, ...] = (
    ("Pieces", "", "vocabulary", decimal(",")),
    ("Fertility", "", "fertility", _with_interval),
    ("Per token", "characters", "characters_per_token", decimal(".2f")),
    ("Per token", "bytes", "bytes_per_token", decimal(".2f")),
    ("Whole", "%", "whole_word_share", decimal(".1f", 100)),
    ("Word-initial", "%", "word_initial_share", decimal(".1f", 100)),
    ("Used", "%", "vocabulary_use", decimal(".1f", 100)),
    ("Types", "per 1,000", "type_token_ratio", decimal(".2f", 1000)),
    ("Efficiency", "Shannon", "shannon_efficiency", decimal(".3f")),
    ("Efficiency", "Rényi", "renyi_efficiency", decimal(".3f")),
    ("Unknown", "%", "unknown_share", decimal(".2f", 100)),
    ("Morphemes", "F1", "morpheme_f1", decimal(".3f")),
)
