"""Hugging Face ids are the library's ids, for every kind of vocabulary and any text."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

import oracle
import sagevocab
from hub_kinds import KINDS
from sagevocab.corpus.words import NORMALIZATIONS, Normalizer, split_words
from sagevocab.huggingface.export import WordSettings, export_greedy
from sagevocab.huggingface.load import convert
from sagevocab.huggingface.pretrained import parsed
from sagevocab.huggingface.segmenter import HubSegmenter, load_segmenter
from sagevocab.pieces import SPECIAL_TOKENS, encode_batch, read_pieces, tokens_by_id
from vocabulary_samples import CARD, WORDS, encode, english, make_folders

TRAINED = ["bpe", "sage", "merges", "unigram"]
OWN = [*TRAINED, "list"]
EXPORTED = [*OWN, "model", "lossless"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A folder of each kind, made by the code under test from real text."""
    root, lines = tmp_path_factory.mktemp("vocabularies"), english()[:800]
    pieces = read_pieces(make_folders(root, lines)["bpe"] / "pieces.txt")
    (root / "list.txt").write_text("\n".join(["<unk>", *pieces[::2], ""]), encoding="utf-8")
    convert(root / "list.txt", root / "list")
    convert(root / "unigram.model", root / "model")
    sagevocab.train(lines, 500, preset="counts", lossless=True, output=root / "lossless")
    return {name: root / name for name in EXPORTED}


@functools.cache
def hub(folder: Path):
    return AutoTokenizer.from_pretrained(folder)


@functools.cache
def library(folder: Path):
    return load_segmenter(folder)


@functools.cache
def normalizer(rule: str = "nmt_nfkc") -> Normalizer:
    return Normalizer(rule)


def hub_ids(folder: Path, text: str) -> list[int]:
    return hub(folder)(text, add_special_tokens=False)["input_ids"]


def library_ids(folder: Path, text: str) -> list[int]:
    return encode(text, library(folder), normalizer(), WORDS.max_word_chars)


def spells_no_special(text: str) -> bool:
    """Text that spells a special token is one to Hugging Face, and words to the library."""
    return not any(token in text for token in SPECIAL_TOKENS)


ANYTHING = st.text(st.characters(codec="utf-8"), max_size=60)
WORDLIKE = st.text(
    "aeinorst▁ \t\n\r\u00a0\u3000\u0301éÉßﬁ☃ğıİ.,-'\"0123…«中文👩\u200d💻", max_size=80
)
LONG = st.builds(
    lambda unit, count, tail: (unit * count)[:count] + tail,
    st.text("aest中☃\u0301", min_size=1, max_size=5),
    st.sampled_from([199, 200, 254, 255, 256, 257, 511, 1000]),
    WORDLIKE,
)
REAL = st.sampled_from(english())
TEXTS = st.one_of(ANYTHING, WORDLIKE, LONG, REAL).filter(spells_no_special)

CASES = [
    *("", " ", "\t\n", "▁", "▁▁ a▁b", "☃", "☃☃ the☃n ☃the", "a" * 200, "the" * 400 + " and"),
    *("e\u0301 \u0301a cafe\u0301", "👩\u200d💻👨\u200d👩\u200d👧 ok", "中文字符 mixed文字"),
    *("no\u00a0break\u3000wide\u2028line", "\x00a\x01b\x7fc\u0085d", "ﬁne ① Ⅳ ½ ㍿"),
    *("tab\tand\nnewline\r\nend ", "\ufeffbom \u200bzero"),
]
SPELT = "the ［MASK］ of a［ＳＥＰ］b [MASK"  # normalised it spells special tokens
relaxed = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("kind", EXPORTED)
@relaxed
@given(texts=st.lists(ANYTHING | WORDLIKE, max_size=5))
def test_lines_by_their_words_have_the_ids_of_whole_lines(folders, kind: str, texts) -> None:
    encoder = encoder_of(folders[kind])
    lines = [*texts, " ".join(texts), "", " ", "the  \ufffd word \u00a8 of\u00a0a [MASK] ▁"]
    whole = [[*encoding.ids] for encoding in encode_batch(encoder._backend, lines)]
    assert list(encoder.encode_lines(lines)) == whole


@functools.cache
def encoder_of(folder: Path):
    return sagevocab.load(folder)


@pytest.mark.parametrize("name", OWN)
def test_known_hard_texts(folders, name):
    for text in CASES:
        assert hub_ids(folders[name], text) == library_ids(folders[name], text)


@pytest.mark.parametrize("name", OWN)
def test_normalised_text_spells_no_special_token(folders, name):
    assert hub_ids(folders[name], SPELT) == library_ids(folders[name], SPELT)
    assert not {0, 2, 3, 4} & set(hub_ids(folders[name], SPELT))


@pytest.mark.parametrize("name", OWN)
@relaxed
@given(text=TEXTS)
def test_any_text(folders, name, text):
    assert hub_ids(folders[name], text) == library_ids(folders[name], text)


# Of a regular expression of `tokenizers`: anchors, options and escapes that JavaScript lacks.
ELSEWHERE = re.compile(
    r"\\[AGKRXZahz]|\\x\{|\(\?[a-zA-Z>-]|&&|\[:|[*+?}][+]|\\[^\w^$\\.*+?()[\]{}|/-]"
)


