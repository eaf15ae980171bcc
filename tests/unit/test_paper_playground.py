"""The playground's JavaScript gives the library's ids, id for id, and its data is what it needs."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py_mini_racer import MiniRacer

from playground_samples import CHARACTERS, spoilt, turkish
from reproduction.paper.playground import example_sentences, playground_data, replacements
from sagevocab.corpus.words import NORMALIZATIONS, Normalizer, character_map
from sagevocab.huggingface.export import export_greedy
from sagevocab.huggingface.folders import read_description
from sagevocab.huggingface.segmenter import load_segmenter
from scripts_text import SENTENCES
from vocabulary_samples import CARD, TOKENIZERS, WORDS, encode, english, make_folders

REPORT = Path(__file__).parents[2] / "workflow/report"
EXAMPLES = {"language": "en", "sentences": [{"bold": "ab", "text": "An ab."}]}
NAMES = [(language, name) for language in ("en", "tr") for name in TOKENIZERS]

# What a page does with its data, without the page.
DRIVER = r"""
const normalizers = {}, tokenizers = {};
function load(data) {
  for (const [rule, map] of Object.entries(data.normalizations)) {
    normalizers[rule] = Segmentation.normalizer(map);
  }
  for (const language of data.languages) {
    for (const spec of language.tokenizers) {
      tokenizers[`${language.key} ${spec.key}`] =
        Segmentation.tokenizer(spec, normalizers[spec.normalization], language.pieces.split("\n"));
    }
  }
  return true;
}
const encodeAll = (name, lines) =>
  JSON.stringify(lines.map((line) => Segmentation.encode(tokenizers[name], line)));
const normalizeAll = (rule, lines) => JSON.stringify(lines.map(normalizers[rule]));
const words = (name, line) => JSON.stringify(Segmentation.segmentText(tokenizers[name], line));
"""


class Page:
    """The page's segmentation in an engine of its own."""

    def __init__(self, data: dict) -> None:
        self._engine = MiniRacer()
        source = (REPORT / "segmentation.js").read_text(encoding="utf-8")
        self._engine.eval(source + DRIVER)
        self._engine.call("load", data)

    def encode(self, name: str, lines: list[str]) -> list[list[int]]:
        return json.loads(self._engine.call("encodeAll", name, lines))

    def normalize(self, rule: str, lines: list[str]) -> list[str]:
        return json.loads(self._engine.call("normalizeAll", rule, lines))

    def words(self, name: str, line: str) -> list[dict]:
        return json.loads(self._engine.call("words", name, line))


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    """Hundreds of lines a language, plain, spoilt, and in every script that the tests have."""
    scripts = [sentence for sentences in SENTENCES.values() for sentence in sentences]
    plain = {"en": english()[500:700], "tr": turkish(200, seed=2)}
    return {
        language: [*lines, *spoilt(lines, seed=3), *scripts] for language, lines in plain.items()
    }


# --- texts and vocabularies


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, dict[str, Path]]:
    return {
        "en": make_folders(tmp_path_factory.mktemp("en"), english()[:500]),
        "tr": make_folders(tmp_path_factory.mktemp("tr"), turkish(500, seed=1)),
    }


def data_of(folders: dict[str, dict[str, Path]]) -> dict:
    files = {
        language: {name: folder / "tokenizer.json" for name, folder in named.items()}
        for language, named in folders.items()
    }
    labels = {name: name.upper() for named in folders.values() for name in named}
    titles = {"en": "English", "tr": "Turkish"}
    return playground_data(files, languages=titles, labels=labels, examples=EXAMPLES, corpora={})


@pytest.fixture(scope="module")
def page(folders) -> Page:
    return Page(data_of(folders))


@pytest.fixture(scope="module")
def library(folders):
    """The library's `encode` by language and tokenizer."""

    def loaded(folder: Path):
        segmenter, message = load_segmenter(folder), read_description(folder)
        normalizer = Normalizer(message["normalization"])
        return lambda line: encode(line, segmenter, normalizer, message["max_word_chars"])

    return {
        (language, name): loaded(folder)
        for language, named in folders.items()
        for name, folder in named.items()
    }


# --- equality with the library


