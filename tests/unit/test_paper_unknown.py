"""The table of the characters that become [UNK]."""

from __future__ import annotations

import pandas as pd

from reproduction.paper.unknown import table_unknown
from sagevocab.words import Normalizer, WordCorpus
from table_files import markdown_rows

PIECES = ["▁", "a", "b", "▁ab"]


def corpus_of(*lines: str) -> WordCorpus:
    return WordCorpus.from_lines(lines, Normalizer("identity"))


def test_unknown_characters_are_counted_and_the_most_frequent_named(outputs):
    corpora = {"Slovene": corpus_of("ab čab", "čč\u0301b a☃"), "Turkish": corpus_of("ab a")}
    known = {"BPE": PIECES, "SaGe": [*PIECES, "č"]}
    table_unknown(corpora, dict.fromkeys(corpora, known)).write(**outputs)
    # 10 characters: č is three of them, the mark and the snowman one each.
    assert markdown_rows(outputs) == [
        ["Slovene", "BPE", "3", "5", "45.455", "č U+0301 ☃"],
        ["", "SaGe", "2", "2", "18.182", "U+0301 ☃"],
        ["Turkish", "BPE", "0", "0", "0.000", ""],
        ["", "SaGe", "0", "0", "0.000", ""],
    ]
    data = pd.read_csv(outputs["csv"])
    assert data[data["tokenizer"] == "SaGe"]["count"].tolist() == [1, 1]


def test_of_many_characters_forty_are_shown_and_the_others_counted(outputs):
    many = "".join(chr(0x4E00 + number) for number in range(50))
    table_unknown({"Chinese": corpus_of(many)}, {"Chinese": {"BPE": ["▁"]}}).write(**outputs)
    [[*_, shown]] = markdown_rows(outputs)
    assert len(shown.split()) == 40 + 3 and shown.endswith("and 10 more")
    assert len(pd.read_csv(outputs["csv"])) == 50
