"""Synthetic Turkish reviews: inflected templates, then the habits of hasty writing."""

from __future__ import annotations

import random
from functools import lru_cache

from sagevocab.data.synthetic.grammar import Grammar, load_rules
from sagevocab.data.synthetic.turkish_filters import read, transform
from sagevocab.data.synthetic.turkish_phonology import capitalize

_LOWER = str.maketrans({"I": "ı", "İ": "i"})
_ASCII = str.maketrans("çğıöşüâîûÇĞİÖŞÜ", "cgiosuaiuCGIOSU")


def turkish_lower(text: str) -> str:
    """Lower case by Turkish rules (I to ı, İ to i)."""
    return text.translate(_LOWER).lower()


@lru_cache(maxsize=1)
def turkish_rules() -> dict[str, str]:
    """Nouns, adjectives and names of the Turkish lexicon as rules n_, adjective_ and name_."""
    raw = load_rules("turkish_lexicon")
    rules = {f"n_{name}": words for name, words in raw["nouns"].items()}
    rules |= {f"adjective_{name}": words for name, words in raw["adjectives"].items()}
    return rules | {f"name_{name}": words for name, words in raw["names"].items()}


@lru_cache(maxsize=1)
def _grammar() -> Grammar:
    return Grammar(turkish_rules() | load_rules("turkish_reviews"), transform, read)


class Reviewer:
    """Writes one review after another from one generator of chance."""

    def __init__(self, rng: random.Random) -> None:
        """Draw with `rng`."""
        self.rng = rng

    def review(self) -> str:
        """A review of one to four sentences, in careful, lower-case or ASCII-only spelling."""
        text = _grammar().say("review", self.rng)
        draw = self.rng.random()
        if draw < 0.35:
            return turkish_lower(text)
        if draw < 0.43:
            return turkish_lower(text).translate(_ASCII)
        return _sentence_case(text)


def _sentence_case(text: str) -> str:
    words = text.split(" ")
    ends = (i for i, word in enumerate(words[:-1]) if word[-1:] in ".!)" and not word[0].isdigit())
    starts = [0, *(i + 1 for i in ends)]
    for start in starts:
        words[start] = capitalize(words[start])
    return " ".join(words)
