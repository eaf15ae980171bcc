from __future__ import annotations

import itertools

import pytest

from reproduction.data.conllu import read_conllu
from reproduction.data.corpus import (
    clean_line,
    is_clean_sentence,
    sample_corpus,
    split_sentences,
)
from reproduction.data.packages import package_file
from sagevocab.corpus.text import read_lines, write_lines
from sagevocab.errors import UserError


# `|` stands where a sentence ends before another.
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "One. |Two! |Three? |Four"),
        ("en", 'He said "no." |Then he left.'),
        ("en", "It grew (see p. 5). |In 1990 it fell."),
        ("en", "Dr. Smith met J. R. Smith in the U.S. Army."),
        ("en", "It cost 3.5 million, e.g. for No. 5 and vs. Real."),
        ("en", "It was built in 1990. |The rest came later."),
        ("en", "lower case follows. so no cut."),
        ("en", "What?! |\u201cYes\u201d ... |And so on."),
        ("tr", "Kenti II. Mehmed aldı. |Sonra 5. Ordu geldi."),
        ("tr", "Prof. Dr. Ali ile Öğr. Gör. Ayşe geldi. |Şimdi gitti."),
        ("tr", "Savaş 1918. |İstanbul"),
        ("en", "It melts at 950 °C. |Cryolite is rare."),
        ("tr", "Gitti. |– Nereye? |—Eve. |Sonra 1990. – 2000 arası"),
        ("tr", "Nasıl yapılır? - Forum"),
        ("en", "The kanji is written as 気. |It was written as 氣 before."),
        (
            "ja",
            "日本の首都は東京である。|人口は約1400万人。|「はい。」と言った。|本当か！？|うん。",
        ),
        ("zh", "他说：“你好。” |然后走了。|真的吗？|是的！"),
        ("hi", "दिल्ली भारत की राजधानी है। |यह बड़ी है।"),
        ("hy", "Երևանը մայրաքաղաքն է։ |Այն մեծ է։"),
        ("ar", "هل ذهب؟ |نعم. |ثم عاد د. محمد إلى البيت."),
        ("ur", "یہ لاہور ہے۔ |یہ بڑا شہر ہے۔"),
        ("he", "ירושלים היא עיר. |היא גדולה."),
        ("he", 'הוא גר בארה"ב. |היא בצה״ל. |אמר ג. כהן.'),
        ("ka", "თბილისი ქალაქია. |ის დიდია."),
        ("my", "ရန်ကုန်သည် မြို့ကြီးဖြစ်သည်။ |ကြီးသည်။"),
        ("my", "ရန်ကုန်၊ မန္တလေး၊ ပဲခူး။ |ကြီးသည်။"),  # ၊ is a comma
        ("am", "አዲስ አበባ ዋና ከተማ ናት። |ትልቅ ናት።"),
        ("km", "ភ្នំពេញជារាជធានី។ |វាធំ។"),
        ("tr", "Oktay (d. 25 Şubat 1935 - ö. 19 Nisan 2015) kimyager."),
    ],
)
def test_paragraphs_are_cut_into_sentences(language, text) -> None:
    sentences = [sentence.strip() for sentence in text.split("|")]
    assert split_sentences(text.replace("|", ""), language) == sentences


@pytest.mark.parametrize(("part", "least"), [("wiki", 0.995), ("web", 0.951)])
def test_boundaries_agree_with_a_treebanks(part, least) -> None:
    treebank = read_conllu(package_file(f"turkish-treebanks:data/{part}.conllu"))
    sentences = [clean_line(sentence.text) for sentence in treebank]
    sentences = [sentence for sentence in sentences if sentence[-1] in '.!?…"']
    found = right = true = 0
    for start in range(0, len(sentences), 8):
        expected = sentences[start : start + 8]
        cut = split_sentences(" ".join(expected), "tr")
        true += len(expected) - 1
        found += len(cut) - 1
        right += len(ends(expected) & ends(cut))
    assert 2 * right / (found + true) >= least


