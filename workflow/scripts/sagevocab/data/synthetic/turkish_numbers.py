"""Turkish numbers in digits: their suffixes follow the number as it is read aloud."""

from __future__ import annotations

from sagevocab.data.synthetic.turkish_phonology import Stem, attach

_DIGITS = ("sıfır", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz")
_TENS = ("on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan")
_POWERS = (("milyar", 9), ("milyon", 6), ("bin", 3), ("yüz", 2))


def last_number_word(number: int) -> str:
    """Last word of a number read aloud, which decides its suffixes (1923'te, 1990'da)."""
    if number % 10 or number == 0:
        return _DIGITS[number % 10]
    if number % 100:
        return _TENS[number % 100 // 10 - 1]
    for word, zeros in _POWERS:
        if number % 10**zeros == 0:
            return word
    raise ValueError(f"no reading for {number}")


def number(value: int, suffix: str) -> str:
    """A number in digits with a suffix behind an apostrophe: number(1923, "DA") is 1923'te."""
    word = last_number_word(value)
    joined = attach(Stem(word, word), suffix).form
    return f"{value}'{joined[len(word) :]}"
