"""Turkish inflection: the order of suffixes on nouns, verbs and numerals.

A noun is root (+ plural) (+ possessive) (+ case); a verb is root (+ voice) (+ ability or negation)
+ tense (+ copula) + person, or a verbal noun, participle or converb. Every function returns a Stem,
so that words can be built further (okul, okulda, okuldaki, okuldakiler).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sagevocab.data.synthetic.turkish_phonology import (
    VOWELS,
    Stem,
    attach,
    count_vowels,
    parse_stem,
)

PERSONS = ("1sg", "2sg", "3sg", "1pl", "2pl", "3pl")
POSSESSIVES = {
    "1sg": "(I)m",
    "2sg": "(I)n",
    "3sg": "(s)I",
    "1pl": "(I)mIz",
    "2pl": "(I)nIz",
    "3pl": "lArI",
}
CASES = {
    "nom": "",
    "acc": "(y)I",
    "dat": "(y)A",
    "loc": "DA",
    "abl": "DAn",
    "gen": "(n)In",
    "ins": "(y)lA",
    "equ": "CA",
}
_CASES_OF_POSSESSED = {
    "acc": "nI",
    "dat": "nA",
    "loc": "nDA",
    "abl": "nDAn",
    "gen": "nIn",
    "equ": "nCA",
}

TENSES = {
    "past": "DI",
    "evidential": "mIş",
    "progressive": "Iyor",
    "future": "(y)AcAK",
    "necessity": "mAlI",
    "conditional": "sA",
    "formal": "mAktA",
}
COPULAS = {"past": "(y)DI", "evidential": "(y)mIş", "conditional": "(y)sA", "assertive": "DIr"}
_PERSON_AFTER_PAST = {"1sg": "m", "2sg": "n", "3sg": "", "1pl": "k", "2pl": "nIz", "3pl": "lAr"}
_PERSON_AFTER_TENSE = {
    "1sg": "(y)Im",
    "2sg": "sIn",
    "3sg": "",
    "1pl": "(y)Iz",
    "2pl": "sInIz",
    "3pl": "lAr",
}
_IMPERATIVE = {"2sg": "", "3sg": "sIn", "2pl": "(y)In", "3pl": "sInlAr"}
_OPTATIVE = {"1sg": "(y)AyIm", "1pl": "(y)AlIm"}

VERBALS = {
    "infinitive": "mAK",
    "action": "mA",
    "manner": "(y)Iş",
    "agent": "(y)IcI",
    "subject": "(y)An",
    "object": "DIK",
    "prospective": "(y)AcAK",
    "perfect": "mIş",
    "and": "(y)Ip",
    "by": "(y)ArAK",
    "when": "(y)IncA",
    "without": "mAdAn",
    "whenever": "DIkçA",
    "since": "(y)AlI",
}


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb root with what its letters don't tell.

    stem: the root, with its form before vowels (git, gid).
    aorist: the aorist's vowel in the suffix notation: "A" (gider) or "I" (gelir).
    causative, passive: irregular derived roots (çık, çıkar; anla, anlaşıl), or None.
    """

    stem: Stem
    aorist: str
    causative: str | None = None
    passive: str | None = None


def parse_verb(entry: str) -> Verb:
    """Read an entry ``root[/soft][:I][>causative][<passive]``; ``:I`` is an aorist in -Ir."""
    rest, _, passive = entry.partition("<")
    rest, _, causative = rest.partition(">")
    rest, _, aorist = rest.partition(":")
    form, _, soft = rest.replace("_", " ").partition("/")
    if form.endswith((" et", " git")):  # light verbs soften as et- and git- do alone
        soft = form[:-1] + "d"
    syllables = count_vowels(form.rsplit(" ", 1)[-1])
    stem = Stem(form, soft or form)
    return Verb(
        stem, aorist or ("A" if syllables == 1 else "I"), causative or None, passive or None
    )


@cache
def noun(
    stem: Stem, *, plural: bool = False, possessor: str | None = None, case: str = "nom"
) -> Stem:
    """Inflect a noun. A plural owned by "3pl" has one lAr only (evleri: his, her, their houses)."""
    if plural:
        stem = attach(stem, "lAr")
    if possessor == "3pl" and plural:
        possessor = "3sg"
    if possessor:
        stem = attach(stem, POSSESSIVES[possessor])
    return with_case(stem, case)


def with_case(stem: Stem, case: str) -> Stem:
    """Add a case suffix; after a third person possessive it begins with n (evinde)."""
    if stem.possessed and case in _CASES_OF_POSSESSED:
        return attach(stem, _CASES_OF_POSSESSED[case])
    return attach(stem, CASES[case])


def relational(stem: Stem) -> Stem:
    """Add -ki to a locative or genitive (okuldaki, bizimki); its cases take n (okuldakinde)."""
    form = attach(stem, "ki").form
    return Stem(form, form, possessed=True)


def inflect_noun(
    entry: str, *, plural: bool = False, possessor: str | None = None, case: str = "nom"
) -> str:
    """Inflect a noun given as a lexicon entry: ``inflect_noun("ağız/ağz", case="acc") == "ağzı"``.

    possessor: one of PERSONS or None. case: a key of CASES.
    """
    return noun(parse_stem(entry), plural=plural, possessor=possessor, case=case).form


