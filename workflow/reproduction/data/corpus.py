"""Lines of text: read from any compression, cut into sentences, cleaned, sampled and written.

A corpus is a UTF-8 file with one sentence or short text per line. Everything here works on streams:
memory does not grow with the corpus, except for eight bytes per line while lines are sampled.
"""

from __future__ import annotations

import hashlib
import logging
import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from sagevocab.corpus.text import read_lines, write_lines
from sagevocab.errors import UserError

log = logging.getLogger(__name__)


# --- sentences


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, which is written as one for the reader's sake."""
    return frozenset(text.split())


# Words whose full stop does not end a sentence, English and Turkish, in lower case.
ABBREVIATIONS = word_set(
    """
    mr mrs ms dr prof st sr jr rev hon gen col lt sgt capt cmdr adm gov rep pres mt ft vs cf ca
    approx eg ie e.g i.e al fig figs vol vols pp ed eds trans viz op cit dept univ jan feb mar
    apr jun jul aug sep sept oct nov dec b d c r fl sn doç yrd ord av op uzm alb yzb tğm bnb org
    arş gör öğr hz bkz örn çev haz ör mah cad apt blv tel faks müh ecz vet bşk gnl krş m.ö m.s ö
    """
)
# Words whose full stop does not end a sentence before a number: "No. 5", "p. 12".
_NUMBERED = word_set("no nos p s n nr sec ch art par chap str md mad")
# Marks that end a sentence whatever follows: Armenian, Arabic, Urdu, Syriac, Devanagari and its
# neighbours, Burmese, Ethiopic, Khmer, Mongolian, Tibetan, Chinese and Japanese.
_FULL_STOPS = "։؟۔܀܁܂।॥။።፧፨។៕᠃᠉།༎。｡！？"
_CLOSING = "\"'”’»)\\]」』）】》〉”"
_OPENING = "\"'“‘«(\\[¿¡「『（【《〈"
_END = re.compile(
    rf"(?P<mark>[.!?…]+)(?P<closed>[{_CLOSING}]*)\s+(?=(?P<dash>[–—]\s?)?[{_OPENING}]*(?P<next>\S))"
    rf"|[{_FULL_STOPS}][{_FULL_STOPS}.!?…]*(?P<quoted>[{_CLOSING}]*)(?P<space>\s*)"
)
# Letters without capitals: Unicode gives those of Georgian, which begin no sentence.
_GEORGIAN = re.compile("[\u10d0-\u10ff]")
# Scripts that write no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
)
_UNSPACED = re.compile(f"[{UNSPACED}]")
_DEGREES = ("°C", "°F")
_LAST_WORD = re.compile(r"[\w.'’-]*$")
# In Hebrew a quotation mark stands before the last letter of an acronym: ארה"ב, צה״ל.
_HEBREW_ACRONYM = re.compile('[א-ת]["״][א-ת]$')
_ORDINAL = re.compile(r"(\d{1,2}|[IVXLCDM]+)$")
# Languages that write ordinal numbers with a full stop: "2. Dünya Savaşı", "14. Juli".
_ORDINAL_LANGUAGES = word_set("tr az de da nb nn no fi et hu cs sk sl hr sr bs pl lv is")


def split_sentences(text: str, language: str = "") -> list[str]:
    """Cut a paragraph into its sentences.

    After `. ! ? …` a sentence begins with a space and a capital, a digit or a letter of a script
    that has no capitals. Full stops after initials and known abbreviations end no sentence; nor
    does one after a one- or two-digit or Roman number in a language that writes ordinals so
    ("II. Mehmed"). The full stops of other scripts end one by themselves, but for a quotation
    that its sentence continues after (「はい。」と). Quotes, brackets and the dash of a dialogue
    may be between. Joined by the white space between them, the sentences are the paragraph.
    """
    sentences, start = [], 0
    ordinals = language in _ORDINAL_LANGUAGES
    for match in _END.finditer(text):
        if match["mark"] is None:
            ends, end = not match["quoted"] or bool(match["space"]), match.start("space")
        else:
            ends, end = _ends_sentence(text, match, ordinals), match.end("closed")
        if ends:
            sentences.append(text[start:end])
            start = match.end()
    sentences.append(text[start:])
    return [sentence for sentence in sentences if sentence.strip()]


def _has_no_capital(letter: str) -> bool:
    return letter.isalpha() and (
        letter.lower() == letter.upper() or _GEORGIAN.match(letter) is not None
    )


def _ends_sentence(text: str, match: re.Match, ordinals: bool) -> bool:
    following = match["next"]
    is_capital = following.isupper() or following.istitle() or _has_no_capital(following)
    if not (is_capital or (following.isdigit() and not match["dash"])):
        return False
    if match["mark"] != "." or match["closed"]:
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 40), match.start())[0]
    if text.endswith(_DEGREES, 0, match.start()):
        return True
    word = word.lstrip("'’-")
    if word.lower() in ABBREVIATIONS or (ordinals and _ORDINAL.match(word)):
        return False
    if following.isdigit() and word.lower() in _NUMBERED:
        return False
    last = word.rpartition(".")[2]  # of a row of initials: "J.R", "U.S"
    if len(last) != 1 or last == "I":
        return True
    if _HEBREW_ACRONYM.search(text, max(0, match.start() - 3), match.start()):
        return True
    return not (last.isupper() or _is_initial(last))


