"""The paper's tables of segmented sentences (Tables 1 and 2), found in the training corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from reproduction.analysis.examples import (
    Retokenization,
    Segmentation,
    WordRule,
    find_examples,
    find_retokenization,
    segment_sentence,
)
from reproduction.paper.formats import NOTHING, Files
from reproduction.paper.inputs import of_language
from reproduction.paper.notes import sources_note
from reproduction.paper.table import Cells, Table
from reproduction.parquet import read_parquet
from sagevocab.corpus.text import read_lines
from sagevocab.pieces import WORD_START, read_pieces
from sagevocab.segmentation.segmenter import GreedySegmenter, Segmenter

EXAMPLES = 3
PAPER = "paper"
EXAMPLES_NOTE = (
    "Sentences of the training corpus in which a piece stands that BPE keeps and SaGe drops; "
    "bold: the words that hold it."
)
PAPER_NOTE = (
    "Below them the paper's sentences, segmented by this run and, in the rows marked (paper), as "
    "printed there."
)
ABLATIONS_NOTE = (
    "Brackets: the context window around the target; bold: tokens of words that the ablation "
    "re-segments. Searched among the pieces that SaGe prunes, in its order."
)
_PRINTED = {"BPE": "bpe", "SaGe": "sage"}
Row = Mapping[str, Any]


def read_greedy(path: Files) -> GreedySegmenter:
    """Read a vocabulary as the greedy segmenter that the paper's tables and figures use."""
    return GreedySegmenter(read_pieces(path))


# --- Table 1


def table_examples(
    lines: Mapping[str, Files],
    segmenters: Mapping[str, Mapping[str, Segmenter]],
    paper: Mapping[str, Any],
    *,
    words: Mapping[str, Any],
    languages: Mapping[str, str],
    sources: Sequence[Mapping[str, Any]] = (),
) -> Table:
    """Return sentences with a piece that BPE keeps and SaGe drops, under both tokenizers.

    lines: language title -> lines. segmenters: title -> {label: segmenter}, BPE first. paper: the
    paper's values, whose sentences are segmented too. languages: code -> title. words: settings of
    `WordRule`. sources: of the texts, as for `sources_note`.
    Source: paper, Table 1.
    """
    rule, printed = WordRule(**words), of_language(paper["examples"], languages)
    rows: list[Row] = []
    for title, path in lines.items():
        rows += _corpus_rows(title, path, segmenters[title], rule)
        if title in printed:
            rows += _paper_rows(title, printed[title], segmenters[title], rule)
    return Table(
        ["Language", "From", "Piece", "Tokenizer", "Segmentation"],
        [
            [_example_cells(row) for row in example]
            for _, example in groupby(rows, key=itemgetter("language", "source", "example"))
        ],
        rows,
        opening=3,
        note=[
            EXAMPLES_NOTE,
            PAPER_NOTE if printed else "",
            sources_note(sources),
        ],
    )


def _example_cells(row: Row) -> Cells:
    where = "the paper" if row["source"] == PAPER else "corpus"
    return [row["language"], where, row["piece"], row["tokenizer"], row["segmentation"]]


def _corpus_rows(
    title: str, lines: Files, segmenters: Mapping[str, Segmenter], words: WordRule
) -> Iterator[Row]:
    (baseline, bpe), *others = segmenters.items()
    for label, sage in others:
        found = find_examples(read_lines(lines), words, bpe, sage, EXAMPLES)
        for number, one in enumerate(found, start=1):
            parts = {baseline: one.bpe, label: one.sage}
            yield from _example_rows(title, f"corpus, {label}", number, one.piece, parts)


def _paper_rows(
    title: str, printed: Row, segmenters: Mapping[str, Segmenter], words: WordRule
) -> Iterator[Row]:
    (baseline, bpe), *others = segmenters.items()
    piece = printed["piece"]
    for number, sentence in enumerate(printed["sentences"], start=1):
        parts: dict[str, Segmentation] = {}
        for label, sage in others:
            one = segment_sentence(sentence["text"], words, bpe, sage, piece)
            parts |= {baseline: one.bpe, label: one.sage}
        for name, key in _PRINTED.items():
            parts[f"{name} ({PAPER})"] = printed_segmentation(sentence[key], sentence["bold"])
        yield from _example_rows(title, PAPER, number, piece, parts)


