"""Turkish sound changes: how a suffix and the stem before it shape each other.

Suffixes are written with archiphonemes, as grammars of Turkish do:

- ``A`` is a or e, ``I`` is ı, i, u or ü (vowel harmony);
- ``D`` is d or t, ``C`` is c or ç (voicing assimilation);
- a final ``K`` is k, and ğ before a vowel (-lIK, -DIK, -AcAK);
- ``(y) (n) (s)`` appear after a vowel only, ``(I) (A)`` after a consonant only.

A stem that changes before a vowel (kitap, kitab-ı; ağız, ağz-ı; hak, hakk-ı; git, gid-er;
su, suy-u) carries its second form; everything else follows from the letters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_FRONT_UNROUNDED, _FRONT_ROUNDED = "eiEİîÎ", "öüÖÜ"
_BACK_UNROUNDED, _BACK_ROUNDED = "aıAIâÂ", "ouOUûÛ"
VOWELS = frozenset(_FRONT_UNROUNDED + _FRONT_ROUNDED + _BACK_UNROUNDED + _BACK_ROUNDED)
_VOICELESS = frozenset("fstkçşhpFSTKÇŞHP")
_HIGH_VOWEL = {
    **dict.fromkeys(_FRONT_UNROUNDED, "i"),
    **dict.fromkeys(_FRONT_ROUNDED, "ü"),
    **dict.fromkeys(_BACK_UNROUNDED, "ı"),
    **dict.fromkeys(_BACK_ROUNDED, "u"),
}
_LOW_VOWEL = {vowel: "e" if vowel in _FRONT_UNROUNDED + _FRONT_ROUNDED else "a" for vowel in VOWELS}
_FRONTED = {"a": "e", "â": "e", "ı": "i", "o": "ö", "u": "ü", "û": "ü"}
_SOFTENED = {"k": "ğ", "p": "b", "ç": "c"}


@dataclass(frozen=True, slots=True)
class Stem:
    """A root or a word in the making.

    form: as it stands alone or before a consonant.
    soft: as it stands before a vowel or a buffer letter.
    front: takes front vowels although its last vowel is a back one (saat, saatler).
    proper: suffixes follow behind an apostrophe, and the name keeps its letters.
    possessed: ends in a third person possessive, so that case suffixes take n (evi, evinde).
    """

    form: str
    soft: str
    front: bool = False
    proper: bool = False
    possessed: bool = False

    def __str__(self) -> str:
        """The word as it stands alone."""
        return self.form


def count_vowels(text: str) -> int:
    """Number of vowels, which in Turkish is the number of syllables."""
    return sum(letter in VOWELS for letter in text)


def soften(form: str) -> str:
    """The form before a vowel that the letters alone suggest: polysyllables in k, p, ç soften."""
    if count_vowels(form) < 2 or form[-1] not in _SOFTENED:
        return form
    if form.endswith("nk"):
        return form[:-1] + "g"
    return form[:-1] + _SOFTENED[form[-1]]


def parse_stem(entry: str, *, proper: bool = False) -> Stem:
    """Read a lexicon entry ``form[/soft][!][+]``.

    ``!`` marks front harmony against the last vowel, ``+`` a compound that ends in a possessive;
    underscores stand for spaces.
    """
    form, _, soft = entry.rstrip("!+").replace("_", " ").partition("/")
    soft = form if proper else soft or soften(form)
    return Stem(form, soft, front="!" in entry, proper=proper, possessed=entry.endswith("+"))


@cache
def attach(stem: Stem, suffix: str) -> Stem:
    """Join one suffix, written with archiphonemes, to a stem."""
    if suffix == "":
        return stem
    if stem.proper:
        return _attach_to_name(stem, suffix)
    base, body = _join_point(stem, suffix)
    form = base + _render(base, body, front=stem.front)
    possessed = suffix in ("(s)I", "lArI")
    if body.endswith("K"):
        return Stem(form, form[:-1] + "ğ", possessed=possessed)
    return Stem(form, form, possessed=possessed)


def derive(stem: Stem, suffix: str) -> Stem:
    """Join a derivational suffix: no apostrophe at names (İzmir, İzmirli)."""
    return attach(Stem(stem.form, stem.soft, stem.front), suffix)


def _attach_to_name(name: Stem, suffix: str) -> Stem:
    joined = attach(Stem(name.form, name.form, name.front), suffix)
    start = len(name.form)
    return Stem(
        f"{name.form}'{joined.form[start:]}",
        f"{name.form}'{joined.soft[start:]}",
        possessed=joined.possessed,
    )


def _join_point(stem: Stem, suffix: str) -> tuple[str, str]:
    """The form of the stem to use, and the suffix without brackets."""
    if suffix.startswith("Iyor") and stem.form[-1] in VOWELS:
        return _narrowed(stem.form), suffix
    if suffix[0] != "(":
        starts_with_vowel = suffix[0] in "AI" or suffix[0] in VOWELS
        return (stem.soft if starts_with_vowel else stem.form), suffix
    buffer, body = suffix[1], suffix[3:]
    after_vowel = stem.soft[-1] in VOWELS
    kept = after_vowel != (buffer in "AI")
    if kept:
        body = buffer + body
    # su- and ne- keep the y of their second form before a consonant too (suyla).
    takes_soft = body[0] in "AI" or stem.form[-1] in VOWELS
    return (stem.soft if takes_soft else stem.form), body


def _narrowed(form: str) -> str:
    """Stem before -Iyor: anla, anl-ıyor; one-vowel stems keep their consonant: de, d-iyor."""
    return form[:-1]


def _render(base: str, body: str, *, front: bool) -> str:
    vowel = next((letter for letter in reversed(base) if letter in VOWELS), "e")
    vowel = _FRONTED.get(vowel, vowel) if front else vowel
    previous, rendered = base[-1], []
    for symbol in body:
        letter = _letter(symbol, vowel, previous)
        if letter in VOWELS:
            vowel = letter
        previous = letter
        rendered.append(letter)
    return "".join(rendered)


def _letter(symbol: str, vowel: str, previous: str) -> str:
    if symbol == "A":
        return _LOW_VOWEL[vowel]
    if symbol == "I":
        return _HIGH_VOWEL[vowel]
    if symbol == "D":
        return "t" if previous in _VOICELESS else "d"
    if symbol == "C":
        return "ç" if previous in _VOICELESS else "c"
    return "k" if symbol == "K" else symbol


def capitalize(text: str) -> str:
    """Upper-case the first letter by Turkish rules (i to İ, ı to I)."""
    if not text:
        return text
    first = {"i": "İ", "ı": "I"}.get(text[0], text[0].upper())
    return first + text[1:]