def _is_initial(letter: str) -> bool:
    """Whether a letter of a script without capitals may stand for a name; a syllable does not."""
    return _has_no_capital(letter) and not _UNSPACED.match(letter)


# --- cleaning

# Invisible characters that split a word for a tokenizer, but not for a reader.
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F)])
_MARKUP = re.compile(
    r"\ufffc|\{\{|\}\}|-\{|\}-|\[\[|\]\]|\{\||\||</?[a-zA-Z]|''|==|&[a-z]+;|__[A-Z]+__|\\[a-z]+"
)
_STARTED = re.compile(rf"[^\W_]|[{_OPENING}–—$€£#+-]")
_FINISHED = re.compile(rf"[.!?…{_FULL_STOPS}][{_CLOSING}]*$")
_CHARACTERS_A_WORD = 2  # of those


def clean_line(line: str) -> str:
    """Strip a line, make every run of white space one space, drop invisible characters."""
    return " ".join(line.translate(_INVISIBLE).split())


def is_clean_sentence(sentence: str, min_words: int) -> bool:
    """Whether extraction left a whole sentence: long enough, ended, without remains of markup."""
    return (
        _words(sentence) >= min_words
        and _STARTED.match(sentence) is not None
        and _FINISHED.search(sentence) is not None
        and _MARKUP.search(sentence) is None
    )


def _words(sentence: str) -> int:
    """Return the number of words: by spaces, by characters in a script that has none."""
    spaced = sentence.count(" ") + 1
    if sentence.isascii():
        return spaced
    return spaced + len(_UNSPACED.findall(sentence)) // _CHARACTERS_A_WORD


# --- sampling


def sample_corpus(
    source: str | Path,
    train: str | Path,
    heldout: str | Path | None,
    *,
    lines: int | None,
    heldout_lines: int = 0,
    shuffle: bool = False,
    seed: int,
    key: str,
) -> tuple[int, int]:
    """Write a seeded sample of distinct lines, and others held out from it; return both counts.

    lines: how many to train on; None takes all that are not held out. shuffle: put those in a
    seeded random order instead of the source's order, in memory.
    key: configuration key of the corpus, for the message.

    Raises:
        UserError: the corpus has fewer distinct lines than asked for.
    """
    digests = array("Q", map(line_digest, read_lines(source)))
    first = first_occurrences(np.frombuffer(digests, dtype=np.uint64))
    if lines is None and 0 < len(first) <= heldout_lines:
        raise UserError(
            f"config key {key}.heldout_lines: {heldout_lines} of {len(first)} distinct lines "
            "leave none to train on; lower it"
        )
    check_enough(source, len(first), (1 if lines is None else lines) + heldout_lines, key)
    chosen, kept_out = choose_lines(first, lines, heldout_lines, seed)
    log.info(
        "%s: %d lines, %d distinct, %d sampled, %d held out",
        *(source, len(digests), len(first), len(chosen), len(kept_out)),
    )
    training = _lines_at(source, chosen)
    write_lines(train, _shuffled(training, seed) if shuffle else training)
    if heldout is not None:
        write_lines(heldout, _lines_at(source, kept_out))
    return len(chosen), len(kept_out)


def line_digest(line: str) -> int:
    """Return a number that stands for a line."""
    # 64 bits: among 10^8 lines the chance that two different ones look equal is 3 in 10,000.
    return int.from_bytes(hashlib.blake2b(line.encode("utf-8"), digest_size=8).digest(), "little")


def first_occurrences(digests: np.ndarray) -> np.ndarray:
    """Positions of each distinct value's first occurrence, ascending."""
    return np.sort(np.unique(digests, return_index=True)[1])


def check_enough(source: str | Path, distinct: int, wanted: int, key: str) -> None:
    """Refuse a text that has fewer distinct lines than are wanted.

    key: configuration key of the text.

    Raises:
        UserError: it has fewer.
    """
    if distinct == 0:
        raise UserError(f"{source}: has no lines; check the source of {key}")
    if distinct < wanted:
        raise UserError(
            f"config key {key}.lines: the text has {distinct} distinct lines, fewer than the "
            f"{wanted} wanted (lines + heldout_lines); lower them, or set `lines: null` for all"
        )


def choose_lines(
    candidates: np.ndarray, count: int | None, heldout: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw `heldout` and then `count` (None: all the rest) of `candidates`; both ascending.

    The held-out lines depend on the seed and the corpus only, not on `count`.
    """
    order = np.random.default_rng(seed).permutation(len(candidates))
    end = None if count is None else heldout + count
    return np.sort(candidates[order[heldout:end]]), np.sort(candidates[order[:heldout]])


def _shuffled(lines: Iterable[str], seed: int) -> list[str]:
    held = list(lines)
    return [held[i] for i in np.random.default_rng(seed).permutation(len(held))]


def _lines_at(path: str | Path, positions: np.ndarray) -> Iterator[str]:
    """Lines of a file at ascending positions, counted from 0."""
    wanted = iter(positions.tolist())
    following = next(wanted, None)
    for position, line in enumerate(read_lines(path)):
        if following is None:
            return
        if position == following:
            yield line
            following = next(wanted, None)
