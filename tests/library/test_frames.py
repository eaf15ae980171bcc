"""Frames: how a line becomes words, how pieces are written, what the exported tokenizer does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import AutoTokenizer

import sagevocab
from sagevocab.errors import UserError
from sagevocab.initial import read_initial
from sagevocab.notation import Notation, Prefixed
from sagevocab.pieces import prunable, read_description
from sagevocab.settings import WordSettings
from scripts_text import SENTENCES, lines_in

OLD = Path(__file__).parent / "folders/0.1"
# What version 0.1 printed for the first Czech sentence.
TOKENS = "▁|P|ř|í|li|š|▁d|lo|u|h|á|▁z|i|m|a|▁l|e|t|o|s|▁zdr|žela|▁p|ráce|▁n|a|▁zahradě|."


def test_a_folder_of_version_0_1_is_read() -> None:
    line = SENTENCES["czech"][0]
    encoder = sagevocab.load(OLD)
    assert "|".join(encoder.tokenize(line)) == TOKENS
    assert encoder.encode(line)[:4] == [118, 163, 142, 145]
    assert "|".join(AutoTokenizer.from_pretrained(OLD).tokenize(line)) == TOKENS
    initial = read_initial(OLD)
    assert initial.frame.words == WordSettings("identity", 256)
    assert initial.frame.special_tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    again = initial.frame.tokenizer(initial.pieces)
    assert again.to_str(pretty=True) == (OLD / "tokenizer.json").read_text(encoding="utf-8")
    assert len(sagevocab.compare([OLD], [line])) == 1


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "pieces.txt"):
        (tmp_path / name).write_bytes((OLD / name).read_bytes())
    config = (OLD / "tokenizer_config.json").read_text(encoding="utf-8")
    config = config.replace('"max_word_chars": 256', '"format": 99')
    (tmp_path / "tokenizer_config.json").write_text(config, encoding="utf-8")
    for use in (
        sagevocab.load,
        lambda folder: sagevocab.compare([folder], ["text"]),
        lambda folder: sagevocab.train(["text"], initial=folder),
    ):
        with pytest.raises(UserError, match="format 99; upgrade"):
            use(tmp_path)


def test_what_the_first_versions_cannot_read_has_a_format_number(tmp_path: Path) -> None:
    small = {"vocab_size": 300, "initial_size": 310, "progress": False, "threads": 1}
    small["word2vec"] = {"epochs": 1, "dimension": 4}
    lines = lines_in("czech", 40)
    for name, options, number in (("plain", {}, None), ("bytes", {"lossless": True}, 2)):
        sagevocab.train(lines, output=tmp_path / name, **small, **options)
        assert read_description(tmp_path / name).get("format") == number
        record = json.loads((tmp_path / name / "sagevocab.json").read_text(encoding="utf-8"))
        assert record["version"] == sagevocab.__version__


# --- notations, by hand


@pytest.mark.parametrize(
    ("notation", "pairs"),
    [
        (Prefixed("##"), {"play": "▁play", "##ing": "ing", "##": "▁##", "▁a": "▁\ufdd0a"}),
        (Notation("Ġ"), {"Ġthe": "▁the", "the": "the", "ĠĠ": "▁▁"}),
        (Notation("_"), {"_the": "▁the", "▁the": "_the", "a\nb": "a\ufdd1b"}),
        (Notation(), {"▁the": "▁the", "the": "the"}),
    ],
)
def test_notations_translate_both_ways(notation: Notation, pairs: dict[str, str]) -> None:
    for token, piece in pairs.items():
        assert notation.piece(token) == piece
        assert notation.token(piece) == token


def test_pieces_that_hold_a_character_without_a_piece_are_never_pruned() -> None:
    marked = ["▁a", "b", "▁ab", "▁ba", "ab"]  # `b` does not begin a word, `a` is not inside one
    assert prunable(marked) == [False, False, True, False, False]
    assert prunable(["▁", "a", "b", "▁ab", "ab", "abc"]) == [False] * 3 + [True, True, False]
