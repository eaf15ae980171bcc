"""Several tokenizers on one text: the table of intrinsic measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sagevocab.counting import count_corpus
from sagevocab.errors import UserError
from sagevocab.export import WordSettings
from sagevocab.foreign import as_own_folder
from sagevocab.measures import measure
from sagevocab.segment import Segmenter, load_segmenter
from sagevocab.state import path_text
from sagevocab.text import Texts, describe_texts, lines_of
from sagevocab.words import Normalizer, WordCorpus

# Measure: what it says. Those with a name of their own in a summary are taken from there.
MEASURES = {
    "pieces": "pieces in the vocabulary, without special tokens",
    "tokens": "tokens of the text",
    "tokens_per_word": "subword fertility",
    "whole_word_share": "words kept whole",
    "bytes_per_token": "bytes of UTF-8 in a token: compression",
    "characters_per_token": "characters in a token",
    "unknown_share": "tokens that are unknown characters",
    "pieces_seen": "pieces that occur in the text",
    "vocabulary_use": "pieces that occur / pieces",
    "type_token_ratio": "pieces that occur / tokens",
    "shannon_efficiency": "entropy of the pieces / its largest value",
    "renyi_efficiency": "Rényi entropy of order 2.5 / its largest value",
    "word_initial_share": "tokens that open a word",
    "mean_token_length": "characters in a token, by occurrences",
    "mean_piece_length": "characters in a piece of the vocabulary",
    "shared_with_first": "pieces that are the first tokenizer's too",
}


def compare(
    tokenizers: Sequence[str | Path],
    texts: Texts,
    *,
    normalization: str = "nmt_nfkc",
    max_word_chars: int = 256,
    encoding_errors: str = "strict",
) -> pd.DataFrame:
    """Measure tokenizers on the same text.

    tokenizers: folders of this project or of Hugging Face, sentencepiece `.model` files, lists of
    pieces. texts: as in `train`. The text is normalised and split into words once for all.

    Returns:
        One row a tokenizer, by name; one column for each of `MEASURES`.

    Raises:
        UserError: a tokenizer or the text cannot be read.
    """
    words = WordSettings(normalization, max_word_chars)
    loaded = [_load(Path(path), words) for path in tokenizers]
    lines = lines_of(texts, encoding_errors)
    corpus = WordCorpus.from_lines(lines, Normalizer(normalization), max_word_chars)
    if not corpus.n_lines:
        raise UserError(f"{describe_texts(texts)}: holds no words; give a text with words")
    rows = [_measured(corpus, segmenter, loaded[0]) for segmenter in loaded]
    frame = pd.DataFrame(rows, index=pd.Index(_names(tokenizers), name="tokenizer"))
    return frame[list(MEASURES)]


def _load(path: Path, words: WordSettings) -> Segmenter:
    with as_own_folder(path, words) as folder:
        return load_segmenter(folder)


def _names(paths: Sequence[str | Path]) -> list[str]:
    """Name tokenizers by the last part of their paths, or the whole path if two have the same."""
    short = [Path(path).resolve().name for path in paths]
    return [
        path_text(name if short.count(name) == 1 else path)
        for name, path in zip(short, paths, strict=True)
    ]


def _measured(corpus: WordCorpus, segmenter: Segmenter, first: Segmenter) -> dict[str, float]:
    counts = count_corpus(corpus, segmenter, windows=())
    summary = measure(corpus, counts)
    tokens = summary["tokens"]
    return {
        **summary,
        "pieces": summary["vocabulary"],
        "tokens_per_word": tokens / summary["words"],
        "bytes_per_token": summary["bytes"] / tokens if tokens else 0.0,
        "characters_per_token": summary["characters"] / tokens if tokens else 0.0,
        "shared_with_first": len(set(segmenter.pieces) & set(first.pieces)),
    }


# --- as text

_WHOLE = ("pieces", "tokens", "pieces_seen", "shared_with_first")


def written(frame: pd.DataFrame, form: str) -> str:
    """Write the table: `table` and `markdown` for people, `csv` and `json` with every digit.

    Raises:
        UserError: there is no such form.
    """
    if form == "csv":
        return frame.to_csv(lineterminator="\n").removesuffix("\n")
    if form == "json":
        return frame.reset_index().to_json(orient="records", indent=2, force_ascii=False)
    if form not in ("table", "markdown"):
        raise UserError(f"format: {form!r} is unknown; choose table, csv, json or markdown")
    rows = [["", *frame.index]]
    rows += [[name, *_figures(name, frame[name])] for name in frame.columns]
    return _markdown(rows) if form == "markdown" else _aligned(rows)


def _figures(name: str, values: pd.Series) -> list[str]:
    return [f"{value:,}" if name in _WHOLE else f"{value:.4f}" for value in values.tolist()]


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(rows[0]) - 1), *lines[1:]])


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)
