"""The Turkish roots of turkish_lexicon.yaml as stems and verbs, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from sagevocab.data.synthetic.sampling import Choice, zipf
from sagevocab.data.synthetic.turkish_morphology import Verb, parse_verb
from sagevocab.data.synthetic.turkish_phonology import Stem, derive, parse_stem

_PATH = Path(__file__).with_name("turkish_lexicon.yaml")


@dataclass(frozen=True)
class Frame:
    """Verbs that share their complements: classes of subject and object, cases, topic."""

    verbs: Choice[Verb]
    topic: str
    subject: str
    object: str | None = None
    case: str | None = None
    second: str | None = None
    second_case: str | None = None
    causes: str | None = None


@dataclass(frozen=True)
class Compound:
    """Bare modifiers of one class and the heads that take a possessive after them."""

    modifier: str
    heads: Choice[Stem]


@dataclass(frozen=True)
class Lexicon:
    """All word classes of the synthetic Turkish."""

    nouns: dict[str, Choice[Stem]]
    adjectives: dict[str, Choice[Stem]]
    names: dict[str, Choice[Stem]]
    frames: dict[str, Choice[Frame]]
    compounds: dict[str, Choice[Compound]]
    postpositions: Choice[tuple[str, str, str]]
    clausal: dict[str, Choice[Verb]]
    words: dict[str, Choice[str]]


def _stems(entries: str, *, proper: bool = False) -> list[Stem]:
    return [parse_stem(entry, proper=proper) for entry in entries.split()]


def _nouns(raw: dict) -> dict[str, Choice[Stem]]:
    stems = {name: _stems(entries) for name, entries in raw["nouns"].items()}
    stems["person"] += [derive(stem, "CI") for stem in _stems(raw["agents"])]
    stems["abstract"] += [derive(stem, "lIK") for stem in _stems(raw["qualities"])]
    return {name: zipf(members) for name, members in stems.items()}


def _frames(raw: list[dict]) -> dict[str, Choice[Frame]]:
    by_topic: dict[str, list[Frame]] = {}
    for entry in raw:
        verbs = zipf(parse_verb(verb) for verb in entry["verbs"].split())
        frame = Frame(**{**entry, "verbs": verbs})
        by_topic.setdefault(frame.topic, []).append(frame)
    return {topic: Choice(frames) for topic, frames in by_topic.items()}


def _compounds(raw: list[dict]) -> dict[str, Choice[Compound]]:
    by_class: dict[str, list[Compound]] = {}
    for entry in raw:
        compound = Compound(entry["modifier"], zipf(_stems(entry["heads"])))
        by_class.setdefault(entry["makes"], []).append(compound)
    return {name: Choice(members) for name, members in by_class.items()}


def _words(raw: dict) -> dict[str, Choice[str]]:
    lists = {**raw["adverbs"], **raw["connectives"]}
    lists |= {name: raw[name] for name in ("numerals", "ordinals", "months", "units")}
    return {
        name: zipf(word.replace("_", " ") for word in entries.split())
        for name, entries in lists.items()
    }


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Read the packaged lexicon once."""
    raw = yaml.safe_load(_PATH.read_text(encoding="utf-8"))
    return Lexicon(
        nouns=_nouns(raw),
        adjectives={name: zipf(_stems(entries)) for name, entries in raw["adjectives"].items()},
        names={name: zipf(_stems(entries, proper=True)) for name, entries in raw["names"].items()},
        frames=_frames(raw["frames"]),
        postpositions=zipf((tuple(entry) for entry in raw["postpositions"]), exponent=0.6),
        compounds=_compounds(raw["compounds"]),
        clausal={
            name: zipf(parse_verb(verb) for verb in entries.split())
            for name, entries in raw["clausal"].items()
        },
        words=_words(raw),
    )