def parts_of(value: object) -> Iterator[dict]:
    """Every object of a JSON value."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from parts_of(one)


@pytest.mark.parametrize("name", EXPORTED)
def test_other_runtimes_read_every_part(folders, name):
    """`tokenizers` 0.19 and the JavaScript port; `make test-runtimes` runs them."""
    spec = json.loads((folders[name] / "tokenizer.json").read_text("utf-8"))
    steps = [one["type"] for one in spec["pre_tokenizer"]["pretokenizers"]]
    assert "Sequence" not in steps
    assert all(isinstance(merge, str) for merge in spec["model"].get("merges", []))
    for part in parts_of([spec["normalizer"], spec["pre_tokenizer"]]):
        assert part.get("behavior", "Isolated") == "Isolated"
        assert not ELSEWHERE.search(part.get("Regex", ""))


@functools.cache
def foreign(name: str) -> tuple[Tokenizer, HubSegmenter, dict[str, str]]:
    """A tokenizer of another kind, its segmenter, and the piece of each of its tokens."""
    tokenizer = KINDS[name]()
    tokenizer.encode_special_tokens = True
    segmenter = HubSegmenter(parsed(tokenizer, "key"))
    added = tokenizer.get_added_tokens_decoder().values()
    special = {token.content for token in added if token.special}
    tokens = [token for token in tokens_by_id(tokenizer) if token not in special]
    return tokenizer, segmenter, dict(zip(tokens, segmenter.pieces, strict=True))


@pytest.mark.parametrize("name", ["wordpiece", "byte-level", "unigram"])
@relaxed
@given(text=st.one_of(WORDLIKE, REAL, st.sampled_from(CASES)).filter(spells_no_special))
def test_a_foreign_tokenizer_segments_words_as_it_segments_their_text(name, text):
    tokenizer, segmenter, piece_of = foreign(name)
    normal = normalizer()(text)
    assume(normal and spells_no_special(normal))
    found = [
        segmenter.pieces[number] if number >= 0 else None
        for word in split_words(normal, 10**6)
        for number in segmenter.segment(word)
    ]
    tokens = tokenizer.encode(f" {normal}", add_special_tokens=False).tokens
    assert found == [piece_of.get(token) for token in tokens]


# --- against matchers that know nothing of the library


def naive_greedy(text: str, pieces: list[str]) -> list[int]:
    """Longest match from the left, as plain as it can be."""
    ids = {None: 1, **{piece: number for number, piece in enumerate(pieces, start=5)}}
    words = split_words(normalizer()(text), WORDS.max_word_chars)
    return [ids[token] for word in words for token in oracle.greedy(word, frozenset(pieces))]


def one_unknown(ids: list[int]) -> list[int]:
    """Fold runs of [UNK], as sentencepiece does."""
    return [one for one, before in zip(ids, [None, *ids], strict=False) if (one, before) != (1, 1)]


@pytest.mark.parametrize(("name", "model"), [("merges", "bpe"), ("unigram", "unigram")])
def test_sentencepiece_gives_the_same_on_real_lines(folders, name, model):
    path = folders[name].parent / f"{model}.model"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    lines = english()
    encoded = hub(folders[name])(lines, add_special_tokens=False)["input_ids"]
    ours = [one_unknown(ids) for ids in encoded]
    theirs = [[1 if n == 0 else n + 2 for n in ids] for ids in processor.encode(lines)]
    assert ours == theirs


# --- every normalisation; special tokens


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("normalizations")
    for rule in NORMALIZATIONS:
        export_greedy(root / rule, ["▁", "a", "b", "▁a", "ab", "\t"], WordSettings(rule, 16), CARD)
    return {rule: root / rule for rule in NORMALIZATIONS}


@pytest.mark.parametrize("rule", NORMALIZATIONS)
@relaxed
@given(text=st.one_of(ANYTHING, st.text("aAb \t\n\u0085\u00a0\u2028▁\u0301", max_size=40)))
def test_every_normalization(tiny, rule, text):
    assume(spells_no_special(text))
    ids = encode(text, library(tiny[rule]), normalizer(rule), 16)
    assert hub_ids(tiny[rule], text) == ids


BRACKETS = ["▁", *"[]MASKx", "MA", "AS", "K]"]


@pytest.mark.parametrize("more", [[], ["[M"], ["▁[M", "x[M"]])
def test_covered_brackets_spell_no_special_token(tmp_path, more):
    """Whatever piece reaches over a place inside `[MASK]`, the cut is made at another one."""
    export_greedy(tmp_path, BRACKETS + more, WORDS, CARD)
    for text in ("［MASK］", "x［MASK］x", "xx［ＭＡＳＫ］ MASK] ［［MASK］"):
        ids = hub(tmp_path)(text, add_special_tokens=False)["input_ids"]
        assert ids == naive_greedy(text, BRACKETS + more)
        assert min(ids) >= 5


def tokens(folder: Path, text: str) -> list[str]:
    return hub(folder).convert_ids_to_tokens(hub_ids(folder, text))


@pytest.mark.parametrize("name", OWN)
def test_mask_leaves_nothing_behind_and_stands_for_part_of_a_word(folders, name):
    folder = folders[name]
    left, right = tokens(folder, "the"), tokens(folder, "of")
    assert tokens(folder, "the [MASK] of [MASK]") == [*left, "[MASK]", *right, "[MASK]"]
    end = tokens(folder, "[MASK]ing of")
    assert (end[0], "".join(end[1:])) == ("[MASK]", "ing▁of")
    assert "".join(tokens(folder, "st[MASK] of")) == "▁st[MASK]▁of"
