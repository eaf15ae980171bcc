"""Several tokenizers on one text: the table of intrinsic measures."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sagevocab.corpus.text import Texts, describe_texts, lines_of
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.evaluation.measures import measure
from sagevocab.huggingface.detect import name_of
from sagevocab.huggingface.load import segmenter_of
from sagevocab.segmentation.counts import SegmentedCorpus, count_corpus
from sagevocab.segmentation.segmenter import Segmenter
from sagevocab.settings import WordSettings

# Measure: what it says. Those with a name of their own in a summary are taken from there.
MEASURES = {
    "pieces": "pieces in the vocabulary, without special tokens",
    "tokens": "tokens of the text",
    "tokens_per_word": "subword fertility",
    "whole_word_share": "words kept whole",
    "bytes_per_token": "bytes of UTF-8 per token: compression",
    "characters_per_token": "characters of the text, with spaces, per token",
    "unknown_share": "tokens that are unknown characters",
    "pieces_seen": "pieces that occur in the text",
    "vocabulary_use": "pieces that occur / pieces",
    "type_token_ratio": "pieces that occur / tokens",
    "shannon_efficiency": "entropy of the pieces / its largest value",
    "renyi_efficiency": "Rényi entropy of order 2.5 / its largest value",
    "word_initial_share": "tokens that start a word",
    "mean_token_length": "characters in a token, without spaces",
    "mean_piece_length": "the same in a piece of the vocabulary",
    "shared_with_first": "pieces that the first tokenizer also has",
}
_WHOLE = ("pieces", "tokens", "pieces_seen", "shared_with_first")  # numbers, not shares


class Comparison(list[dict[str, Any]]):
    """A row a tokenizer: its name under `tokenizer`, and each of `MEASURES`.

    `pandas.DataFrame` takes it as it is.
    """

    def __str__(self) -> str:
        """Return the table for people: a row a measure, with a column a tokenizer."""
        rows = [["", *(row["tokenizer"] for row in self)]]
        for name in MEASURES:
            form = "," if name in _WHOLE else ".4f"
            rows.append([name, *(format(row[name], form) for row in self)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]).rstrip()
            for first, *rest in rows
        )


def compare(
    tokenizers: Sequence[Any],
    texts: Texts,
    *,
    column: str | None = None,
    normalization: str = "nmt_nfkc",
    max_word_chars: int = 256,
    bad_text: str = "refuse",
) -> Comparison:
    """Measure tokenizers on the same text.

    The text is normalised and split into words once for all. Letters of bytes count as the text
    that they stand for.

    Args:
        tokenizers: folders of this project or of Hugging Face, sentencepiece `.model` files, lists
            of pieces (files or Python lists), what `train` and `load` return, tokenizers of
            `transformers` or `tokenizers`.
        texts: as in `train`.
        column: as in `train`.
        normalization: sentencepiece's rule.
        max_word_chars: longer words are cut into parts of so many characters.
        bad_text: as in `train`.

    Returns:
        A row a tokenizer.

    Raises:
        UserError: a tokenizer or the text cannot be read.
    """
    _check_tokenizers(tokenizers)
    words = WordSettings(normalization, max_word_chars)
    lines = lines_of(texts, column, bad_text)
    loaded = list(map(segmenter_of, tokenizers))
    normalizer = Normalizer(words.normalization)
    corpus = WordCorpus.from_lines(lines, normalizer, words.max_word_chars)
    corpus.require_words(describe_texts(texts))
    measured = [_measured(corpus, segmenter, loaded[0]) for segmenter in loaded]
    return Comparison(
        {"tokenizer": name, **{measure: values[measure] for measure in MEASURES}}
        for name, values in zip(_names(tokenizers), measured, strict=True)
    )


def _check_tokenizers(tokenizers: Any) -> None:
    """Refuse what is not a list of tokenizers."""
    if isinstance(tokenizers, str | PathLike) or not isinstance(tokenizers, Sequence):
        raise UserError(
            f"tokenizers: {str(tokenizers)!r:.60} is not a list; give a list of tokenizers, then "
            "the text: compare(['my-tokenizer'], 'text.txt')"
        )
    if not tokenizers:
        raise UserError("tokenizers: the list is empty; give one or more")


def _names(sources: Sequence[Any]) -> list[str]:
    """Name tokenizers by the last part of their names, or the whole if two have the same.

    Objects that have the same name are numbered.
    """
    whole = [name_of(source) for source in sources]
    short = [Path(name).resolve().name for name in whole]
    names = [one if short.count(one) == 1 else all_ for one, all_ in zip(short, whole, strict=True)]
    return [
        name if names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}"
        for at, name in enumerate(names)
    ]


def _measured(corpus: WordCorpus, segmenter: Segmenter, first: Segmenter) -> dict[str, float]:
    counts = count_corpus(SegmentedCorpus(corpus, segmenter))
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
