"""The paper's tables of segmented sentences (Tables 1 and 2), found in the run's own corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sagevocab.analysis.examples import (
    Example,
    Retokenization,
    find_examples,
    find_retokenization,
    segment_sentence,
)
from sagevocab.data.corpus import read_lines
from sagevocab.paper.formats import NOTHING, Files, Segmentation, write_table
from sagevocab.paper.inputs import require_comparison
from sagevocab.paper.notes import presets_note, sources_note, with_notes
from sagevocab.state import read_parquet
from sagevocab.vocab.pieces import WORD_START, read_pieces
from sagevocab.vocab.segment import GreedySegmenter, Segmenter
from sagevocab.vocab.words import Normalizer

EXAMPLES = 3
PAPER = "paper"
_ABLATIONS_NOTE = (
    "Brackets: the context window around the target; bold: tokens of words that the ablation "
    "re-segments. Searched among the pieces that SaGe prunes, in its order."
)


@dataclass(frozen=True)
class WordRule:
    """How a line becomes words: the normalisation and the length at which words are cut."""

    normalization: str = "nmt_nfkc"
    max_word_chars: int = 256


@dataclass(frozen=True)
class Row:
    """One segmentation of one sentence."""

    language: str
    source: str
    example: int
    piece: str
    tokenizer: str
    segmentation: Segmentation


def read_greedy(path: Files) -> GreedySegmenter:
    """Read a vocabulary as the greedy segmenter that the paper's tables and figures use."""
    return GreedySegmenter(read_pieces(path))


def text_notes(
    presets: Mapping[str, str],
    sources: Sequence[Mapping[str, Any]],
    descriptions: Sequence[Files],
) -> list[str]:
    """Return what stands under a table of sentences; arguments as of the notes it is made of."""
    return [sources_note(sources, descriptions), presets_note(presets.items())]


def table_examples(
    corpora: Mapping[str, Files],
    segmenters: Mapping[str, Mapping[str, Segmenter]],
    *,
    words: WordRule,
    paper: Mapping[str, Mapping[str, Any]],
    notes: Sequence[str] = (),
    **files: Files,
) -> None:
    """Write sentences with a piece that BPE keeps and SaGe drops, under both tokenizers.

    corpora: language title -> lines. segmenters: title -> {label: segmenter}, BPE first. paper:
    title -> the paper's sentences (`examples` of paper_values.yaml), which are segmented too.
    notes: sentences that end the note.
    Source: paper, Table 1.
    """
    require_comparison(segmenters)
    normalizer = Normalizer(words.normalization)
    rows = []
    for title, lines in corpora.items():
        rows += _corpus_rows(title, lines, segmenters[title], normalizer, words.max_word_chars)
        if title in paper:
            rows += _paper_rows(title, paper[title], segmenters[title], normalizer)
    note = (
        "Sentences of the training corpus in which a piece stands that BPE keeps and SaGe drops; "
        "bold: the words that hold it. Below them the paper's sentences, segmented by this run "
        "and, in the rows marked (paper), as printed there."
    )
    _write_rows(rows, with_notes(note, notes), files)


def _corpus_rows(
    title: str,
    lines: Files,
    segmenters: Mapping[str, Segmenter],
    normalizer: Normalizer,
    max_word_chars: int,
) -> Iterator[Row]:
    (baseline, bpe), *others = segmenters.items()
    for label, sage in others:
        examples = find_examples(
            read_lines(lines), normalizer, bpe, sage, EXAMPLES, max_word_chars=max_word_chars
        )
        for number, example in enumerate(examples, start=1):
            pair = _pair(example)
            for name, segmentation in zip((baseline, label), pair, strict=True):
                yield Row(title, f"corpus, {label}", number, example.piece, name, segmentation)


def _pair(example: Example) -> tuple[Segmentation, Segmentation]:
    return (
        segmentation_of(example.bpe_tokens, example.bpe_changed),
        segmentation_of(example.sage_tokens, example.sage_changed),
    )


def _paper_rows(
    title: str,
    printed: Mapping[str, Any],
    segmenters: Mapping[str, Segmenter],
    normalizer: Normalizer,
) -> Iterator[Row]:
    (baseline, bpe), *others = segmenters.items()
    piece = printed["piece"]
    for number, sentence in enumerate(printed["sentences"], start=1):
        ours: dict[str, Segmentation] = {}
        for label, sage in others:
            example = segment_sentence(sentence["text"], normalizer, bpe, sage, piece)
            ours[baseline], ours[label] = _pair(example)
        theirs = {f"{name} ({PAPER})": sentence[key] for name, key in _PRINTED.items()}
        for name, segmentation in ours.items():
            yield Row(title, PAPER, number, piece, name, segmentation)
        for name, text in theirs.items():
            segmentation = printed_segmentation(text, sentence["bold"])
            yield Row(title, PAPER, number, piece, name, segmentation)


_PRINTED = {"BPE": "bpe", "SaGe": "sage"}


def segmentation_of(tokens: Sequence[str], changed: Sequence[bool]) -> Segmentation:
    """Return tokens with the changed ones marked."""
    return Segmentation(tuple(tokens), frozenset(i for i, mark in enumerate(changed) if mark))


def printed_segmentation(text: str, bold: str) -> Segmentation:
    """Return a segmentation as the paper prints it, the tokens of the word `bold` marked."""
    tokens = text.split()
    starts = [i for i, token in enumerate(tokens) if token.startswith(WORD_START)] + [len(tokens)]
    marked: set[int] = set()
    for start, stop in zip(starts, starts[1:], strict=False):
        if "".join(tokens[start:stop]).removeprefix(WORD_START) == bold:
            marked.update(range(start, stop))
    return Segmentation(tuple(tokens), frozenset(marked))


