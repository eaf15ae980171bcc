"""Do a tokenizer's boundaries fall between morphemes? Agreement with a list of segmented words.

A list counts only with the words that its morphemes spell letter by letter: `walk ed` is `walked`,
while `deny ed` is not `denied`, and no boundary can be placed in it without a guess.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.stats import ratio_interval
from reproduction.data.conllu import read_conllu
from reproduction.parquet import read_parquet
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import Normalizer, split_words
from sagevocab.errors import UserError
from sagevocab.pieces import WORD_START
from sagevocab.segmentation.segmenter import Segmenter

log = logging.getLogger(__name__)

Morphemes = tuple[str, ...]
CONTINUED = "@@"  # before every morpheme of a word but the first, in the lists of SIGMORPHON 2022


def read_morphemes(path: str | Path, format: str) -> dict[str, Morphemes]:
    """Return the morphemes of every word of a list that they spell, in the order of the list.

    format: `segmentation`, lines of word, tab, morphemes with spaces between them, as of the
    SIGMORPHON 2022 shared task; `derivation`, lines of base, derived word, parts of speech, affix
    (`-li`, `kilo-`), as of UniMorph: a base that is derived itself is taken apart further; or
    `conllu`, a treebank in which derivations are tokens of their own, as in the Turkish Web
    Treebank. Its list is of the words with a derivation, and holds no boundary before an
    inflection: recall says more than precision. A word with two different analyses is left out.

    Raises:
        UserError: a line has too few columns, or no word of the list is spelled by its morphemes.
    """
    analyses: dict[str, set[Morphemes]] = {}
    for word, morphemes in _READERS[format](path):
        analyses.setdefault(word, set()).add(morphemes)
    clear = {word: next(iter(found)) for word, found in analyses.items() if len(found) == 1}
    spelled = {word: parts for word, parts in clear.items() if "".join(parts) == word}
    log.info("%s: %d of %d words are spelled by their morphemes", path, len(spelled), len(analyses))
    if not spelled:
        raise UserError(f"{path}: no word is spelled by its morphemes; is its format {format!r}?")
    return spelled


def count_boundaries(
    morphemes: Mapping[str, Morphemes],
    segmenter: Segmenter,
    normalizer: Normalizer,
    *,
    max_word_chars: int,
) -> pd.DataFrame:
    """Count a tokenizer's boundaries inside the words of a list: word, placed, wanted, shared.

    A word that normalisation changes, or whose tokens do not spell it (tokenizers from elsewhere),
    is left out.
    """
    words = [word for word in morphemes if _is_plain(word, normalizer, max_word_chars)]
    placed = dict(zip(words, _boundaries(words, segmenter), strict=True))
    known = [word for word in words if placed[word] is not None]
    wanted = {word: set(_ends(map(len, morphemes[word]))) for word in known}
    return pd.DataFrame(
        {
            "word": pd.Series(known, dtype="str"),
            "placed": np.array([len(placed[word]) for word in known], dtype=np.int64),
            "wanted": np.array([len(wanted[word]) for word in known], dtype=np.int64),
            "shared": np.array(
                [len(placed[word] & wanted[word]) for word in known], dtype=np.int64
            ),
        }
    )


def boundary_agreement(counts: pd.DataFrame, *, listed: int, seed: int) -> dict[str, Any]:
    """Return precision, recall and F1 of a tokenizer's boundaries inside words, ready for JSON.

    counts: of `count_boundaries`. listed: the words of the list. Every word counts once. Intervals
    are 95 % bootstrap intervals over words; f1 = 2 * shared / (placed + wanted).
    """
    placed, wanted, shared = (counts[name].to_numpy() for name in ("placed", "wanted", "shared"))
    return {
        "listed": listed,
        "words": len(counts),
        "boundaries": int(wanted.sum()),
        "precision": ratio_interval(shared, placed, seed=seed)._asdict(),
        "recall": ratio_interval(shared, wanted, seed=seed)._asdict(),
        "f1": ratio_interval(2 * shared, placed + wanted, seed=seed)._asdict(),
    }


def read_boundaries(path: Path | str) -> pd.DataFrame:
    """Return placed, wanted and shared boundaries by word, as `count_boundaries` counted them."""
    return read_parquet(path, ["word", "placed", "wanted", "shared"]).set_index("word")


def _is_plain(word: str, normalizer: Normalizer, max_word_chars: int) -> bool:
    return split_words(normalizer(word), max_word_chars) == [WORD_START + word]


def _boundaries(words: list[str], segmenter: Segmenter) -> Iterator[set[int] | None]:
    """Yield the positions between tokens inside each word; None where tokens do not spell it."""
    ids, offsets = segmenter.segment_words([WORD_START + word for word in words])
    # An uncovered character is one token. A `▁` takes no room in the word.
    room = [len(piece.removeprefix(WORD_START)) for piece in segmenter.pieces]
    for word, (start, stop) in zip(words, pairwise(offsets.tolist()), strict=True):
        lengths = [1 if piece < 0 else room[piece] for piece in ids[start:stop].tolist()]
        yield set(_ends(lengths)) - {0} if sum(lengths) == len(word) else None


def _ends(lengths: Iterable[int]) -> list[int]:
    """Return where each part but the last ends."""
    return list(accumulate(lengths))[:-1]


def _rows(path: str | Path, columns: int) -> Iterator[list[str]]:
    for number, line in enumerate(read_lines(path), start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            continue
        if len(cells) < columns:
            raise UserError(
                f"{path}:{number}: needs {columns} columns with tabs between them; correct the "
                "line, or name the list's format in language_settings.LANGUAGE.morphology.format"
            )
        yield cells


def _segmentations(path: str | Path) -> Iterator[tuple[str, Morphemes]]:
    for word, morphemes, *_ in _rows(path, 2):
        yield word, tuple(part.removeprefix(CONTINUED) for part in morphemes.split())


def _treebank_words(path: str | Path) -> Iterator[tuple[str, Morphemes]]:
    for sentence in read_conllu(path):
        for word in sentence.words():
            if len(word) > 1:
                parts = tuple(token.form for token in word)
                yield "".join(parts), parts


def _derivations(path: str | Path) -> Iterator[tuple[str, Morphemes]]:
    steps = [(base, derived, affix) for base, derived, _, affix, *_ in _rows(path, 4)]
    bases = {derived: (base, affix) for base, derived, affix in steps}
    for base, derived, affix in steps:
        yield derived, _joined(_taken_apart(base, bases, {derived}), affix)


def _taken_apart(word: str, bases: Mapping[str, tuple[str, str]], seen: set[str]) -> Morphemes:
    """Return the morphemes of a base: itself, if no row of the list derives it by spelling."""
    if word not in bases or word in seen:
        return (word,)
    base, affix = bases[word]
    parts = _joined(_taken_apart(base, bases, seen | {word}), affix)
    return parts if "".join(parts) == word else (word,)


def _joined(base: Morphemes, affix: str) -> Morphemes:
    return (affix[:-1], *base) if affix.endswith("-") else (*base, affix.removeprefix("-"))


_READERS: dict[str, Callable[[str | Path], Iterator[tuple[str, Morphemes]]]] = {
    "segmentation": _segmentations,
    "derivation": _derivations,
    "conllu": _treebank_words,
}
