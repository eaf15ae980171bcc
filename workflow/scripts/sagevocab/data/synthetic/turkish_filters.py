"""Filters by which template grammars inflect Turkish: ``[ürün|pl|acc]``, ``[v_al|past.1sg]``."""

from __future__ import annotations

from functools import cache

from sagevocab.data.synthetic.turkish_morphology import (
    CASES,
    COPULAS,
    PERSONS,
    POSSESSIVES,
    VERBALS,
    Verb,
    copula_of,
    finite,
    noun,
    parse_verb,
    relational,
    verbal,
    with_case,
)
from sagevocab.data.synthetic.turkish_phonology import Stem, attach, capitalize, derive, parse_stem

_DERIVATIONS = ("lI", "sIz", "lIK", "CI", "DIr")


def read(symbol: str, entry: str) -> Stem | Verb:
    """Word entries of a rule: verbs where the rule's name begins with v_, names with name_."""
    if symbol.startswith("v_"):
        return parse_verb(entry)
    return parse_stem(entry, proper=symbol.startswith("name_"))


@cache
def transform(value: Stem | Verb | str, name: str) -> Stem | str:
    """Apply one filter.

    Nouns: pl, a person (possessive, "3sg"), a case, -lI -sIz -lIK -CI -DAki -DIr, "is" + a copula
    ("is.past"), dA (also). Verbs: tense or verbal noun, then any of person, case, neg, able, pass,
    causative, and a copula behind "c" ("future.1sg.neg", "object.3sg.acc", "progressive.cpast").
    Any: cap.
    Raises ValueError for an unknown filter.
    """
    if name == "cap":
        return capitalize(str(value))
    if isinstance(value, Verb):
        return _verb_form(value, name.split("."))
    return _noun_form(parse_stem(value) if isinstance(value, str) else value, name)


def _noun_form(stem: Stem, name: str) -> Stem:
    if name == "pl":
        return noun(stem, plural=True)
    if name in POSSESSIVES:
        return noun(stem, possessor=name)
    if name in CASES:
        return with_case(stem, name)
    if name == "DAki":
        return relational(with_case(stem, "loc"))
    if name in _DERIVATIONS:
        return derive(stem, name)
    if name == "dA":  # the clitic "also": a word of its own, never with t
        return attach(stem, " dA")
    if name.startswith("is."):
        return copula_of(stem, name[3:])
    raise ValueError(f"unknown noun filter {name!r}")


def _verb_form(verb: Verb, names: list[str]) -> Stem:
    kind, options = names[0], set(names[1:])
    person = next((person for person in PERSONS if person in options), None)
    case = next((case for case in CASES if case in options), "nom")
    copula = next((copula for copula in COPULAS if f"c{copula}" in options), None)
    voice = "passive" if "pass" in options else "causative" if "causative" in options else "active"
    negative, ability = "neg" in options, "able" in options
    if kind in VERBALS:
        return verbal(
            verb, kind, voice=voice, ability=ability, negative=negative, possessor=person, case=case
        )
    return finite(
        verb,
        kind,
        person or "3sg",
        voice=voice,
        ability=ability,
        negative=negative,
        copula=copula,
    )
