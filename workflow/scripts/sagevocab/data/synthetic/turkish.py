"""Synthetic Turkish: sentences of the project's own making, from real roots and real grammar.

The text has the properties that subword vocabularies feel: suffix chains, vowel harmony, consonant
changes, Zipfian roots, names with apostrophes, sentences of 5 to 25 words. It has no meaning to
speak of, and no number measured on it says anything about Turkish as people write it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from sagevocab.data.synthetic.sampling import Choice, distinct
from sagevocab.data.synthetic.turkish_clauses import Clauses, Event, Mood
from sagevocab.data.synthetic.turkish_encyclopaedia import Encyclopaedia
from sagevocab.data.synthetic.turkish_morphology import (
    attach,
    copula_of,
    finite,
    inflect_noun,
    inflect_verb,
)
from sagevocab.data.synthetic.turkish_phonology import capitalize, parse_stem
from sagevocab.data.synthetic.turkish_phrases import join

__all__ = ["inflect_noun", "inflect_verb", "sentences"]

_SHORTEST, _LONGEST = 5, 25
_JUDGEMENTS = ("gerekir", "gerekiyor", "gerekmektedir", "gerekiyordu", "mümkündür", "olanaksızdır")
_VALUES = (
    "önemli",
    "zor",
    "kolay",
    "yararlı",
    "gerekli",
    "yanlış",
    "doğru",
    "güzel",
    "yasak",
    "pahalı",
)
_REASONS = (
    ("object", "için"),
    ("object", "için"),
    ("object", "hâlde"),
    ("object", "gibi"),
    ("object", "zaman"),
    ("prospective", "için"),
)
_IF = (
    Mood("aorist", "", "conditional"),
    Mood("progressive", "", "conditional"),
    Mood("conditional", ""),
    Mood("past", "", "conditional"),
)
_DESCRIBABLE = ("abstract", "town", "object", "person", "art", "food", "event", "matter")
_EXISTS = ("var", "vardı", "yok", "yoktu", "vardır", "bulunuyor", "bulunmaktadır", "varmış")
_QUESTIONS = ("neden", "niçin", "nasıl", "ne zaman", "nerede", "kiminle")


def sentences(count: int, seed: int) -> Iterator[str]:
    """Yield `count` distinct synthetic Turkish sentences; the same seed gives the same ones."""
    writer = _Writer(random.Random(f"turkish {seed}"))
    return distinct(writer.sentence, count)


class _Writer:
    """Sentence patterns over clauses; each method returns a sentence without its end mark."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.clauses = Clauses(rng)
        self.encyclopaedia = Encyclopaedia(self.clauses)
        self._patterns = Choice(
            (
                self.encyclopaedia.sentence,
                self._plain,
                self._with_relative,
                self._reported,
                self._wished,
                self._attempted,
                self._subordinated,
                self._layered,
                self._chain,
                self._condition,
                self._coordinated,
                self._described,
                self._compared,
                self._exists,
                self._judged,
                self._question,
                self._request,
            ),
            (24, 11, 8, 8, 5, 4, 11, 8, 6, 5, 9, 5, 2, 4, 4, 2, 2),
        )

    def sentence(self) -> str:
        """A finished sentence of 5 to 25 words."""
        while True:
            text = self._patterns.pick(self.rng)()
            if _SHORTEST <= text.count(" ") + 1 <= _LONGEST:
                return capitalize(text if text[-1] in ".?!" else text + ".")

    def _register(self) -> str:
        return "narrative" if self.clauses.chance(0.62) else "current"

    def _opening(self) -> str:
        return self.clauses.word("opening") + " " if self.clauses.chance(0.14) else ""

    def _plain(self) -> str:
        event = self.clauses.event(self.clauses.topic())
        return self._opening() + self.clauses.main_clause(event, self._register())

    def _with_relative(self) -> str:
        topic = self.clauses.topic()
        subject = self.clauses.relative(topic)
        if self.clauses.chance(0.35):
            return join(subject.case("nom"), self._predicate())
        event = self.clauses.event(topic)
        if event.subject.forms or event.subject.head.proper:
            return join(subject.case("nom"), self._predicate())
        relative = self.clauses.event(topic).verbal("subject")
        mood = self.clauses.mood(self._register())
        return join(relative, event.nominative, event.clause(mood))

    def _predicate(self) -> str:
        word = self.clauses.adjective("abstract")
        stem = parse_stem(word.rsplit(" ", 1)[-1])
        before = join(self.rng.choice(("", "artık", "gerçekten", "her zaman", "bizim için")))
        copula = self.rng.choice(("assertive", "past", "evidential"))
        return join(before, *word.split(" ")[:-1], copula_of(stem, copula, "3sg").form)

    def _reported(self) -> str:
        inner = self.clauses.event(self.clauses.topic())
        kind = self.rng.choice(("object", "object", "prospective"))
        said = join(inner.genitive, inner.verbal(kind, possessed=True, case="acc"))
        return self._framed(said, "fact")

    def _wished(self) -> str:
        inner = self.clauses.event(self.clauses.topic())
        said = join(inner.genitive, inner.verbal("action", possessed=True, case="acc"))
        return self._framed(said, "wish")

    def _framed(self, said: str, kind: str) -> str:
        subject = self.clauses.noun_phrase("any_person" if self.clauses.chance(0.7) else "group")
        verb = self.clauses.lexicon.clausal[kind].pick(self.rng)
        outer = Event(subject, verb, object=said)
        mood = self.clauses.mood(self._register())
        separator = ", " if len(said.split()) > 3 else " "
        return subject.case("nom") + separator + outer.clause(mood)

    def _attempted(self) -> str:
        inner = self.clauses.human_event(self.clauses.topic())
        verb = self.clauses.lexicon.clausal["effort"].pick(self.rng)
        outer = Event(inner.subject, verb, object=inner.verbal("action", case="dat"))
        mood = self.clauses.mood(self._register())
        return join(inner.nominative, outer.clause(mood))

    def _reason(self) -> str:
        inner = self.clauses.event(self.clauses.topic())
        kind, particle = self.rng.choice(_REASONS)
        return join(inner.genitive, inner.verbal(kind, possessed=True), particle)

    def _when(self) -> str:
        inner = self.clauses.event(self.clauses.topic())
        ending = self.rng.choice(
            (
                inner.verbal("object", case="abl") + " sonra",
                inner.verbal("when"),
                inner.while_doing(),
                inner.verbal("whenever"),
                inner.verbal("object", possessed=True, case="loc"),
            )
        )
        comma = "," if self.clauses.chance(0.3) else ""
        return join("" if inner.subject.forms else inner.nominative, ending) + comma

    def _subordinated(self) -> str:
        first = self._reason() if self.clauses.chance(0.4) else self._when()
        event = self.clauses.event(self.clauses.topic())
        return f"{first} {self.clauses.main_clause(event, self._register())}"

    def _layered(self) -> str:
        first = self._reason() if self.clauses.chance(0.4) else self._when()
        rest = self.rng.choice((self._reported, self._wished, self._chain, self._coordinated))
        return f"{first} {rest()}"

    def _chain(self) -> str:
        topic = self.clauses.topic()
        first = self.clauses.human_event(topic)
        second = self.clauses.event(topic, first.subject)
        link = self.rng.choice(("and", "and", "by", "without"))
        mood = self.clauses.mood(self._register())
        purpose = "" if self.clauses.chance(0.8) else first.verbal("infinitive") + " için"
        linked = purpose or first.verbal(link)
        return join(first.nominative, linked, second.clause(mood))

    def _condition(self) -> str:
        topic = self.clauses.topic()
        inner = self.clauses.event(topic)
        mood = self.rng.choice(_IF)
        start = "eğer " if self.clauses.chance(0.35) else ""
        outer = self.clauses.main_clause(self.clauses.event(topic), "current")
        return f"{start}{join(inner.nominative, inner.clause(mood))}, {outer}"

    def _coordinated(self) -> str:
        topic = self.clauses.topic()
        register = self._register()
        first = self.clauses.main_clause(self.clauses.event(topic), register)
        second = self.clauses.main_clause(self.clauses.event(topic), register)
        word = self.clauses.word("joining")
        return f"{first} {word} {second}" if word == "ve" else f"{first}, {word} {second}"

    def _described(self) -> str:
        kind = self.rng.choice(
            ("abstract", "town", "object", "person", "art", "food", "event", "matter")
        )
        subject = self.clauses.noun_phrase(kind)
        adjective = self.clauses.adjective(kind).split(" ")
        stem = parse_stem(adjective[-1])
        time, copula = self.rng.choice(
            (("", "assertive"), ("past", "past"), ("present", "assertive"))
        )
        when = self.clauses.time(time) if time else ""
        if self.clauses.chance(0.15):
            word = join(adjective[-1], "değildi" if copula == "past" else "değildir")
        else:
            word = copula_of(stem, copula, "3sg").form
        return join(subject.case("nom"), when, *adjective[:-1], word)

    def _compared(self) -> str:
        kind = self.rng.choice(("person", "town", "abstract", "object", "animal", "vehicle"))
        first, second = self.clauses.noun_phrase(kind), self.clauses.noun_phrase(kind)
        word = self.clauses.lexicon.adjectives["any"].pick(self.rng)
        ending = copula_of(word, self.rng.choice(("assertive", "past", "evidential")), "3sg").form
        return join(first.case("nom"), second.case("abl"), "daha", ending)

    def _exists(self) -> str:
        place = self.clauses.noun_phrase(self.rng.choice(("town", "place", "object")))
        thing = self.clauses.noun_phrase(
            self.rng.choice(("object", "person", "town", "plant", "animal"))
        )
        verb = self.rng.choice(
            (
                "var",
                "vardı",
                "yok",
                "yoktu",
                "vardır",
                "bulunuyor",
                "bulunmaktadır",
                "bulunur",
                "varmış",
            )
        )
        return join(place.case("loc"), thing.case("nom"), verb)

    def _judged(self) -> str:
        inner = self.clauses.human_event(self.clauses.topic())
        if self.clauses.chance(0.5):
            clause = join(inner.genitive, inner.verbal("action", possessed=True))
            return join(clause, self.rng.choice(_JUDGEMENTS))
        ending = copula_of(
            parse_stem(self.rng.choice(_VALUES)), self.rng.choice(("assertive", "past"))
        )
        when = self.clauses.word("present") if self.clauses.chance(0.4) else ""
        return join(when, inner.verbal("infinitive"), self.clauses.word("degree"), ending.form)

    def _question(self) -> str:
        event = self.clauses.human_event("daily")
        if self.clauses.chance(0.5):
            mood = self.clauses.mood(self._register())
            return join(event.nominative, self.rng.choice(_QUESTIONS), event.clause(mood)) + "?"
        tense = self.rng.choice(("past", "evidential"))
        event_word = finite(event.verb, tense, "3sg", voice=event.voice)
        particle = attach(event_word, " mI").form
        return (
            join(
                event.subject.case("nom") if not event.subject.forms else "",
                event.complements,
                particle,
            )
            + "?"
        )

    def _request(self) -> str:
        event = self.clauses.human_event("daily")
        tense, person = self.rng.choice(
            (
                ("imperative", "2sg"),
                ("imperative", "2pl"),
                ("optative", "1pl"),
                ("imperative", "3sg"),
            )
        )
        word = finite(event.verb, tense, person, negative=self.clauses.chance(0.2)).form
        start = self.rng.choice(("lütfen", "hadi", "artık", self.clauses.word("future")))
        return join(start, event.complements, word) + self.rng.choice(".!")
