"""The table of every tokenizer's measures."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from latex_checks import widths_of
from reproduction.paper.tokenizers import read_texts, table_tokenizers
from sagevocab.errors import UserError
from table_files import markdown_rows, text_of

SUMMARY = {
    "vocabulary": 16000,
    "lines": 10,
    "words": 100,
    "tokens": 150,
    "fertility": {"value": 1.5, "low": 1.49, "high": 1.51},
    "tokens_per_character": 0.25,
    "tokens_per_byte": 0.2,
    "type_token_ratio": 0.1,
    "vocabulary_use": 0.999,
    "shannon_efficiency": 0.8,
    "renyi_efficiency": 0.6,
    "renyi_alpha": 2.5,
    "word_initial_share": 0.55,
    "single_character_share": 0.2,
    "whole_word_share": 0.654,
    "unknown_share": 0.0012,
    "mean_token_length": 3.1,
    "mean_piece_length": 4.9,
}
AGREEMENT = {
    "words": 40,
    "precision": {"value": 0.2, "low": 0.1, "high": 0.3},
    "recall": {"value": 0.6, "low": 0.5, "high": 0.7},
    "f1": {"value": 0.3, "low": 0.2, "high": 0.4},
}
UNIGRAM = {**SUMMARY, "fertility": dict.fromkeys(SUMMARY["fertility"], 2)}
PANEL = {"BPE": SUMMARY, "UnigramLM": UNIGRAM}
TEXTS = {
    ("English", "Training corpus"): PANEL,
    ("English", "Quora questions"): PANEL,
    ("Turkish", "Training corpus"): PANEL,
}


def head_and_rows(outputs) -> list[list[str]]:
    head = text_of(outputs, "md").splitlines()[0]
    return [[cell.strip() for cell in head.strip("|").split("|")], *markdown_rows(outputs)]


def test_a_row_a_text_and_tokenizer(outputs):
    table_tokenizers(TEXTS, morphology={}).write(**outputs)
    head, *rows = head_and_rows(outputs)
    assert [row[:3] for row in rows] == [
        ["English", "Training corpus", "BPE"],
        ["", "", "UnigramLM"],
        ["", "Quora questions", "BPE"],
        ["", "", "UnigramLM"],
        ["Turkish", "Training corpus", "BPE"],
        ["", "", "UnigramLM"],
    ]
    first = dict(zip(head, rows[0], strict=True))
    assert first["Fertility"] == "1.500 ± 0.010"
    assert rows[1][head.index("Fertility")] == "2.0000 ± 0.0000"
    assert first["Per token (characters)"] == "4.00"
    assert first["Per token (bytes)"] == "5.00"
    assert first["Whole (%)"] == "65.4"
    assert first["Unknown (%)"] == "0.12"
    assert first["Types (per 1,000)"] == "100.00"
    assert first["Efficiency (Rényi)"] == "0.600"
    tex = outputs["tex"].read_text(encoding="utf-8")
    assert tex.count("\\midrule") == 3
    assert widths_of(tex) == [14]
    # Numbers are bare in CSV.
    data = pd.read_csv(outputs["csv"])
    assert len(data) == 6
    assert data["fertility_low"].tolist() == [1.49, 2.0] * 3
    assert data["characters_per_token"].eq(4).all()
    assert data["type_token_ratio"].eq(0.1).all()


def test_morphemes_stand_only_where_a_list_is_given(outputs):
    morphology = {"English": dict.fromkeys(PANEL, AGREEMENT)}
    table_tokenizers(TEXTS, morphology=morphology).write(**outputs)
    head, *rows = head_and_rows(outputs)
    column = head.index("Morphemes (F1)")
    assert [row[column] for row in rows] == ["0.300"] * 4 + ["–"] * 2
    data = pd.read_csv(outputs["csv"])
    assert data["morpheme_recall"].isna().tolist() == [False] * 4 + [True] * 2
    assert "language_settings.LANGUAGE.morphology" in outputs["md"].read_text(encoding="utf-8")


def test_without_any_list_there_is_no_column_and_a_word_of_why(outputs):
    table_tokenizers(TEXTS, morphology={}, notes=["Presets: none."]).write(**outputs)
    text = outputs["md"].read_text(encoding="utf-8")
    assert "Morphemes (F1)" not in text
    assert "Morphemes:" not in text
    assert text.endswith("Presets: none.\n")
    assert "docs/appendix/deviations.md" in text


def test_files_are_read_text_by_text(tmp_path):
    paths = [tmp_path / f"{number}.json" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_text(json.dumps({"number": number}), encoding="utf-8")
    of = [dict(zip(("BPE", "SaGe"), two, strict=True)) for two in (paths[:2], paths[2:])]
    read = read_texts({"en": {"train": of[0], "quora": of[1]}})
    assert read[("en", "quora")] == {"BPE": {"number": 2}, "SaGe": {"number": 3}}
    with pytest.raises(UserError, match="no.json: cannot be read"):
        read_texts({"en": {"train": {"BPE": tmp_path / "no.json"}}})
