"""Turkish noun phrases and times: everything that stands around a verb."""

from __future__ import annotations

import random
from dataclasses import dataclass

from sagevocab.data.synthetic.sampling import Choice
from sagevocab.data.synthetic.turkish_lexicon import Lexicon, load_lexicon
from sagevocab.data.synthetic.turkish_morphology import (
    CASES,
    PERSONS,
    noun,
    relational,
    with_case,
)
from sagevocab.data.synthetic.turkish_numbers import number
from sagevocab.data.synthetic.turkish_phonology import Stem, attach, derive

_PRONOUNS = {
    "1sg": ("ben", "beni", "bana", "bende", "benden", "benim", "benimle", "bence"),
    "2sg": ("sen", "seni", "sana", "sende", "senden", "senin", "seninle", "sence"),
    "3sg": ("o", "onu", "ona", "onda", "ondan", "onun", "onunla", "onca"),
    "1pl": ("biz", "bizi", "bize", "bizde", "bizden", "bizim", "bizimle", "bizce"),
    "2pl": ("siz", "sizi", "size", "sizde", "sizden", "sizin", "sizinle", "sizce"),
    "3pl": ("onlar", "onları", "onlara", "onlarda", "onlardan", "onların", "onlarla", "onlarca"),
}
_ADJECTIVE_CLASS = {
    **dict.fromkeys(("person", "kin"), "person"),
    **dict.fromkeys(("place", "water", "town"), "place"),
    **dict.fromkeys(("object", "plant", "material", "vehicle", "body"), "thing"),
    "food": "food",
    "animal": "animal",
}
_POINTERS = (
    ("bu", "any"),
    ("bu", "any"),
    ("bu", "singular"),
    ("o", "any"),
    ("şu", "any"),
    ("her", "singular"),
    ("aynı", "any"),
    ("diğer", "plural"),
    ("bazı", "plural"),
    ("ilk", "any"),
    ("son", "any"),
    ("birçok", "singular"),
    ("böyle bir", "singular"),
    ("tüm", "plural"),
    ("bütün", "plural"),
)
# class of the noun -> class of the noun inside a -lI / -sIz adjective (gözlüklü adam, sütsüz kahve)
_WITH_CLASS = {
    "person": "abstract",
    "place": "plant",
    "town": "plant",
    "food": "food",
    "object": "material",
    "abstract": "abstract",
    "event": "abstract",
}
# class of the noun -> classes of what it can belong to
_OWNERS = {
    "person": ("group", "town"),
    "group": ("country", "province"),
    "place": ("country", "province", "district"),
    "water": ("country", "feature"),
    "town": ("province", "district", "town", "country"),
    "animal": ("person", "kin", "man"),
    "plant": ("place", "feature"),
    "body": ("person", "animal", "kin", "woman"),
    "material": ("place", "country"),
    "science": ("people", "group"),
    "matter": ("material", "plant", "animal"),
    "art": ("person", "full", "people"),
    "text": ("person", "full", "group"),
    "abstract": ("group", "person", "country", "kin"),
    "event": ("group", "country", "person"),
}
_ANY_OWNER = ("person", "kin", "man", "woman", "full")
HUMAN = frozenset(("any_person", "person", "kin"))


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase whose case is still open.

    before: the words ahead of the head. person: what the verb agrees with; 1st and 2nd persons and
    "3pl" pronouns keep their head for case forms only. forms: case forms of a pronoun.
    """

    before: str
    head: Stem
    person: str = "3sg"
    forms: tuple[str, ...] = ()

    def case(self, name: str) -> str:
        """The phrase in a case, a key of CASES."""
        if self.forms:
            return self.forms[list(CASES).index(name)]
        return join(self.before, with_case(self.head, name).form)


def join(*parts: str) -> str:
    """Words with single spaces, empty parts left out."""
    return " ".join(part for part in parts if part)


def pronoun(person: str) -> Phrase:
    """A personal pronoun; all its cases are irregular in one way or another."""
    forms = _PRONOUNS[person]
    return Phrase("", Stem(forms[0], forms[0]), person, forms)


class NounPhrases:
    """Builds noun phrases of a semantic class from the lexicon."""

    def __init__(self, rng: random.Random, lexicon: Lexicon | None = None) -> None:
        """Draw with `rng` from a lexicon, by default the packaged one."""
        self.rng = rng
        self.lexicon = lexicon or load_lexicon()
        self._shapes = Choice(
            (
                self._bare,
                self._with_adjective,
                self._with_article,
                self._owned,
                self._pointed_at,
                self._compound,
                self._located,
                self._equipped,
                self._counted,
                self._mine,
                self._pair,
            ),
            (26, 18, 8, 13, 8, 8, 6, 5, 3, 4, 7),
        )

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.rng.random() < probability

    def word(self, kind: str) -> str:
        """An uninflected word (adverb, connective, numeral...)."""
        return self.lexicon.words[kind].pick(self.rng)

    def root(self, kind: str) -> Stem:
        """A noun root of a class."""
        return self.lexicon.nouns[kind].pick(self.rng)

    def name(self, kind: str) -> Stem:
        """A proper name of a class."""
        return self.lexicon.names[kind].pick(self.rng)

    def noun_phrase(self, kind: str) -> Phrase:
        """A phrase of a noun class, of one to about five words."""
        if kind == "any_person":
            return self._any_person()
        if kind == "kin":
            return self._kin()
        if kind in ("place", "town", "water") and self.chance(0.22):
            return self.place_name()
        return self._shapes.pick(self.rng)(kind)

    def simple(self, kind: str) -> Phrase:
        """A phrase without dependents of its own, for use inside others."""
        return (self._with_adjective if self.chance(0.25) else self._bare)(kind)

    def place_name(self) -> Phrase:
        """A proper name of a place."""
        kind = self.rng.choice(("province", "province", "district", "country", "feature"))
        return Phrase("", self.name(kind))

    def full_name(self) -> Stem:
        """First name and surname as one proper name."""
        first = self.name(self.rng.choice(("man", "woman"))).form
        last = self.name("surname")
        form = f"{first} {last.form}"
        return Stem(form, form, front=last.front, proper=True)

    def _any_person(self) -> Phrase:
        draw = self.rng.random()
        if draw < 0.14:
            return self._kin()
        if draw < 0.24:
            return Phrase("", self.name(self.rng.choice(("man", "woman"))))
        if draw < 0.31:
            return Phrase("", self.full_name())
        if draw < 0.44:
            return pronoun(self.rng.choice(PERSONS))
        return self._shapes.pick(self.rng)("person")

    def _kin(self) -> Phrase:
        possessor = self.rng.choice(("1sg", "1sg", "3sg", "3sg", "1pl", "2sg"))
        owner = ""
        if possessor == "3sg" and self.chance(0.5):
            owner = self.simple("person").case("gen")
        return Phrase(owner, noun(self.root("kin"), possessor=possessor))

    def _plural(self, kind: str) -> bool:
        return self.chance(0.15 if kind in ("material", "science", "food") else 0.36)

    def _person_of(self, kind: str, plural: bool) -> str:
        return "3pl" if plural and kind in HUMAN and self.chance(0.45) else "3sg"

    def _head(self, kind: str, before: str = "", plural: bool | None = None) -> Phrase:
        plural = self._plural(kind) if plural is None else plural
        head = noun(self.root(kind), plural=plural)
        return Phrase(before, head, self._person_of(kind, plural))

    def adjective(self, kind: str) -> str:
        """An adjective that suits a noun class."""
        own = _ADJECTIVE_CLASS.get(kind, "abstract")
        chosen = "any" if self.chance(0.42) else own
        word = self.lexicon.adjectives[chosen].pick(self.rng).form
        return join(self.word("degree"), word) if self.chance(0.08) else word

    def _bare(self, kind: str) -> Phrase:
        return self._head(kind)

    def _with_adjective(self, kind: str) -> Phrase:
        return self._head(kind, self.adjective(kind))

    def _with_article(self, kind: str) -> Phrase:
        superlative = "en" if self.chance(0.12) else ""
        article = "" if superlative else "bir"
        before = join(superlative, self.adjective(kind), article)
        return self._head(kind, before, plural=False)

    def _pointed_at(self, kind: str) -> Phrase:
        pointer, number = self.rng.choice(_POINTERS)
        plural = self._plural(kind) if number == "any" else number == "plural"
        return self._head(kind, pointer, plural=plural)

    def _owned(self, kind: str) -> Phrase:
        owner = self._owner(kind)
        plural = self._plural(kind)
        before = join(owner, self.adjective(kind) if self.chance(0.15) else "")
        head = noun(self.root(kind), plural=plural, possessor="3sg")
        return Phrase(before, head, self._person_of(kind, plural))

    def _owner(self, kind: str) -> str:
        owner = self.rng.choice(_OWNERS.get(kind, _ANY_OWNER))
        if owner == "full":
            return Phrase("", self.full_name()).case("gen")
        if owner in self.lexicon.names:
            plain = self.name(owner)
            return Phrase("", derive(plain, "lAr") if owner == "people" else plain).case("gen")
        return (self._kin() if owner == "kin" else self.simple(owner)).case("gen")

    def _mine(self, kind: str) -> Phrase:
        possessor = self.rng.choice(("1sg", "1pl", "1pl", "2sg", "2pl"))
        plural = self._plural(kind)
        before = pronoun(possessor).case("gen") if self.chance(0.35) else ""
        head = noun(self.root(kind), plural=plural, possessor=possessor)
        return Phrase(before, head, self._person_of(kind, plural))

    def _compound(self, kind: str) -> Phrase:
        if kind not in self.lexicon.compounds:
            return self._with_adjective(kind)
        compound = self.lexicon.compounds[kind].pick(self.rng)
        plural = self._plural(kind)
        head = noun(compound.heads.pick(self.rng), plural=plural, possessor="3sg")
        return Phrase(self.root(compound.modifier).form, head, self._person_of(kind, plural))

    def _located(self, kind: str) -> Phrase:
        place = (
            self.place_name()
            if self.chance(0.3)
            else self.simple(self.rng.choice(("town", "town", "place")))
        )
        located = relational(with_case(place.head, "loc")).form
        return self._head(kind, join(place.before, located))

    def _equipped(self, kind: str) -> Phrase:
        if kind not in _WITH_CLASS:
            return self._with_adjective(kind)
        root = self.root(_WITH_CLASS[kind])
        suffix = "lI" if self.chance(0.6) else "sIz"
        return self._head(kind, derive(root, suffix).form)

    def _counted(self, kind: str) -> Phrase:
        if kind in ("material", "science", "abstract"):
            return self._bare(kind)
        return self._head(kind, self.word("numerals"), plural=False)

    def _pair(self, kind: str) -> Phrase:
        first, second = self._bare(kind), self._bare(kind)
        if first.head == second.head:
            return first
        link = self.rng.choice(("ve", "ve", "ve", "ile", "veya", "ya da"))
        return Phrase(join(first.head.form, link), second.head, first.person)

    def postpositional(self) -> str:
        """A phrase such as "savaştan sonra" or "öğretmen olarak"."""
        kind, case, particle = self.lexicon.postpositions.pick(self.rng)
        if case == "root":
            return join(self.root(kind).form, particle)
        phrase = self.noun_phrase(kind)
        if phrase.forms and case == "nom":  # benim gibi, bizim dışımızda: only the first is built
            case, particle = "gen", "gibi"
        if case == "gen" and not phrase.forms:
            case = "nom"
        return join(phrase.case(case), particle)

    def also(self, text: str) -> str:
        """The text with the clitic de, da (also), which is a word of its own."""
        return attach(Stem(text, text), " dA").form

    def year(self) -> int:
        """A year, mostly a recent one."""
        return 2023 - int(abs(self.rng.gauss(0, 1)) * 160)

    def time(self, tense: str) -> str:
        """An adverbial of time that agrees with "past", "present" or "future"."""
        if tense != "past" or self.chance(0.4):
            return self.word(tense)
        year = self.year()
        shape = self.rng.randrange(6)
        if shape < 2:
            return f"{year} yılında"
        if shape == 2:
            return number(year, "DA")
        if shape == 3:
            return f"{self.rng.randrange(1, 31)} {self.word('months')} {number(year, 'DA')}"
        if shape == 4:
            return f"{self.rng.randrange(12, 21)}. yüzyılda"
        return join(self.word("months"), "ayında")