@cache
def verb_stem(
    verb: Verb, voice: str = "active", ability: bool = False, negative: bool = False
) -> Stem:
    """Root with voice (active, passive, causative, causative passive), ability, negation."""
    stem = _with_voice(verb, voice)
    if ability and negative:
        return attach(attach(stem, "(y)A"), "mA")
    if ability:
        return attach(stem, "(y)Abil")
    return attach(stem, "mA") if negative else stem


def _with_voice(verb: Verb, voice: str) -> Stem:
    stem = verb.stem
    if voice.startswith("causative"):
        causative = verb.causative
        stem = (
            Stem(causative, causative) if causative else attach(stem, _causative_suffix(stem.form))
        )
    if not voice.endswith("passive"):
        return stem
    if voice == "passive" and verb.passive:
        return Stem(verb.passive, verb.passive)
    return attach(stem, _passive_suffix(stem.form))


def _causative_suffix(form: str) -> str:
    last = form.rsplit(" ", 1)[-1]
    takes_t = count_vowels(last) > 1 and (last[-1] in VOWELS or last[-1] in "lr")
    return "t" if takes_t else "DIr"


def _passive_suffix(form: str) -> str:
    if form[-1] in VOWELS:
        return "n"
    return "In" if form[-1] == "l" else "Il"


@cache
def finite(
    verb: Verb,
    tense: str,
    person: str = "3sg",
    *,
    voice: str = "active",
    ability: bool = False,
    negative: bool = False,
    copula: str | None = None,
) -> Stem:
    """A finite verb. tense: a key of TENSES, "aorist", "imperative" or "optative".

    copula: a key of COPULAS, the second layer of gelecek-miş-ti, or None.
    """
    stem = verb_stem(verb, voice, ability, negative)
    if tense == "imperative":
        return attach(stem, _IMPERATIVE[person])
    if tense == "optative":
        return attach(stem, _OPTATIVE[person])
    if tense == "aorist" and negative and copula is None and person in ("1sg", "1pl"):
        return attach(stem, "m" if person == "1sg" else "yIz")
    stem = (
        attach(stem, _aorist_suffix(verb, stem, voice, ability, negative))
        if tense == "aorist"
        else (attach(stem, TENSES[tense]))
    )
    if copula is None:
        return attach(stem, _ending(tense in ("past", "conditional"), person))
    return _with_copula(stem, copula, person)


def _aorist_suffix(verb: Verb, stem: Stem, voice: str, ability: bool, negative: bool) -> str:
    if negative:
        return "z"
    if stem.form[-1] in VOWELS:
        return "r"
    if voice == "active" and not ability:
        return f"{verb.aorist}r"
    return "Ar" if count_vowels(stem.form) == 1 else "Ir"


def _ending(after_past: bool, person: str) -> str:
    return (_PERSON_AFTER_PAST if after_past else _PERSON_AFTER_TENSE)[person]


def _with_copula(stem: Stem, copula: str, person: str) -> Stem:
    if person == "3pl":  # geliyor-lar-dı, but gelmekte-dir-ler
        if copula == "assertive" and stem.form.endswith(("makta", "mekte")):
            return attach(attach(stem, "DIr"), "lAr")
        return attach(attach(stem, "lAr"), COPULAS[copula])
    stem = attach(stem, COPULAS[copula])
    return attach(stem, _ending(copula in ("past", "conditional"), person))


@cache
def verbal(
    verb: Verb,
    kind: str,
    *,
    voice: str = "active",
    ability: bool = False,
    negative: bool = False,
    possessor: str | None = None,
    case: str = "nom",
) -> Stem:
    """A verbal noun, participle or converb (a key of VERBALS), inflected as a noun."""
    stem = verb_stem(verb, voice, ability, negative)
    if stem.form == "de" and VERBALS[kind].startswith("(y)I"):
        stem = Stem("de", "de")  # deyip, deyince, though diyen, diyerek
    stem = attach(stem, VERBALS[kind])
    return noun(stem, possessor=possessor, case=case)


def while_doing(verb: Verb, *, voice: str = "active", negative: bool = False) -> Stem:
    """The converb in -(y)ken on the aorist (giderken, gitmezken); -ken keeps its vowel."""
    aorist = finite(verb, "aorist", voice=voice, negative=negative)
    return Stem(aorist.form + "ken", aorist.form + "ken")


def inflect_verb(
    entry: str,
    tense: str,
    person: str = "3sg",
    *,
    voice: str = "active",
    ability: bool = False,
    negative: bool = False,
    copula: str | None = None,
) -> str:
    """Inflect a verb given as a lexicon entry; arguments as in `finite`.

    ``inflect_verb("yap", "necessity", ability=True, copula="past") == "yapabilmeliydi"``.
    """
    return finite(
        parse_verb(entry),
        tense,
        person,
        voice=voice,
        ability=ability,
        negative=negative,
        copula=copula,
    ).form


def copula_of(stem: Stem, copula: str, person: str = "3sg") -> Stem:
    """Make a noun or adjective a predicate: güzeldir, öğretmendik, evdeymiş."""
    return _with_copula(stem, copula, person)