def _example_rows(
    title: str, source: str, number: int, piece: str, parts: Mapping[str, Segmentation]
) -> Iterator[Row]:
    for name, segmentation in parts.items():
        yield {
            "language": title,
            "source": source,
            "example": number,
            "piece": piece,
            "tokenizer": name,
            "segmentation": segmentation,
            "changed": " ".join(segmentation.marked_tokens()),
        }


def printed_segmentation(text: str, bold: str) -> Segmentation:
    """Return a segmentation as the paper prints it, the tokens of the word `bold` marked."""
    tokens = text.split()
    starts = [i for i, token in enumerate(tokens) if token.startswith(WORD_START)] + [len(tokens)]
    marked: set[int] = set()
    for start, stop in zip(starts, starts[1:], strict=False):
        if "".join(tokens[start:stop]).removeprefix(WORD_START) == bold:
            marked.update(range(start, stop))
    return Segmentation(tuple(tokens), frozenset(marked))


# --- Table 2


def table_retokenization(
    lines: Mapping[str, Files],
    initial: Mapping[str, Files],
    ablations: Mapping[str, Mapping[str, Files]],
    paper: Mapping[str, Any],
    *,
    words: Mapping[str, Any],
    languages: Mapping[str, str],
    sources: Sequence[Mapping[str, Any]] = (),
) -> Table:
    """Return an ablation that changes a token within a target's window from outside the window.

    initial: title -> pieces.txt SaGe starts from. ablations: title -> {SaGe label:
    ablations.parquet}. The others are as for `table_examples`; the window is the paper's.

    Source: paper, Table 2.
    """
    rule, printed = WordRule(**words), of_language(paper["retokenization"], languages)
    window = paper["retokenization"]["window"]
    blocks: list[list[Cells]] = []
    for title, text in lines.items():
        pieces = read_pieces(initial[title])
        for label, path in ablations[title].items():
            pruned = read_parquet(path, ["piece"])["piece"].tolist()
            found = find_retokenization(read_lines(text), rule, pieces, pruned, window)
            blocks.append([(title, label, *cells) for cells in _ablation_cells(found)])
        if title in printed:
            of_paper = _printed_retokenization(printed[title])
            blocks.append([(title, "the paper", *cells) for cells in _ablation_cells(of_paper)])
    head = ["Language", "Tokenizer", "Ablated", "Target", "Vocabulary", "Segmentation"]
    names = [name.lower() for name in head]
    return Table(
        head,
        blocks,
        [dict(zip(names, row, strict=True)) for block in blocks for row in block],
        opening=4,
        note=[ABLATIONS_NOTE, sources_note(sources)],
    )


def _ablation_cells(found: Retokenization | None) -> Iterator[list]:
    """Yield ablated piece, target, vocabulary and segmentation, before and after the ablation."""
    if found is None:
        yield [NOTHING, NOTHING, "whole", "no such sentence in the corpus"]
        return
    before = bracketed(found.before, found.window_before)
    after = bracketed(found.after, found.window_after)
    yield [found.piece, found.target, "whole", before]
    yield [found.piece, found.target, f"without {found.piece}", after]


def bracketed(segmentation: Segmentation, span: tuple[int, int]) -> Segmentation:
    """Return a segmentation with brackets around the half-open `span` of its tokens."""
    first, last = span
    tokens = segmentation.tokens
    parts = (*tokens[:first], "[", *tokens[first:last], "]", *tokens[last:])
    marked = {place + (place >= first) + (place >= last) for place in segmentation.marked}
    return Segmentation(parts, frozenset(marked))


def _printed_retokenization(printed: Mapping[str, Any]) -> Retokenization:
    target, window = printed["target"], printed["window"]
    states = [printed_segmentation(printed[key], printed["word"]) for key in ("before", "after")]
    spans = []
    for state in states:
        centre = state.tokens.index(target)
        spans.append((max(0, centre - window), min(len(state.tokens), centre + window + 1)))
    return Retokenization("", printed["ablated"], target, *states, *spans)
