"""The characters of the training corpora that every tokenizer has no piece for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reproduction.paper.formats import NOTHING
from reproduction.paper.table import Cells, Table
from sagevocab.pieces import WORD_START, read_pieces  # noqa: F401 (a reader of the table)
from sagevocab.unknown import unknown_characters, visible
from sagevocab.words import WordCorpus

SHOWN = 40
read_words = WordCorpus.load


def table_unknown(
    corpora: Mapping[str, WordCorpus],
    pieces: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    notes: Sequence[str] = (),
) -> Table:
    """Return how many characters of each corpus are unknown, and the most frequent of them.

    corpora: title -> corpus. pieces: title -> {label of a tokenizer: its pieces}. notes:
    sentences that end the note.
    """
    unknown = {
        (title, label): unknown_characters(corpora[title], vocabulary)
        for title, panel in pieces.items()
        for label, vocabulary in panel.items()
    }
    totals = {title: _characters(corpus) for title, corpus in corpora.items()}
    return Table(
        ["Language", "Tokenizer", ("Characters", "different"), ("Characters", "in all"), "%"]
        + ["Most frequent"],
        [
            [_cells(title, label, unknown[title, label], totals[title]) for label in panel]
            for title, panel in pieces.items()
        ],
        list(_records(unknown)),
        opening=1,
        note=["Shares are of the characters of the normalised text, without spaces.", *notes],
    )


def _characters(corpus: WordCorpus) -> int:
    """Return the characters of a corpus, without the mark at the start of words."""
    lengths = (len(word.removeprefix(WORD_START)) for word in corpus.types)
    return sum(
        count * length for count, length in zip(corpus.counts.tolist(), lengths, strict=True)
    )


def _cells(title: str, label: str, unknown: Mapping[str, int], total: int) -> Cells:
    count = sum(unknown.values())
    most = [visible(character) for character in list(unknown)[:SHOWN]]
    more = [f"and {len(unknown) - SHOWN:,} more"] if len(unknown) > SHOWN else []
    share = f"{100 * count / total:.3f}" if total else NOTHING
    return [title, label, f"{len(unknown):,}", f"{count:,}", share, " ".join([*most, *more])]


def _records(unknown: Mapping[tuple[str, str], Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    for (title, label), counts in unknown.items():
        for character, count in counts.items():
            yield {"language": title, "tokenizer": label, "character": character, "count": count}