def _write_rows(rows: Sequence[Row], note: str, files: Mapping[str, Files]) -> None:
    shown, blocks, last = [], [], None
    for index, row in enumerate(rows):
        key = (row.language, row.source, row.example)
        if last is not None and key != last:
            blocks.append(index)
        where = "the paper" if row.source == PAPER else "corpus"
        opening = [row.language, where, row.piece] if key != last else ["", "", ""]
        shown.append([*opening, row.tokenizer, row.segmentation])
        last = key
    frame = pd.DataFrame(shown, columns=["Language", "From", "Piece", "Tokenizer", "Segmentation"])
    data = pd.DataFrame([_flat_row(row) for row in rows])
    write_table(frame, data, align="llllp{9cm}", note=note, blocks=blocks, **files)


def _flat_row(row: Row) -> dict[str, Any]:
    tokens, marked = row.segmentation.tokens, row.segmentation.marked
    return {
        "language": row.language,
        "source": row.source,
        "example": row.example,
        "piece": row.piece,
        "tokenizer": row.tokenizer,
        "segmentation": " ".join(tokens),
        "changed": " ".join(token for index, token in enumerate(tokens) if index in marked),
    }


def table_retokenization(
    corpora: Mapping[str, Files],
    initial: Mapping[str, Files],
    ablations: Mapping[str, Mapping[str, Files]],
    *,
    window: int,
    words: WordRule,
    paper: Mapping[str, Mapping[str, Any]],
    notes: Sequence[str] = (),
    **files: Files,
) -> None:
    """Write an ablation that changes a token within a target's window from outside the window.

    corpora: language title -> lines. initial: title -> pieces.txt SaGe starts from. ablations:
    title -> {SaGe label: ablations.parquet}. window: of the illustration (the paper's is 2).
    paper: title -> `retokenization` of paper_values.yaml. notes: sentences that end the note.
    Source: paper, Table 2.
    """
    require_comparison(ablations, tokenizers=1)
    normalizer = Normalizer(words.normalization)
    rows = []
    for title, lines in corpora.items():
        pieces = read_pieces(initial[title])
        for label, path in ablations[title].items():
            found = find_retokenization(
                read_lines(lines),
                normalizer,
                GreedySegmenter,
                pieces,
                read_parquet(path, ["piece"])["piece"].tolist(),
                window,
                max_word_chars=words.max_word_chars,
            )
            rows += _found_rows(title, label, found)
        if title in paper:
            rows += _printed_rows(title, paper[title])
    _write_ablations(rows, with_notes(_ABLATIONS_NOTE, notes), files)


@dataclass(frozen=True)
class AblationRow:
    """A sentence with a vocabulary, whole or without one piece."""

    language: str
    tokenizer: str
    piece: str
    target: str
    vocabulary: str
    segmentation: Segmentation | str


def _found_rows(title: str, label: str, found: Retokenization | None) -> Iterator[AblationRow]:
    if found is None:
        yield AblationRow(title, label, NOTHING, NOTHING, "whole", "no such sentence in the corpus")
        return
    target = found.before[found.target_before]
    states = {
        "whole": (found.before, found.changed_before, found.window_before),
        f"without {found.piece}": (found.after, found.changed_after, found.window_after),
    }
    for vocabulary, (tokens, changed, span) in states.items():
        segmentation = bracketed(tokens, changed, span)
        yield AblationRow(title, label, found.piece, target, vocabulary, segmentation)


def bracketed(
    tokens: Sequence[str], changed: Sequence[bool], span: tuple[int, int]
) -> Segmentation:
    """Return tokens with brackets around the half-open `span`, the changed ones marked."""
    first, last = span
    parts, marked = [], set()
    for index, (token, mark) in enumerate(zip(tokens, changed, strict=True)):
        parts += ["["] if index == first else []
        marked |= {len(parts)} if mark else set()
        parts.append(token)
        parts += ["]"] if index == last - 1 else []
    return Segmentation(tuple(parts), frozenset(marked))


def _printed_rows(title: str, printed: Mapping[str, Any]) -> Iterator[AblationRow]:
    ablated, target, window = printed["ablated"], printed["target"], printed["window"]
    states = {"whole": printed["before"], f"without {ablated}": printed["after"]}
    for vocabulary, text in states.items():
        plain = printed_segmentation(text, printed["word"])
        tokens = plain.tokens
        centre = tokens.index(target)
        span = (max(0, centre - window), min(len(tokens), centre + window + 1))
        segmentation = bracketed(tokens, [i in plain.marked for i in range(len(tokens))], span)
        yield AblationRow(title, "the paper", ablated, target, vocabulary, segmentation)


def _write_ablations(rows: Sequence[AblationRow], note: str, files: Mapping[str, Files]) -> None:
    columns = ["Language", "Tokenizer", "Ablated", "Target", "Vocabulary", "Segmentation"]
    shown, blocks, last = [], [], None
    for index, row in enumerate(rows):
        key = (row.language, row.tokenizer)
        if last is not None and key != last:
            blocks.append(index)
        opening = [*key, row.piece, row.target] if key != last else [""] * 4
        shown.append([*opening, row.vocabulary, row.segmentation])
        last = key
    data = [
        [row.language, row.tokenizer, row.piece, row.target, row.vocabulary, str(row.segmentation)]
        for row in rows
    ]
    write_table(
        pd.DataFrame(shown, columns=columns),
        pd.DataFrame(data, columns=[name.lower() for name in columns]),
        align="lllllp{8cm}",
        note=note,
        blocks=blocks,
        **files,
    )