@pytest.mark.parametrize(("language", "name"), NAMES)
def test_lines_get_the_librarys_ids(language, name, page, library, texts):
    lines = texts[language]
    for line, ids in zip(lines, page.encode(f"{language} {name}", lines), strict=True):
        assert ids == library[language, name](line), line


ODD = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("aeigs▁ \t\r\nﬁ½™क\u094d\u0301\u0308\u200d\u0600각👩🏽🇹🇷[UNK]"),
    ),
    max_size=60,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=ODD)
def test_any_text_gets_the_librarys_ids(line, page, library):
    for (language, name), ids_of in library.items():
        assert page.encode(f"{language} {name}", [line]) == [ids_of(line)]


def test_long_words_are_cut_and_unknown_characters_stand_alone(page, library):
    for line in ("a" * 1000, "▁" * 300, "ab☃☃c", "☃", "", " ", "[UNK] [MASK]ing", "e" * 255 + "x"):
        for (language, name), ids_of in library.items():
            assert page.encode(f"{language} {name}", [line]) == [ids_of(line)], line
    assert page.encode("en bpe", ["☃☃"])[0][1:] == [1, 1]


# --- normalisation


# Ideographs, Hangul, private and unassigned planes are alike in their thousands: some of them do.
CROWDS = [
    (0x3400, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xF8FF),
    (0x17000, 0x18CFF),
    (0x20000, 0xDFFFF),
    (0xE0200, 0x10FFFF),
]
ALIKE = {chr(c) for low, high in CROWDS for c in range(low, high) if c % 101}
VARIED = [c for c in CHARACTERS if c not in ALIKE and c not in " ▁"]


@pytest.mark.parametrize("rule", NORMALIZATIONS)
def test_every_character_is_normalised_as_in_the_library(rule):
    """Each between letters, before a mark, after what is replaced: clusters decide about that.

    Only marks newer than Python's Unicode are left out after what is replaced: the engine may join
    them to it, and `tokenizers` not yet. All characters by the usual rule, each tenth by others.
    """
    tried = VARIED if rule == "nmt_nfkc" else VARIED[::10]
    blank = {"languages": [], "normalizations": {rule: replacements(character_map(rule))}}
    page, normalizer = Page(blank), Normalizer(rule)
    lines = [f"x{c}y a{c}\u0301 {c}\u0301z" for c in tried]
    lines += [f"A{c} ½{c}\u0301" for c in tried if unicodedata.category(c) != "Cn"]
    assert page.normalize(rule, lines) == [normalizer(line) for line in lines]


def test_half_a_surrogate_pair_is_a_replacement_character(page):
    spoilt_ids = page._engine.eval('encodeAll("en as_is", ["a\\ud800b"])')
    assert json.loads(spoilt_ids) == page.encode("en as_is", ["a\ufffdb"])


# --- data


def test_a_language_without_sentences_of_ours_opens_with_lines_of_its_text(tmp_path):
    corpus = tmp_path / "corpus.txt"
    lines = ["Kratko.", *(f"Vrstica {number}, ki je za branje dovolj dolga." for number in "1234")]
    corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    shown = example_sentences("sl", EXAMPLES, {"sl": corpus})
    assert [row["text"] for row in shown] == lines[1:4]
    assert shown[0]["name"] == "Vrstica 1, ki …"
    corpus.write_text("Kratko.\n", encoding="utf-8")
    assert [row["text"] for row in example_sentences("sl", EXAMPLES, {"sl": corpus})] == ["Kratko."]
    assert example_sentences("tr", EXAMPLES, {})[0]["text"].startswith("Evlerimizdeki")
    assert example_sentences("en", EXAMPLES, {}) == [{"name": "Table 1: ab", "text": "An ab."}]


def test_other_methods_are_left_out_by_name(folders, tmp_path):
    foreign = tmp_path / "foreign"
    export_greedy(foreign, ["▁", "a"], WORDS, CARD)
    config = json.loads((foreign / "tokenizer_config.json").read_text(encoding="utf-8"))
    config["sagevocab"]["method"] = "external"
    (foreign / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    data = data_of({"en": {"bpe": folders["en"]["bpe"], "foreign": foreign}, "tr": {"f": foreign}})
    assert data["left_out"] == [
        {"language": "English", "label": "FOREIGN"},
        {"language": "Turkish", "label": "F"},
    ]
    assert [language["key"] for language in data["languages"]] == ["en"]
