"""The measures that peers report, of every tokenizer of the run on every text, as one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.errors import UserError
from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.notes import with_notes
from sagevocab.paper.panels import by_panel

Files = str | Path
Summary = Mapping[str, Any]
# (language, text) -> tokenizer label -> summary
Texts = Mapping[tuple[str, str], Mapping[str, Summary]]

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


def read_summary(path: Files) -> dict[str, Any]:
    """Read what was measured of one tokenizer: a summary of a text, or agreement with morphemes.

    Raises:
        UserError: the file is missing or no JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it and run again") from error


def by_text(
    texts: Sequence[Sequence[str]], labels: Sequence[str], paths: Sequence[Files]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Read summaries, listed text by text and tokenizer by tokenizer.

    texts: pairs of language and text. Raises UserError where two share a name.
    """
    return by_panel([tuple(text) for text in texts], labels, paths, read_summary)


def table_tokenizers(
    texts: Texts,
    *,
    morphology: Mapping[str, Mapping[str, Summary]],
    notes: Sequence[str] = (),
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write compression, fertility, efficiency and use of every tokenizer on every text.

    texts: (language, text) -> {label: summary of `analysis.summary`}, a language's training corpus
    first. morphology: language -> {label: agreement of `analysis.morphology`}, for languages with
    a list of segmented words. notes: sentences that end the note. Source: none in the paper;
    these are the measures of its peers.
    """
    data = pd.DataFrame(list(_records(texts, morphology)))
    columns = [column for column in _SHOWN if column[2] in data.columns]
    rows, blocks = _shown_rows(data, columns)
    header = [("Language", ""), ("Text", ""), ("Tokenizer", "")]
    header += [(group, name) for group, name, _, _ in columns]
    languages = {language for language, _ in texts}
    note = with_notes(_note(texts), [_morpheme_note(languages, morphology), *notes])
    shown = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))
    align = "lll" + "r" * len(columns)
    files = {"tex": tex, "csv": csv, "md": md}
    parts = _parts(columns)
    write_table(shown, data, align=align, note=note, blocks=blocks, parts=parts, **files)


def _parts(columns: Sequence[tuple[str, str, str, Callable]]) -> list[list[int]]:
    """Return the columns of the two tables that fit a page: of lengths, and of use."""
    names = list(range(3))
    second = next(n for n, column in enumerate(columns, start=3) if column[2] == _SECOND_PART)
    return [names + list(range(3, second)), names + list(range(second, 3 + len(columns)))]


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


def _shown_rows(
    data: pd.DataFrame, columns: Sequence[tuple[str, str, str, Callable]]
) -> tuple[list[list[str]], list[int]]:
    """Return the table as printed and the rows that begin a text."""
    rows: list[list[str]] = []
    blocks = []
    for (language, text), block in data.groupby(["language", "text"], sort=False):
        blocks += [len(rows)] if rows else []
        new = not rows or language != data["language"].iloc[len(rows) - 1]
        opening = [language if new else "", text]
        for row in block.to_dict("records"):
            cells = [form(row, name) for _, _, name, form in columns]
            rows.append([*opening, row["tokenizer"], *cells])
            opening = ["", ""]
    return rows, blocks


def _number(form: str) -> Callable[[Mapping, str], str]:
    """Return a printer of one value: `form` is a format, as in `,.2f`."""
    return lambda row, name: NOTHING if pd.isna(row[name]) else format(row[name], form)


def _percent(row: Mapping, name: str) -> str:
    return NOTHING if pd.isna(row[name]) else f"{100 * row[name]:.1f}"


def _per_thousand(row: Mapping, name: str) -> str:
    return NOTHING if pd.isna(row[name]) else f"{1000 * row[name]:.2f}"


def _with_interval(row: Mapping, name: str) -> str:
    """Print a value with half of its interval, to the interval's second digit."""
    half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2
    if pd.isna(row[name]) or pd.isna(half):
        return NOTHING
    return f"{row[name]:.3f} ± {half:.3f}" if half >= 0.0005 else f"{row[name]:.4f} ± {half:.4f}"


_SECOND_PART = "word_initial_share"
# group of columns, column, field of the data, how it is printed
_SHOWN: tuple[tuple[str, str, str, Callable[[Mapping, str], str]], ...] = (
    ("Pieces", "", "vocabulary", _number(",")),
    ("Fertility", "", "fertility", _with_interval),
    ("Per token", "characters", "characters_per_token", _number(".2f")),
    ("Per token", "bytes", "bytes_per_token", _number(".2f")),
    ("Whole", "%", "whole_word_share", _percent),
    ("Word-initial", "%", "word_initial_share", _percent),
    ("Used", "%", "vocabulary_use", _percent),
    ("Types", "per 1,000", "type_token_ratio", _per_thousand),
    ("Efficiency", "Shannon", "shannon_efficiency", _number(".3f")),
    ("Efficiency", "Rényi", "renyi_efficiency", _number(".3f")),
    ("Unknown", "%", "unknown_share", lambda row, name: f"{100 * row[name]:.2f}"),
    ("Morphemes", "F1", "morpheme_f1", _number(".3f")),
)
