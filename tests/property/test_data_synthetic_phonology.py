"""Vowel harmony and assimilation hold for every root and suffix of the synthetic Turkish."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sagevocab.data.synthetic.turkish_lexicon import load_lexicon
from sagevocab.data.synthetic.turkish_morphology import CASES, PERSONS, POSSESSIVES, finite, noun
from sagevocab.data.synthetic.turkish_phonology import VOWELS, Stem

_LEXICON = load_lexicon()
_ROOTS = sorted(
    {stem for nouns in _LEXICON.nouns.values() for stem in nouns.items}, key=lambda stem: stem.form
)
_VERBS = sorted(
    {
        verb
        for frames in _LEXICON.frames.values()
        for frame in frames.items
        for verb in frame.verbs.items
    },
    key=lambda verb: verb.stem.form,
)
_FRONT = set("eiöü")
_VOICELESS = set("fstkçşhp")


def _frontness(text: str) -> list[bool]:
    return [letter in _FRONT for letter in text if letter in VOWELS]


@given(
    st.sampled_from(_ROOTS),
    st.booleans(),
    st.sampled_from([None, *POSSESSIVES]),
    st.sampled_from(sorted(CASES)),
)
def test_suffix_vowels_harmonise_with_the_last_vowel_of_the_root(root, plural, possessor, case):
    form = noun(root, plural=plural, possessor=possessor, case=case).form
    front = root.front or _frontness(root.form)[-1]
    kept = min(len(root.form), len(root.soft))
    assert all(vowel == front for vowel in _frontness(form[kept:]))


@given(st.sampled_from(_ROOTS), st.sampled_from(["loc", "abl"]))
def test_d_follows_voiced_sounds_and_t_voiceless_ones(root, case):
    form = noun(root, case=case).form
    first = form[len(root.form)]
    assert first == ("t" if root.form[-1] in _VOICELESS else "d")


@given(st.sampled_from(_ROOTS), st.sampled_from(["acc", "dat", "gen"]))
def test_no_two_vowels_meet_at_a_suffix(root, case):
    form = noun(root, case=case).form
    cut = len(root.soft)
    assert not (form[cut - 1] in VOWELS and form[cut] in VOWELS)


@given(
    st.sampled_from(_VERBS),
    st.sampled_from(["past", "progressive", "future", "aorist", "evidential", "necessity"]),
    st.sampled_from(PERSONS),
    st.booleans(),
)
def test_finite_verbs_have_no_archiphonemes_and_no_vowel_clashes(verb, tense, person, negative):
    word = finite(verb, tense, person, negative=negative).form.rsplit(" ", 1)[-1]
    assert word == word.lower()
    pairs = zip(word, word[1:], strict=False)
    assert not any(a in VOWELS and b in VOWELS for a, b in pairs)


def test_stems_are_hashable_values():
    assert len({Stem("ev", "ev"), Stem("ev", "ev")}) == 1
