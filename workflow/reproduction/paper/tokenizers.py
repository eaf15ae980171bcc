"""The measures that peers report of every tokenizer of the run, as a table.

Both take {(language, text): {tokenizer label: summary}}, as `analysis.summary` writes summaries. A
language's training corpus is its first text. The paper has no such table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.paper.formats import Files, Row, Show, decimal, plus_minus
from reproduction.paper.table import Cells, Table
from sagevocab.files import read_json

Summary = Mapping[str, Any]
# group of columns, column, field of the data, how it is printed
Column = tuple[str, str, str, Show]
Texts = Mapping[tuple[str, str], Mapping[str, Summary]]


def read_texts(paths: Mapping[str, Mapping[str, Mapping[str, Files]]]) -> Texts:
    """Read summaries: language -> text -> label -> path."""
    return {
        (language, text): {label: read_json(path) for label, path in panel.items()}
        for language, texts in paths.items()
        for text, panel in texts.items()
    }


# Columns of the csv; those of `morpheme` only where a list of segmented words is given.
_COLUMNS = (
    *("language", "text", "tokenizer", "vocabulary", "lines", "words", "tokens"),
    *("fertility", "fertility_low", "fertility_high", "characters_per_token", "bytes_per_token"),
    *("type_token_ratio", "vocabulary_use", "shannon_efficiency", "renyi_efficiency"),
    *("renyi_alpha", "word_initial_share", "single_character_share", "whole_word_share"),
    *("unknown_share", "mean_token_length", "mean_piece_length", "morpheme_words"),
    *("morpheme_precision", "morpheme_precision_low", "morpheme_precision_high"),
    *("morpheme_recall", "morpheme_recall_low", "morpheme_recall_high"),
    *("morpheme_f1", "morpheme_f1_low", "morpheme_f1_high"),
)
_MORPHEMES = "Morphemes: F1 of the boundaries inside the words of a list, whatever the text."
_NO_LIST = (
    "Agreement with morphemes is left out where no list of segmented words is given "
    "(language_settings.LANGUAGE.morphology); docs/appendix/deviations.md names free ones."
)


def table_tokenizers(
    texts: Texts,
    *,
    morphology: Mapping[str, Mapping[str, Summary]],
) -> Table:
    """Return compression, fertility, efficiency and use of every tokenizer on every text.

    morphology: language -> {label: agreement of `analysis.morphology`}, for languages with a list
    of segmented words.
    """
    data = _measures(texts, morphology)
    columns = [column for column in _SHOWN if column[2] in data.columns]
    languages = {language for language, _ in texts}
    return Table(
        ["Language", "Text", "Tokenizer", *((group, name) for group, name, _, _ in columns)],
        list(_shown_blocks(data, columns)),
        data,
        opening=2,
        note=[_note(texts), _morpheme_note(languages, morphology)],
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


def _measures(texts: Texts, morphology: Mapping[str, Mapping[str, Summary]]) -> pd.DataFrame:
    """Return a row of bare numbers a text and tokenizer; an estimate has its bounds beside it."""
    rows = [
        {"language": language, "text": text, "tokenizer": label, **summary}
        | {"morpheme": morphology.get(language, {}).get(label, {})}
        for (language, text), panel in texts.items()
        for label, summary in panel.items()
    ]
    data = pd.json_normalize(rows, sep="_")
    data.columns = data.columns.str.removesuffix("_value")
    for unit in ("character", "byte"):
        ratios = data[f"tokens_per_{unit}"]
        data[f"{unit}s_per_token"] = 1 / ratios.where(ratios > 0)
    return data[[name for name in _COLUMNS if name in data]]


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
    is_narrow = row[f"{name}_high"] - row[f"{name}_low"] < 0.001
    return plus_minus(".4f" if is_narrow else ".3f")(row, name)


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
