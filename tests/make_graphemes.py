"""Write workflow/report/graphemes.js: which characters make grapheme clusters for `tokenizers`.

The classes are those of Unicode Standard Annex 29, taken from the `regex` package and cut back to
what the `tokenizers` at hand knows, which may be an older Unicode: probes ask its normaliser about
every character. `test_paper_playground.py` asks the written page the same; when they disagree, run

    python tests/make_graphemes.py > workflow/report/graphemes.js
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tokenizers import normalizers

CHARACTERS = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
ACUTE = "\u0301"
# What `tokenizers` knows a class by. The rest of a class's name is Unicode's.
PATTERNS = {
    "control": r"[\p{GCB=Control}\r\n]",
    "bound": r"[\p{GCB=Extend}--\p{InCB=Linker}--\p{InCB=Extend}]",
    "extend": r"[\p{GCB=Extend}&&\p{InCB=Extend}]",
    "joiner": r"\p{GCB=ZWJ}",
    "spacing": r"\p{GCB=SpacingMark}",
    "regional": r"\p{GCB=Regional_Indicator}",
    "leading": r"\p{GCB=L}",
    "vowel": r"\p{GCB=V}",
    "trailing": r"\p{GCB=T}",
}
HEADER = """\
// Classes of characters by which text falls into grapheme clusters (Unicode Standard Annex 29),
// in the version that the library's normaliser knows; written by tests/make_graphemes.py.
// Ranges in base 36: characters left out since the last range, then, after a point, how many more
// than one follow. Hangul syllables are told from their number and stand in no class here.
"""


class Probe(NamedTuple):
    """A way to ask a normaliser about a character.

    key: what the normaliser maps to "b". Clusters of up to 5 bytes that begin with it become "b"
    as a whole; in longer ones each character is mapped for itself.
    around: the text before and after the character. says_yes: tells by the result.
    """

    key: str
    before: str
    after: str
    says_yes: Callable[[str], bool]


def _as_one(result: str) -> bool:
    return result == "b"


def _apart(result: str) -> bool:
    return result.endswith("b" + ACUTE)


PROBES = {
    "attached": Probe("a", "a", "", _as_one),
    "prepend": Probe("a", "", "a" + ACUTE, _apart),
    "consonant": Probe("क", "", "\u094dक" + ACUTE, _apart),
    "linker": Probe("क", "त", "क" + ACUTE, _apart),
    "between_consonants": Probe("क", "त\u094d", "क" + ACUTE, _apart),
    "pictograph": Probe("™", "", "\u200d™" + ACUTE, _apart),
    "between_pictographs": Probe("™", "☺", "\u200d™" + ACUTE, _apart),
    "not_prepended": Probe("\u0600", "\u0600", "", _as_one),
}


def one_rule_map(key: str, value: str) -> bytes:
    """Return a precompiled character map that turns `key` into `value` and nothing else.

    It is a double array: bits 10 up of a unit are the offset to its children, bit 8 says that a key
    ends there, the low byte is the unit's own label; a leaf holds the place of the value.
    """
    data = key.encode()
    units = [0] * (256 * (len(data) + 2))
    units[0], node = 256 << 10, 256
    for number, byte in enumerate(data):
        place, children = node ^ byte, 256 * (number + 1)
        units[place] = (place ^ children) << 10 | (number == len(data) - 1) << 8 | byte
        node = children
    units[node] = 1 << 31
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + value.encode() + b"\0"


def found_by(probe: Probe) -> set[str]:
    """Return the characters that `tokenizers` says yes to, without those of the probe itself."""
    normalize = normalizers.Precompiled(one_rule_map(probe.key, "b")).normalize_str
    return {
        character
        for character in CHARACTERS
        if character not in probe.key + ACUTE
        and probe.says_yes(normalize(probe.before + character + probe.after))
    }


def classes() -> dict[str, list[str]]:
    """Return the characters of every class, in order; no character is in two."""
    import regex

    attached = found_by(PROBES["attached"]) | {ACUTE}
    prepend = found_by(PROBES["prepend"])
    linker = (found_by(PROBES["linker"]) & attached) - prepend
    probed = {
        "prepend": prepend,
        "linker": linker,
        "consonant": found_by(PROBES["consonant"]) | {"क"},
        "pictograph": found_by(PROBES["pictograph"]) | {"™"},
    }
    members = {
        name: set(regex.findall(p, "".join(CHARACTERS), regex.V1)) for name, p in PATTERNS.items()
    }
    for name in ("bound", "extend", "joiner", "spacing"):
        members[name] &= attached
    members["extend"] -= linker
    taken = [character for group in (members | probed).values() for character in group]
    assert len(taken) == len(set(taken)), "a character is in two classes"
    return {name: sorted(group) for name, group in (members | probed).items()}


def ranges(characters: Iterable[str]) -> str:
    """Return characters in order as `GAP.MORE` in base 36, where `.MORE` may be missing."""
    found: list[list[int]] = []
    for code in map(ord, characters):
        if found and code == found[-1][1]:
            found[-1][1] += 1
        else:
            found.append([code, code + 1])
    ends = [0, *(end for _, end in found)]
    return " ".join(
        _base36(start - last) + (f".{_base36(end - start - 1)}" if end > start + 1 else "")
        for (start, end), last in zip(found, ends, strict=False)
    )


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return digits[number] if number < 36 else _base36(number // 36) + digits[number % 36]


def source() -> str:
    """Return the text of the file."""
    lines = [f'  {name}: "{ranges(group)}",' for name, group in classes().items()]
    return HEADER + "\n".join(["const GRAPHEME_CLASSES = {", *lines, "};", ""])


if __name__ == "__main__":
    print(source(), end="")
