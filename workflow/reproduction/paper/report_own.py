"""What the report of a run without the paper's languages opens with: SaGe beside BPE in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def beside_bpe(rows: Sequence[Row], baseline: str | None, shown: Sequence[str]) -> Iterator[dict]:
    """Yield what tokenizers make of each training corpus, beside BPE.

    rows: of the csv of `table_tokenizers`; a language's first text is its training corpus.
    baseline, shown: labels of BPE and of the tokenizers.

    language, tokenizer; tokens a word; whole: the share of words that are one token; bpe: its row,
    None in a run without it; more: tokens over BPE's, minus 1.
    """
    texts = {row["language"]: row["text"] for row in reversed(rows)}
    measured = {
        (row["language"], row["tokenizer"]): row
        for row in rows
        if row["text"] == texts[row["language"]]
    }
    for (language, label), row in measured.items():
        bpe = measured.get((language, baseline))
        if label in shown:
            yield {
                "language": language,
                "tokenizer": label,
                "tokens": row["fertility"],
                "whole": row["whole_word_share"],
                "bpe": bpe,
                "more": row["tokens"] / bpe["tokens"] - 1 if bpe else None,
            }


def show_change(more: float) -> str:
    """Return how many more or fewer tokens there are, as "0.6 % fewer than"."""
    if abs(more) < 0.0005:
        return "as many as"
    return f"{100 * abs(more):.1f}\N{NO-BREAK SPACE}% {'more' if more > 0 else 'fewer'} than"
