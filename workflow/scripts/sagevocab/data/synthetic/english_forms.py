"""English word forms for the template grammars: plurals, verb forms, articles."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

_VOWELS = "aeiou"
_FORMS = yaml.safe_load(Path(__file__).with_name("english_forms.yaml").read_text("utf-8"))
_PLURALS: dict[str, str] = _FORMS["plurals"]
_DOUBLING = frozenset(_FORMS["doubling"].split())
# base: (past,) or (past, participle)
_IRREGULAR = {
    forms.split()[0]: forms.split()[1:] for line in _FORMS["irregular"] for forms in line.split(",")
}


def _is_sibilant(word: str) -> bool:
    return word.endswith(("s", "x", "z", "ch", "sh"))


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    if _is_sibilant(word) or word in ("go", "do", "echo", "veto"):
        return word + "es"
    return word + "s"


def plural(word: str) -> str:
    """Plural of a noun."""
    if word.endswith("man") and word != "human":
        return word[:-3] + "men"
    return _PLURALS.get(word) or _with_s(word)


def present(word: str) -> str:
    """Third person singular of a verb."""
    return {"be": "is", "have": "has"}.get(word) or _with_s(word)


def past(word: str) -> str:
    """Past tense of a verb."""
    return _IRREGULAR[word][0] if word in _IRREGULAR else _regular_past(word)


def participle(word: str) -> str:
    """Past participle of a verb."""
    return _IRREGULAR[word][-1] if word in _IRREGULAR else _regular_past(word)


def _regular_past(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ied"
    return (word + word[-1] if word in _DOUBLING else word) + "ed"


def gerund(word: str) -> str:
    """The -ing form of a verb."""
    if word.endswith("ie"):
        return word[:-2] + "ying"
    if word.endswith("e") and not word.endswith(("ee", "ye", "oe")) and word != "be":
        return word[:-1] + "ing"
    return (word + word[-1] if word in _DOUBLING else word) + "ing"


def article(phrase: str) -> str:
    """The phrase behind a or an, by its first letter (and the usual exceptions)."""
    lower = phrase.lower()
    consonant = lower.startswith(("uni", "use", "eu", "one", "usual"))
    vowel = lower.startswith(("hour", "honest", "honour", "heir"))
    return f"{'an' if vowel or (lower[0] in _VOWELS and not consonant) else 'a'} {phrase}"


_NOUN_FORMS = {"s": plural}
_VERB_FORMS = {"es": present, "ed": past, "en": participle, "ing": gerund}


@cache
def transform(phrase: str, name: str) -> str:
    """Apply a grammar filter: s to the last word, es ed en ing to the first, a cap low up to all.

    Raises ValueError for an unknown filter.
    """
    if name in _NOUN_FORMS:
        head, space, last = phrase.rpartition(" ")
        return head + space + _NOUN_FORMS[name](last)
    if name in _VERB_FORMS:
        first, space, rest = phrase.partition(" ")
        return _VERB_FORMS[name](first) + space + rest
    if name == "a":
        return article(phrase)
    if name == "cap":
        return phrase[:1].upper() + phrase[1:]
    if name == "low":
        return phrase[:1].lower() + phrase[1:]
    if name == "up":
        return phrase.upper()
    raise ValueError(f"unknown filter {name!r}")