def ends(sentences: list[str]) -> set[int]:
    """Where sentences end that single spaces join, but for the last."""
    lengths = (len(sentence) + 1 for sentence in sentences[:-1])
    return {*itertools.accumulate(lengths)}


def test_cleaning() -> None:
    assert clean_line("  a\u00a0b \t c\u00ad\u200bd\u2028e ") == "a b cd e"


@pytest.mark.parametrize(
    "sentence",
    [
        *("A whole sentence.", 'He said "no".', "– Where to?", "人口は約1400万人。"),
        *("「これは本です。」", "यह बड़ी है।", "Այն մեծ է։", "هل ذهب إلى؟", "这是一本书！"),
    ],
)
def test_whole_sentences_are_clean(sentence) -> None:
    assert is_clean_sentence(sentence, min_words=3)


@pytest.mark.parametrize(
    "sentence",
    [
        *("Two words.", "No end mark here", ", which starts amid things.", "A \ufffc was here."),
        *("A {{template}} was left.", "A [[link]] was left.", "A cell | was left."),
        *("An italic'' was left.", "はい。", "東京の人口", "กรุงเทพเป็นเมืองหลวงของประเทศไทย"),
        "A <ref>note was left.",
        "Dug je pet -{km}- i nema ga.",
    ],
)
def test_rests_are_not_clean(sentence) -> None:
    assert not is_clean_sentence(sentence, min_words=3)


# --- sampling


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "all.txt.zst"
    write_lines(path, [f"line {i % 900}" for i in range(1000)])
    return path


def sampled(corpus, tmp_path, **options):
    train, heldout = tmp_path / "train.txt.zst", tmp_path / "heldout.txt.zst"
    sample_corpus(corpus, train, heldout, key="language_settings.en", **options)
    return list(read_lines(train)), list(read_lines(heldout))


@pytest.mark.parametrize(("lines", "size"), [(500, 500), (None, 800)])
def test_a_sample_is_distinct_disjoint_in_order_and_its_seeds(
    corpus, tmp_path, lines, size
) -> None:
    options = {"lines": lines, "heldout_lines": 100}
    train, heldout = sampled(corpus, tmp_path, seed=1, **options)
    assert sampled(corpus, tmp_path, seed=1, **options) == (train, heldout)
    assert sampled(corpus, tmp_path, seed=2, **options) != (train, heldout)
    assert (len(train), len(heldout)) == (size, 100)
    assert len({*train, *heldout}) == size + 100
    for some in (train, heldout):
        numbers = [int(line.split()[1]) for line in some]
        assert numbers == sorted(numbers)
    # Not the head: a uniform sample of 900 reaches its ends.
    assert max(int(line.split()[1]) for line in train) > 850


def test_a_shuffled_sample_holds_the_same_lines_in_another_order(corpus, tmp_path) -> None:
    options = {"lines": 500, "heldout_lines": 100, "seed": 1}
    train, heldout = sampled(corpus, tmp_path, **options)
    shuffled, kept_out = sampled(corpus, tmp_path, shuffle=True, **options)
    assert shuffled != train
    assert sorted(shuffled) == sorted(train)
    assert kept_out == heldout
    assert sampled(corpus, tmp_path, shuffle=True, **options)[0] == shuffled


def test_too_few_lines_are_an_error_that_names_the_key(corpus, tmp_path) -> None:
    with pytest.raises(
        UserError, match=r"language_settings\.en\.lines: .* 900 distinct lines.*901"
    ):
        sampled(corpus, tmp_path, lines=801, heldout_lines=100, seed=1)
    with pytest.raises(UserError, match=r"heldout_lines: 5000"):
        sampled(corpus, tmp_path, lines=None, heldout_lines=5000, seed=1)
    assert not (tmp_path / "train.txt.zst").exists()
