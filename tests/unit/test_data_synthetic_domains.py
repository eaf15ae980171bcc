"""The synthetic domain texts, the template grammar and the word forms under them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from sagevocab.data.synthetic import domains
from sagevocab.data.synthetic.english_forms import transform
from sagevocab.data.synthetic.grammar import Grammar
from sagevocab.data.synthetic.sampling import distinct, zipf
from sagevocab.data.synthetic.turkish_filters import read
from sagevocab.data.synthetic.turkish_filters import transform as inflect
from sagevocab.data.synthetic.turkish_reviews import turkish_lower
from sagevocab.errors import UserError

GENERATORS = {"quora": domains.quora, "legal": domains.legal, "reviews": domains.reviews}


def _words(lines: list[str]) -> Counter[str]:
    return Counter(word.strip('.,?!()—:"') for line in lines for word in line.lower().split())


@pytest.mark.parametrize(("name", "forms"), [("quora", 2000), ("legal", 3000), ("reviews", 2500)])
def test_domain_text_is_distinct_varied_and_seeded(name, forms):
    generate = GENERATORS[name]
    lines = list(generate(5000, seed=1))
    assert len(set(lines)) == 5000
    assert len(_words(lines)) > forms
    assert lines[:50] == list(generate(50, seed=1))
    assert lines[:50] != list(generate(50, seed=2))
    assert not any(set(line) & set("[]|_/<>") or "  " in line for line in lines)


def test_domains_differ_in_vocabulary():
    common = {
        name: {word for word, _ in _words(list(generate(2000, seed=1))).most_common(300)}
        for name, generate in GENERATORS.items()
    }
    assert len(common["quora"] & common["legal"]) < 100
    assert len(common["quora"] & common["reviews"]) < 30


def test_questions_are_questions():
    assert all(line.endswith("?") and line[0].isupper() for line in domains.quora(200, seed=3))


@pytest.mark.parametrize(
    ("form", "word", "name"),
    [
        ("men", "man", "s"),
        ("humans", "human", "s"),
        ("cities", "city", "s"),
        ("credit cards", "credit card", "s"),
        ("watches", "watch", "es"),
        ("quits my job", "quit my job", "es"),
        ("stopped", "stop", "ed"),
        ("studied", "study", "ed"),
        ("took", "take", "ed"),
        ("taken", "take", "en"),
        ("bought", "buy", "en"),
        ("making", "make", "ing"),
        ("lying", "lie", "ing"),
        ("running a company", "run a company", "ing"),
        ("an hour", "hour", "a"),
        ("a university", "university", "a"),
        ("an apple", "apple", "a"),
        ("Dog", "dog", "cap"),
    ],
)
def test_english_forms(form, word, name):
    assert transform(word, name) == form


@pytest.mark.parametrize(
    ("form", "symbol", "entry", "name"),
    [
        ("kitabı", "n", "kitap", "acc"),
        ("kızım da", "n", "kızım", "dA"),
        ("güzeldi", "n", "güzel", "is.past"),
        ("Ankara'da", "name_city", "Ankara", "loc"),
        ("aldım", "v_buy", "al:I", "past.1sg"),
        ("alamadık", "v_buy", "al:I", "past.1pl.able.neg"),
        ("okuduğunu", "v_read", "oku", "object.3sg.acc"),
        ("okunuyordu", "v_read", "oku", "progressive.pass.cpast"),
    ],
)
def test_turkish_filters(form, symbol, entry, name):
    assert str(inflect(read(symbol, entry), name)) == form


@pytest.mark.parametrize("function", [transform, inflect])
def test_unknown_filters_are_refused(function):
    with pytest.raises(ValueError, match="unknown"):
        function("word", "nonsense")


def test_grammar_remembers_named_slots_and_tidies_spaces():
    rules = {
        "pair": ["[n=noun|a] and [n|s] , [empty] [year] !"],
        "noun": "owl cat",
        "empty": [""],
        "year": {"range": [7, 7]},
    }
    said = {Grammar(rules, transform).say("pair", random.Random(seed)) for seed in range(20)}
    assert said == {"an owl and owls, 7!", "a cat and cats, 7!"}


def test_zipf_prefers_the_first_items():
    rng, choice = random.Random(0), zipf("abcdefgh")
    counts = Counter(choice.pick(rng) for _ in range(4000))
    assert counts["a"] > counts["d"] > counts["h"] > 0


def test_distinct_gives_up_when_nothing_new_comes():
    assert list(distinct(iter("aab").__next__, 2)) == ["a", "b"]
    with pytest.raises(UserError, match="made 1 different texts, not 2"):
        list(distinct(lambda: "same", 2, patience=10))


def test_turkish_lower_case():
    assert turkish_lower("IŞIK İYİ") == "ışık iyi"
