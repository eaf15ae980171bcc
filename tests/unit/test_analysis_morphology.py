"""Agreement with morphemes, on words small enough to count by hand."""

from __future__ import annotations

import pytest

from reproduction.analysis.morphology import boundary_agreement, count_boundaries, read_morphemes
from reproduction.data.packages import package_file
from sagevocab.corpus.words import Normalizer
from sagevocab.errors import UserError
from sagevocab.segmentation.segmenter import GreedySegmenter

SEGMENTED = """walked\twalk @@ed\t100
denied\tdeny @@ed\t100
undone\tun @@do @@ne\t110

cat\tcat\t000
lower\tlow @@er\t100
lower\tlow er\t100
number\tnumber\t000
number\tnumb @@er\t100
"""
DERIVED = """güzel\tgüzelleş\tADJ:V\t-leş
güzelleş\tgüzelleştir\tV:V\t-tir
gram\tkilogram\tN:N\tkilo-
almak\talan\tV:ADJ\t-an
denmek\tdenli\tV:ADJ\t-li
döngü\tdöngü\tN:N\t-
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        path = tmp_path / "list.tsv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def agreement(morphemes, pieces):
    counts = count_boundaries(
        morphemes, GreedySegmenter(pieces), Normalizer("nmt_nfkc"), max_word_chars=256
    )
    return boundary_agreement(counts, listed=len(morphemes), seed=1)


def test_words_count_that_their_morphemes_spell_in_one_way(written):
    assert read_morphemes(written(SEGMENTED), "segmentation") == {
        "walked": ("walk", "ed"),
        "undone": ("un", "do", "ne"),
        "cat": ("cat",),
        "lower": ("low", "er"),
    }


def test_derivations_of_a_treebank_are_morphemes():
    path = package_file("turkish-treebanks:data/wiki.conllu")
    morphemes = read_morphemes(path, "conllu")
    assert morphemes["gelindiğinde"] == ("gel", "in", "diğinde")
    assert len(morphemes) > 3000
    assert "kemerlerini" not in morphemes  # an inflection


def test_a_base_that_is_derived_itself_is_taken_apart(written):
    morphemes = read_morphemes(written(DERIVED), "derivation")
    assert morphemes["güzelleştir"] == ("güzel", "leş", "tir")
    assert morphemes["kilogram"] == ("kilo", "gram")
    assert "alan" not in morphemes  # "almak" and "an" do not spell it
    assert "denli" not in morphemes


def test_a_list_of_another_form_is_named(written):
    with pytest.raises(UserError, match=r"list.tsv:1: needs 4 columns .*morphology.format"):
        read_morphemes(written(SEGMENTED), "derivation")
    with pytest.raises(UserError, match="list.tsv: no word is spelled by its morphemes"):
        read_morphemes(written("denied\tdeny @@ed\n"), "segmentation")


def test_boundaries_are_counted_inside_words():
    morphemes = {"walked": ("walk", "ed"), "undone": ("un", "do", "ne"), "cat": ("cat",)}
    # ▁walk ed | ▁un done | ▁ c at: 3 boundaries placed (▁ takes no room), 2 of the 3 wanted
    result = agreement(morphemes, ["▁", "c", "▁walk", "ed", "▁un", "done", "at"])
    assert (result["listed"], result["words"], result["boundaries"]) == (3, 3, 3)
    assert result["precision"]["value"] == pytest.approx(2 / 3)
    assert result["recall"]["value"] == pytest.approx(2 / 3)
    assert result["f1"]["value"] == pytest.approx(4 / 6)
    assert result["f1"]["low"] <= 4 / 6 <= result["f1"]["high"]


def test_an_uncovered_character_holds_its_place():
    result = agreement({"walkéd": ("walk", "éd")}, ["▁walk", "d"])
    assert result["words"] == 1
    assert result["precision"]["value"] == 1 / 2  # walk é d
    assert result["recall"]["value"] == 1


def test_a_word_that_normalisation_changes_is_left_out():
    morphemes = {"ﬁsh": ("ﬁ", "sh"), "lower": ("low", "er")}
    result = agreement(morphemes, ["▁low", "er", "▁", "f", "i", "s", "h"])
    assert (result["listed"], result["words"]) == (2, 1)
