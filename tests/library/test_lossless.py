"""Lossless tokenizers: decoding gives back every text, in the library and in Hugging Face."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

import sagevocab
from sagevocab.errors import UserError
from sagevocab.huggingface.pipelines import BytePipeline
from sagevocab.huggingface.special_tokens import BERT
from sagevocab.pieces import SPECIAL_TOKENS
from sagevocab.training import SageVocabulary
from scripts_text import SENTENCES, lines_in

SMALL = {"word2vec": {"epochs": 1, "dimension": 8}, "threads": 1}
CODE = ["def f(x):", "    if x:", "        return x  # twice", "\tpass"] * 20
LINES = [*lines_in("czech", 150), *lines_in("chinese", 50), *CODE]


def trained(**options: object) -> SageVocabulary:
    return sagevocab.train(LINES, lossless=True, vocab_size=560, **SMALL, **options)


@pytest.fixture(scope="module")
def built() -> SageVocabulary:
    return trained()


@pytest.fixture(scope="module")
def folder(built: SageVocabulary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built.save(tmp_path_factory.mktemp("lossless") / "out")


@cache
def hub(folder: Path):
    return AutoTokenizer.from_pretrained(folder)


@cache
def plain(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.text(" \t\n\r\f\v\u00a0\u3000\u2028▁Ġaé中☃\x00\ufdd0\uffff[]MASK", max_size=60),
    st.lists(st.sampled_from([*SPECIAL_TOKENS, " ", "a", "[", "  ", "\n", "ř"])).map("".join),
    st.sampled_from([*SENTENCES["thai"], "x" * 1000, "中文" * 300, "👩\u200d💻" * 90, *CODE]),
)


@settings(max_examples=80)
@given(text=TEXTS)
def test_every_text_comes_back(built: SageVocabulary, folder: Path, text: str) -> None:
    ids = plain(folder).encode(text, add_special_tokens=False).ids
    assert plain(folder).decode(ids, skip_special_tokens=False) == text
    assert hub(folder)(text, add_special_tokens=False)["input_ids"] == ids
    assert hub(folder).decode(ids, skip_special_tokens=False) == text
    own = built.encode(text)
    assert not {0, 1, 2, 3, 4} & set(own)
    assert built.decode(own) == text
    assert (
        hub(folder)(text, add_special_tokens=False, split_special_tokens=True)["input_ids"] == own
    )


def test_words_by_hand() -> None:
    pipeline = BytePipeline(BERT, 8)
    assert pipeline.words_of("a  b\tc \n d") == ["a", "▁", "▁b", "ĉ", "c", "▁Ċ", "▁d"]
    assert pipeline.words_of("    x\n\n") == ["▁▁▁", "▁x", "ĊĊ"]
    # Eight letters of bytes, but none inside a character of three.
    assert pipeline.words_of("中中中abcdefgh") == ["ä¸Ńä¸Ń", "ä¸Ńabcde", "fgh"]


def test_a_vocabulary_without_special_tokens(tmp_path: Path) -> None:
    built = trained(special_tokens="none", preset="released")
    tokenizer = AutoTokenizer.from_pretrained(built.save(tmp_path / "out"))
    assert len(tokenizer) == 560
    text = "[UNK] <s>  ☃"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    pruned = sagevocab.prune(tmp_path / "out", LINES, 550).tokenizer
    assert pruned.decode(pruned.encode(text).ids) == text


def test_a_size_that_the_text_does_not_yield() -> None:
    with pytest.raises(UserError, match="^initial_size: .* 100000 pieces"):
        trained(initial_size=100_000)


def test_letters_of_bytes_count_as_text_in_any_folder(built, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    lines = lines_in("chinese", 20)
    of_object, own, imported = sagevocab.compare([built, folder, tmp_path], lines)
    del of_object["tokenizer"], own["tokenizer"], imported["tokenizer"]
    assert of_object == own == imported
    assert own["shared_with_first"] == 560
    assert sagevocab.compare([folder, ["▁", "中"]], lines)[1]["shared_with_first"] > 0
