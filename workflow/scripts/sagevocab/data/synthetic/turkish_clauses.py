"""Turkish clauses: an event (who, what, where, verb) and the forms a sentence may give it.

One event becomes a main clause, a -DIK or -mA clause in a case, a relative clause or a converb.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sagevocab.data.synthetic.sampling import Choice
from sagevocab.data.synthetic.turkish_lexicon import Frame
from sagevocab.data.synthetic.turkish_morphology import Verb, finite, verbal, while_doing
from sagevocab.data.synthetic.turkish_phrases import HUMAN, NounPhrases, Phrase, join


@dataclass(frozen=True, slots=True)
class Mood:
    """Tense, second layer, and the time adverbs that agree with them."""

    tense: str
    time: str
    copula: str | None = None
    ability: bool = False


_MOODS = {
    "narrative": Choice(
        (
            Mood("past", "past"),
            Mood("evidential", "past", "assertive"),
            Mood("evidential", "past", "past"),
            Mood("progressive", "past", "past"),
            Mood("evidential", "past"),
            Mood("aorist", "past", "past"),
            Mood("past", "past", ability=True),
            Mood("future", "past", "past"),
            Mood("progressive", "past", "evidential"),
        ),
        (46, 15, 9, 9, 6, 6, 3, 3, 1),
    ),
    "current": Choice(
        (
            Mood("progressive", "present"),
            Mood("aorist", "present"),
            Mood("formal", "present", "assertive"),
            Mood("aorist", "present", ability=True),
            Mood("future", "future"),
            Mood("necessity", "present"),
            Mood("future", "future", "assertive"),
            Mood("necessity", "present", "assertive"),
            Mood("progressive", "present", ability=True),
            Mood("necessity", "past", "past"),
            Mood("aorist", "past", "past", ability=True),
            Mood("future", "future", ability=True),
            Mood("future", "past", "evidential"),
        ),
        (30, 16, 14, 9, 12, 5, 4, 3, 4, 2, 2, 2, 1),
    ),
}
_TOPICS = Choice(
    ("daily", "society", "history", "science", "geography", "nature", "art", "economy"),
    (30, 14, 14, 14, 10, 7, 6, 5),
)

# classes whose objects may stand without a case: kitap okudu
_BARE_OBJECTS = frozenset(("text", "food", "object", "plant", "material"))
_AGENTS = {"any_person": "person", "group": "group"}


@dataclass(frozen=True, slots=True)
class Event:
    """Who does what. object: kept apart so that a relative clause can move it; middle: the rest."""

    subject: Phrase
    verb: Verb
    object: str = ""
    object_phrase: Phrase | None = None
    middle: str = ""
    voice: str = "active"
    negative: bool = False
    dropped: bool = False

    @property
    def complements(self) -> str:
        """Words between subject and verb."""
        return join(self.middle, self.object)

    @property
    def nominative(self) -> str:
        """The subject as it is said; a dropped pronoun is silent."""
        return "" if self.dropped else self.subject.case("nom")

    @property
    def genitive(self) -> str:
        """The subject of a nominalised clause."""
        return "" if self.dropped else self.subject.case("gen")

    def clause(self, mood: Mood) -> str:
        """Complements and finite verb, without the subject."""
        person = self.subject.person
        third = person in ("3sg", "3pl")
        word = finite(
            self.verb,
            mood.tense,
            person,
            voice=self.voice,
            ability=mood.ability,
            negative=self.negative,
            copula=mood.copula if third or mood.copula != "assertive" else None,
        )
        return join(self.complements, word.form)

    def verbal(self, kind: str, *, possessed: bool = False, case: str = "nom") -> str:
        """Complements and a non-finite verb (a key of VERBALS)."""
        word = verbal(
            self.verb,
            kind,
            voice=self.voice,
            negative=self.negative,
            possessor=self._possessor if possessed else None,
            case=case,
        )
        return join(self.complements, word.form)

    @property
    def _possessor(self) -> str:
        """-(s)I after a full plural subject: onların geldiği, but geldikleri without it."""
        pronoun = bool(self.subject.forms)
        if self.subject.person == "3pl" and not pronoun:
            return "3sg"
        return self.subject.person

    def while_doing(self) -> str:
        """Complements and the converb in -(y)ken."""
        return join(self.complements, while_doing(self.verb, voice=self.voice).form)


class Clauses(NounPhrases):
    """Draws events and moods, and puts events into clauses."""

    def topic(self) -> str:
        """A topic for one sentence."""
        return _TOPICS.pick(self.rng)

    def mood(self, register: str) -> Mood:
        """A mood of the "narrative" or "current" register."""
        return _MOODS[register].pick(self.rng)

    def event(self, topic: str, subject: Phrase | None = None) -> Event:
        """An event of a topic; with `subject`, a human does it."""
        frame = self._frame(topic, human=subject is not None)
        if subject is None and frame.causes and self.chance(0.35):
            return self._caused(frame)
        if subject is None and frame.case == "acc" and self.chance(0.17):
            return self._passive(frame)
        return self._active(frame, subject)

    def human_event(self, topic: str) -> Event:
        """An event with a human subject, in a topic that has one."""
        return self.event(topic, self.noun_phrase("any_person"))

    def _frame(self, topic: str, human: bool) -> Frame:
        frames = self.lexicon.frames
        for _ in range(8):
            frame = frames[topic].pick(self.rng)
            if not human or frame.subject in HUMAN:
                return frame
        while True:
            frame = frames["daily"].pick(self.rng)
            if frame.subject in HUMAN:
                return frame

    def _active(self, frame: Frame, subject: Phrase | None) -> Event:
        subject = subject or self.noun_phrase(frame.subject)
        dropped = bool(subject.forms) and self.chance(0.7)
        event = Event(
            subject, frame.verbs.pick(self.rng), middle=self._middle(frame), dropped=dropped
        )
        event = replace(event, negative=self.chance(0.09))
        return self._with_object(event, frame)

    def _with_object(self, event: Event, frame: Frame) -> Event:
        if frame.object is None:
            return event
        phrase = self.noun_phrase(frame.object)
        indefinite = frame.case == "acc" and phrase.before.endswith("bir") and self.chance(0.6)
        if frame.case == "acc" and frame.object in _BARE_OBJECTS and self.chance(0.1):
            phrase, indefinite = Phrase("", self.root(frame.object)), True
        said = phrase.case("nom" if indefinite else frame.case)
        return replace(event, object=said, object_phrase=phrase)

    def _passive(self, frame: Frame) -> Event:
        middle = self._middle(frame)
        if frame.subject in _AGENTS and self.chance(0.4):
            agent = self.simple(_AGENTS[frame.subject]).case("nom")
            middle = join(agent, "tarafından", middle)
        phrase = self.noun_phrase(frame.object)
        dropped = bool(phrase.forms) and self.chance(0.7)
        verb = frame.verbs.pick(self.rng)
        return Event(phrase, verb, middle=middle, voice="passive", dropped=dropped)

    def _caused(self, frame: Frame) -> Event:
        verb = frame.verbs.pick(self.rng)
        patient = self.noun_phrase(frame.subject)
        if self.chance(0.4):
            return Event(patient, verb, middle=self._middle(frame), voice="causative passive")
        subject = self.noun_phrase(frame.causes)
        dropped = bool(subject.forms)
        return Event(
            subject,
            verb,
            object=patient.case("acc"),
            object_phrase=patient,
            middle=self._middle(frame),
            voice="causative",
            dropped=dropped,
        )

    def _middle(self, frame: Frame) -> str:
        parts = []
        if frame.second:
            parts.append(self.noun_phrase(frame.second).case(frame.second_case))
        if frame.case not in ("loc", "dat", "abl") and self.chance(0.13):
            parts.append(self.noun_phrase("town").case("loc"))
        if self.chance(0.2):
            parts.append(self.postpositional())
        if self.chance(0.18):
            parts.append(self.word("manner"))
        return join(*parts)

    def main_clause(self, event: Event, register: str) -> str:
        """Subject, time, complements, finite verb; the time may come first."""
        mood = self.mood(register)
        time = self.time(mood.time) if self.chance(0.5) else ""
        subject = event.nominative
        if subject and self.chance(0.08):
            subject = self.also(subject)
        first = (time, subject) if self.chance(0.5) else (subject, time)
        return join(*first, event.clause(mood))

    def relative(self, topic: str) -> Phrase:
        """A noun with a relative clause: kitabı okuyan çocuk, çocuğun okuduğu kitap."""
        event = self.event(topic)
        phrase = event.object_phrase
        movable = phrase is not None and not phrase.forms and not phrase.head.proper
        if movable and self.chance(0.5):
            participle = replace(event, object="").verbal(self._participle(), possessed=True)
            return Phrase(join(event.genitive, participle), phrase.head, phrase.person)
        subject = event.subject
        if subject.forms or subject.head.proper:
            subject = self._head("person")
        kind = self.rng.choice(("subject",) * 6 + ("perfect", "prospective"))
        perfect = " olan" if kind == "perfect" else ""
        return Phrase(event.verbal(kind) + perfect, subject.head, subject.person)

    def _participle(self) -> str:
        return "object" if self.chance(0.8) else "prospective"
