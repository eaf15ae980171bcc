"""Lines to segment on a page."""

from __future__ import annotations

import random
import unicodedata

from reproduction.data.conllu import read_conllu
from reproduction.data.packages import package_file

CHARACTERS = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]


def turkish(count: int, seed: int) -> list[str]:
    """Sentences of the Turkish treebank that a package ships."""
    sentences = read_conllu(package_file("turkish-treebanks:data/wiki.conllu"))
    return random.Random(seed).sample([sentence.text for sentence in sentences], count)


def spoilt(lines: list[str], seed: int) -> list[str]:
    """Lines with odd characters in odd places: all of Unicode, and what clusters are made of."""
    rng = random.Random(seed)
    marks = [c for c in CHARACTERS[:0x3000] if unicodedata.category(c) in ("Mn", "Mc", "Cf", "Cc")]
    kinds = [
        marks,
        CHARACTERS,
        list("\r\n\t \u00a0\u2028▁ﬁ½™Ⅷ\u200d\u1100\u1161\u11a8가각क्षด👩🏽🇹🇷"),
    ]
    spoilt_lines = []
    for line in lines:
        characters = list(line[:160])
        for _ in range(rng.randint(1, 8)):
            place = rng.randint(0, len(characters))
            characters[place:place] = rng.choices(rng.choice(kinds), k=rng.randint(1, 3))
        spoilt_lines.append("".join(characters))
    return spoilt_lines
