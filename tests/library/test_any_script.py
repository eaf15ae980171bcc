"""Any script: what the library segments is what the exported tokenizer segments."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest
from transformers import AutoTokenizer

import sagevocab
from sagevocab.corpus.words import Normalizer
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.pieces import UNKNOWN_ID, WORD_START, is_single_character
from sagevocab.training import SageVocabulary
from scripts_text import SENTENCES, lines_in
from vocabulary_samples import encode

QUICK = {"epochs": 1, "dimension": 8, "negative": 5}
SCRIPTS = sorted(SENTENCES)


def characters_in(lines: list[str]) -> int:
    """Count the distinct characters that need a piece."""
    return len(set("".join(map(Normalizer(), lines))))


def trained(lines: list[str]) -> SageVocabulary:
    """Train on lines with every character covered."""
    size = 2 * characters_in(lines) + 120
    return sagevocab.train(
        lines,
        initial_size=size,
        vocab_size=size - 60,
        word2vec=QUICK,
        vocabulary={"character_coverage": 1.0, "ascii": False},
        threads=1,
    )


def check_equal_ids(folder: Path, lines: list[str]) -> None:
    """Compare library, `sagevocab.load` and AutoTokenizer; then decode."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    segmenter, normalizer = load_segmenter(folder), Normalizer()
    expected = [encode(line, segmenter, normalizer) for line in lines]
    batch = tokenizer(lines, add_special_tokens=False)["input_ids"]
    encoder = sagevocab.load(folder)
    assert batch == expected
    assert list(encoder.encode_lines(lines)) == expected
    for line, ids in zip(lines, expected, strict=True):
        if UNKNOWN_ID not in ids:
            assert tokenizer.decode(ids) == encoder.decode(ids) == normalizer(line)


@pytest.mark.parametrize("script", SCRIPTS)
def test_bpe_vocabulary_of_any_script(script: str, tmp_path: Path) -> None:
    lines = lines_in(script)
    built = trained(lines)
    folder = built.save(tmp_path / script)
    assert len(built.pieces) == len(built.initial) - 60
    assert set(built.ablations["piece"]) == set(built.initial) - set(built.pieces)
    assert not any(map(is_single_character, built.ablations["piece"]))
    check_equal_ids(folder, lines)
    ids = sagevocab.load(folder).encode_lines(SENTENCES[script])
    assert not any(UNKNOWN_ID in line for line in ids)


def test_words_of_thousands_of_characters(tmp_path: Path) -> None:
    lines = lines_in("thai", 300)
    long = ["".join(lines[start : start + 150]) for start in range(0, 300, 150)]
    assert min(map(len, long)) > 1500
    built = trained(long + lines)
    assert max(map(len, built.pieces)) <= 16
    folder = built.save(tmp_path / "thai")
    check_equal_ids(folder, long)
    # One word of 100,000 characters takes as long as many short ones: seconds, not hours.
    huge = "".join(lines * 30)[:100_000]
    assert len(huge) > 90_000 and " " not in huge
    check_equal_ids(folder, [huge])


DRAW = random.Random(4)
# So few words, for so many characters, that `▁` is beyond the coverage of the alphabet.
LONG_WORDS = {
    "dna": ["".join(DRAW.choices("ACGT", k=3000)) for _ in range(60)],
    "base64": [base64.b64encode(DRAW.randbytes(2500)).decode() for _ in range(60)],
}
LINES = ["ACGT " + "GATTACA" * 30, "aGVsbG8=+/ abc", "one word", "x" * 3000]


@pytest.mark.parametrize(("text", "preset"), [("dna", "printed"), ("base64", "released")])
def test_lines_of_one_long_word(text: str, preset: str, tmp_path: Path) -> None:
    lines = LONG_WORDS[text]
    settings = {"vocab_size": 120, "vocabulary": {"ascii": False}, "word2vec": QUICK}
    built = sagevocab.train(lines, preset=preset, threads=1, **settings)
    assert WORD_START in built.initial
    assert len(built.pieces) == 120
    check_equal_ids(built.save(tmp_path / text), lines[:3] + LINES)
