"""Hand-checked Turkish word forms, and the shape of the synthetic corpus."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from sagevocab.data.synthetic.turkish import inflect_noun, inflect_verb, sentences
from sagevocab.data.synthetic.turkish_lexicon import load_lexicon
from sagevocab.data.synthetic.turkish_morphology import (
    copula_of,
    noun,
    parse_verb,
    relational,
    verbal,
    while_doing,
    with_case,
)
from sagevocab.data.synthetic.turkish_numbers import number
from sagevocab.data.synthetic.turkish_phonology import capitalize, derive, parse_stem

NOUNS = [
    ("evlerimizden", "ev", {"plural": True, "possessor": "1pl", "case": "abl"}),
    ("kitabı", "kitap", {"case": "acc"}),
    ("kitaplar", "kitap", {"plural": True}),
    ("kitapla", "kitap", {"case": "ins"}),
    ("ağacı", "ağaç", {"case": "acc"}),
    ("ağaçta", "ağaç", {"case": "loc"}),
    ("rengi", "renk/reng", {"possessor": "3sg"}),
    ("köpeğin", "köpek", {"case": "gen"}),
    ("çelengi", "çelenk", {"case": "acc"}),
    ("toptan", "top", {"case": "abl"}),
    ("topu", "top", {"case": "acc"}),
    ("hukuku", "hukuk/hukuk", {"case": "acc"}),
    ("kanadı", "kanat/kanad", {"possessor": "3sg"}),
    ("sanatı", "sanat", {"case": "acc"}),
    ("ağzı", "ağız/ağz", {"case": "acc"}),
    ("ağızlar", "ağız/ağz", {"plural": True}),
    ("burnumda", "burun/burn", {"possessor": "1sg", "case": "loc"}),
    ("şehrimizin", "şehir/şehr", {"possessor": "1pl", "case": "gen"}),
    ("hakkını", "hak/hakk", {"possessor": "3sg", "case": "acc"}),
    ("arabası", "araba", {"possessor": "3sg"}),
    ("arabasında", "araba", {"possessor": "3sg", "case": "loc"}),
    ("arabayı", "araba", {"case": "acc"}),
    ("arabanın", "araba", {"case": "gen"}),
    ("arabam", "araba", {"possessor": "1sg"}),
    ("gözlerinden", "göz", {"plural": True, "possessor": "3pl", "case": "abl"}),
    ("evleri", "ev", {"possessor": "3pl"}),
    ("evlerine", "ev", {"possessor": "3pl", "case": "dat"}),
    ("suyu", "su/suy", {"case": "acc"}),
    ("suyun", "su/suy", {"case": "gen"}),
    ("suyumuz", "su/suy", {"possessor": "1pl"}),
    ("sudan", "su/suy", {"case": "abl"}),
    ("suyla", "su/suy", {"case": "ins"}),
    ("neyi", "ne/ney", {"case": "acc"}),
    ("saatler", "saat!", {"plural": True}),
    ("saatime", "saat!", {"possessor": "1sg", "case": "dat"}),
    ("kalbinde", "kalp/kalb!", {"possessor": "2sg", "case": "loc"}),
    ("rolü", "rol!", {"case": "acc"}),
    ("insanca", "insan", {"case": "equ"}),
    ("gözlüğünüzü", "gözlük", {"possessor": "2pl", "case": "acc"}),
]
VERBS = [
    ("gidiyor", "git/gid", "progressive", "3sg", {}),
    ("gelecekmiş", "gel:I", "future", "3sg", {"copula": "evidential"}),
    ("yapabilmeliydi", "yap", "necessity", "3sg", {"ability": True, "copula": "past"}),
    ("gideceğim", "git/gid", "future", "1sg", {}),
    ("ediyoruz", "et/ed", "progressive", "1pl", {}),
    ("edildi", "et/ed", "past", "3sg", {"voice": "passive"}),
    ("bekliyorum", "bekle", "progressive", "1sg", {}),
    ("söylemiyor", "söyle", "progressive", "3sg", {"negative": True}),
    ("okuyor", "oku", "progressive", "3sg", {}),
    ("yürüyorlardı", "yürü", "progressive", "3pl", {"copula": "past"}),
    ("diyor", "de/di", "progressive", "3sg", {}),
    ("diyecek", "de/di", "future", "3sg", {}),
    ("dedi", "de/di", "past", "3sg", {}),
    ("yiyor", "ye/yi", "progressive", "3sg", {}),
    ("yemedik", "ye/yi", "past", "1pl", {"negative": True}),
    ("gelir", "gel:I", "aorist", "3sg", {}),
    ("yapar", "yap", "aorist", "3sg", {}),
    ("okursunuz", "oku", "aorist", "2pl", {}),
    ("çalışırız", "çalış", "aorist", "1pl", {}),
    ("gelmem", "gel:I", "aorist", "1sg", {"negative": True}),
    ("gelmeyiz", "gel:I", "aorist", "1pl", {"negative": True}),
    ("gelmezsin", "gel:I", "aorist", "2sg", {"negative": True}),
    ("gelmezdim", "gel:I", "aorist", "1sg", {"negative": True, "copula": "past"}),
    ("göremez", "gör:I", "aorist", "3sg", {"ability": True, "negative": True}),
    ("görebilir", "gör:I", "aorist", "3sg", {"ability": True}),
    ("okuyabildim", "oku", "past", "1sg", {"ability": True}),
    ("sattılar", "sat", "past", "3pl", {}),
    ("gitmişlerdir", "git/gid", "evidential", "3pl", {"copula": "assertive"}),
    ("gitmiştim", "git/gid", "evidential", "1sg", {"copula": "past"}),
    ("olsaydı", "ol:I", "conditional", "3sg", {"copula": "past"}),
    ("okursak", "oku", "aorist", "1pl", {"copula": "conditional"}),
    ("bulunmaktadır", "bul:I", "formal", "3sg", {"voice": "passive", "copula": "assertive"}),
    ("alınmaktadırlar", "al:I", "formal", "3pl", {"voice": "passive", "copula": "assertive"}),
    ("okundu", "oku", "past", "3sg", {"voice": "passive"}),
    ("yazıldı", "yaz", "past", "3sg", {"voice": "passive"}),
    ("yaptırdı", "yap", "past", "3sg", {"voice": "causative"}),
    ("okuttular", "oku", "past", "3pl", {"voice": "causative"}),
    ("artırıldı", "art>artır", "past", "3sg", {"voice": "causative passive"}),
    ("anlaşılır", "anla<anlaşıl", "aorist", "3sg", {"voice": "passive"}),
    ("kırar", "kırıl>kır", "aorist", "3sg", {"voice": "causative"}),
    ("yardım ediyor", "yardım_et", "progressive", "3sg", {}),
    ("gelin", "gel:I", "imperative", "2pl", {}),
    ("gidelim", "git/gid", "optative", "1pl", {}),
    ("yapmalıyız", "yap", "necessity", "1pl", {}),
]


@pytest.mark.parametrize(("form", "entry", "options"), NOUNS)
def test_noun_forms(form, entry, options):
    assert inflect_noun(entry, **options) == form


@pytest.mark.parametrize(("form", "entry", "tense", "person", "options"), VERBS)
def test_verb_forms(form, entry, tense, person, options):
    assert inflect_verb(entry, tense, person, **options) == form


@pytest.mark.parametrize(
    ("form", "entry", "kind", "options"),
    [
        ("gittiğini", "git/gid", "object", {"possessor": "3sg", "case": "acc"}),
        ("geleceğimizi", "gel:I", "prospective", {"possessor": "1pl", "case": "acc"}),
        ("okuyan", "oku", "subject", {}),
        ("yiyen", "ye/yi", "subject", {}),
        ("gidip", "git/gid", "and", {}),
        ("deyip", "de/di", "and", {}),
        ("diyerek", "de/di", "by", {}),
        ("yiyince", "ye/yi", "when", {}),
        ("gelmeden", "gel:I", "without", {}),
        ("gitmek", "git/gid", "infinitive", {}),
        ("gitmeye", "git/gid", "action", {"case": "dat"}),
        ("gelmesini", "gel:I", "action", {"possessor": "3sg", "case": "acc"}),
        ("satıcı", "sat", "agent", {}),
        ("bittikten", "bit", "object", {"case": "abl"}),
        ("görmediği", "gör:I", "object", {"negative": True, "possessor": "3sg"}),
    ],
)
def test_verbal_nouns_participles_converbs(form, entry, kind, options):
    assert verbal(parse_verb(entry), kind, **options).form == form


def test_derivation_and_relational_suffix():
    school = noun(parse_stem("okul"), case="loc")
    assert relational(school).form == "okuldaki"
    assert with_case(noun(relational(school), plural=True), "dat").form == "okuldakilere"
    assert with_case(relational(school), "acc").form == "okuldakini"
    assert derive(parse_stem("kitap"), "CI").form == "kitapçı"
    assert derive(parse_stem("süt"), "CI").form == "sütçü"
    assert derive(parse_stem("tuz"), "sIz").form == "tuzsuz"
    beauty = derive(parse_stem("güzel"), "lIK")
    assert noun(beauty, possessor="3sg", case="acc").form == "güzelliğini"
    assert while_doing(parse_verb("oku")).form == "okurken"


def test_proper_names_take_an_apostrophe_and_keep_their_letters():
    ankara, zonguldak = parse_stem("Ankara", proper=True), parse_stem("Zonguldak", proper=True)
    assert with_case(ankara, "loc").form == "Ankara'da"
    assert with_case(ankara, "gen").form == "Ankara'nın"
    assert with_case(zonguldak, "acc").form == "Zonguldak'ı"
    assert with_case(parse_stem("Van_Gölü+", proper=True), "loc").form == "Van Gölü'nde"
    assert with_case(parse_stem("Kemal!", proper=True), "dat").form == "Kemal'e"
    assert derive(parse_stem("İzmir", proper=True), "lI").form == "İzmirli"


@pytest.mark.parametrize(
    ("text", "value", "suffix"),
    [
        ("1923'te", 1923, "DA"),
        ("1990'da", 1990, "DA"),
        ("2000'den", 2000, "DAn"),
        ("6'nın", 6, "(n)In"),
        ("100'e", 100, "(y)A"),
        ("4'ü", 4, "(y)I"),
        ("1000000'dan", 1000000, "DAn"),
    ],
)
def test_numbers_take_the_suffixes_of_their_reading(text, value, suffix):
    assert number(value, suffix) == text


def test_nominal_predicates_and_capitals():
    assert copula_of(parse_stem("güzel"), "assertive").form == "güzeldir"
    assert copula_of(parse_stem("küçük"), "past", "1sg").form == "küçüktüm"
    assert copula_of(parse_stem("hasta"), "evidential").form == "hastaymış"
    assert capitalize("iyi") == "İyi"
    assert capitalize("ışık") == "Işık"


def test_lexicon_is_large():
    lexicon = load_lexicon()
    assert len({stem for nouns in lexicon.nouns.values() for stem in nouns.items}) > 600
    verbs = {
        verb.stem.form
        for frames in lexicon.frames.values()
        for frame in frames.items
        for verb in frame.verbs.items
    }
    assert len(verbs) > 250
    assert len({stem for words in lexicon.adjectives.values() for stem in words.items}) > 150
    assert sum(len(names.items) for names in lexicon.names.values()) > 250


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return list(sentences(25_000, seed=1))


def _words(lines: list[str]) -> Counter[str]:
    return Counter(word.strip(".,?!()").lower() for line in lines for word in line.split())


def test_corpus_is_distinct_and_rich_in_forms(corpus):
    assert len(set(corpus)) == 25_000
    words = _words(corpus)
    assert len(words) > 15_000
    # Zipf: a few words carry much of the text, and many occur once.
    assert sum(count for _, count in words.most_common(100)) > 0.2 * words.total()
    assert sum(count == 1 for count in words.values()) > 0.3 * len(words)


def test_corpus_sentences_are_well_formed(corpus):
    for line in corpus:
        assert 5 <= len(line.split()) <= 25
        assert line[-1] in ".?!"
        assert line[-2] not in ".?! ,"
        assert "  " not in line
        assert not set(line) & set("_/<>+=")
        assert line[0] == capitalize(line[0])


def test_corpus_is_deterministic_and_seeded():
    assert list(sentences(200, seed=5)) == list(sentences(200, seed=5))
    assert not set(sentences(200, seed=5)) & set(sentences(200, seed=6))


def test_speed():
    start = time.process_time()
    assert len(list(sentences(5_000, seed=2))) == 5_000
    assert time.process_time() - start < 3  # 25,000 in five seconds, with room for a busy machine
