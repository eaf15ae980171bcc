"""What a vocabulary has no piece for: the characters of a text that become [UNK]."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from sagevocab.corpus.words import WordCorpus
from sagevocab.pieces import WORD_START


def unknown_characters(corpus: WordCorpus, pieces: Sequence[str]) -> dict[str, int]:
    """Return the characters of the corpus that are not pieces, and how many there are.

    The most frequent come first.
    """
    known = {WORD_START, *(piece for piece in pieces if len(piece) == 1)}
    found: Counter[str] = Counter()
    for word, count in zip(corpus.types, corpus.counts.tolist(), strict=True):
        if not known.issuperset(word):
            for character in word:
                found[character] += count
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return {character: count for character, count in ordered if character not in known}


def visible(character: str) -> str:
    """Return a character as it is, or its code point where it cannot be seen by itself."""
    is_visible = character.isprintable() and not unicodedata.combining(character)
    return character if is_visible else f"U+{ord(character):04X}"
