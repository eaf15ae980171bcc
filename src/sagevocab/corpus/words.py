"""A corpus as word types.

A line is normalised and split at spaces, and each word gets `▁` before it. No piece crosses a
space, so words are segmented independently of each other: a corpus is its list of word types and,
line by line, the sequence of their numbers.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sagevocab.errors import UserError
from sagevocab.files import fingerprint, read_npz, write_npz
from sagevocab.pieces import WORD_START

if TYPE_CHECKING:
    from tokenizers import normalizers

# These stand here so that reading words does not load the settings, which import them.
Normalization = Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
NORMALIZATION: Normalization = "nmt_nfkc"
MAX_WORD_CHARS = 256
NORMALIZATIONS: tuple[str, ...] = get_args(Normalization)
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class Normalizer:
    """One of sentencepiece's normalisations, done by `tokenizers` as the exported tokenizers do it.

    sentencepiece's own precompiled character map; then a literal `▁` is a space (as sentencepiece
    and `Metaspace` read it), runs of spaces are one space, and white space at the ends is dropped.
    Other white space that the map left is an ordinary character: only U+0020 splits words.
    """

    def __init__(self, rule: str = NORMALIZATION) -> None:
        """Make the normaliser of sentencepiece's `rule`.

        Raises:
            UserError: sentencepiece has no such rule.
        """
        if rule not in NORMALIZATIONS:
            names = ", ".join(NORMALIZATIONS)
            raise UserError(f"vocabulary.normalization: {rule!r} is unknown; choose one of {names}")
        from tokenizers import Regex, normalizers

        self._strip = normalizers.Strip()
        self._characters = hub_normalizer(rule)
        self.backend = normalizers.Sequence(
            [self._characters, normalizers.Replace(Regex(" {2,}"), " "), self._strip]
        )
        self._keeps_ascii = self(_PRINTABLE) == _PRINTABLE

    def __call__(self, line: str) -> str:
        """Return `line` normalised."""
        return self.backend.normalize_str(line)

    def words_of_part(self, part: str, max_word_chars: int) -> list[str]:
        """Return the words of a part of a line, as `reading.read_words` gives it.

        Joined, the parts of a line give its words, for no character is mapped together with a
        space: no key of the character map begins with one, and none is a character that forms a
        cluster with the space after it. A part keeps the space before it because a mark at the
        start of a text is mapped otherwise than one after a space. What white space the map leaves
        at the ends of the line is still there.
        """
        bare = part.removeprefix(" ")
        is_short = len(bare) < max_word_chars
        if is_short and self._keeps_ascii and bare.isascii() and bare.isprintable():
            return [WORD_START + bare]
        return split_words(self._characters.normalize_str(part), max_word_chars)

    def strip(self, line: str) -> str:
        """Drop all white space at the ends of a line."""
        return self._strip.normalize_str(line)


def character_map(rule: str) -> bytes:
    """Return sentencepiece's precompiled character map for `rule`; empty for `identity`."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    normalizer = sentencepiece.SentencePieceNormalizer(rule_name=rule)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(normalizer.serialized_model_proto())
    return model.normalizer_spec.precompiled_charsmap


def hub_normalizer(rule: str, *spaces: normalizers.Normalizer) -> normalizers.Normalizer:
    """Return the normaliser of `rule` for `tokenizers`; spaces: what it does to spaces at last."""
    from tokenizers import normalizers

    charsmap = character_map(rule)
    mapped = [normalizers.Precompiled(charsmap)] if charsmap else []
    return normalizers.Sequence([*mapped, normalizers.Replace(WORD_START, " "), *spaces])


def split_words(line: str, max_word_chars: int = MAX_WORD_CHARS) -> list[str]:
    """Split a normalised line into words, each opened by `▁`.

    A word of more than `max_word_chars` characters (`▁` counts) is cut into pieces of that length,
    of which only the first has the `▁`: a greedy matcher is quadratic in the length of a word.
    """
    words = [WORD_START + word for word in line.split(" ") if word]
    if all(len(word) <= max_word_chars for word in words):
        return words
    return [
        word[start : start + max_word_chars]
        for word in words
        for start in range(0, len(word), max_word_chars)
    ]


@dataclass(frozen=True)
class WordCorpus:
    """Lines of text as word types.

    types: the distinct words, in order of first appearance.
    tokens: int32[words], for each word of the corpus the number of its type.
    line_offsets: int64[lines + 1], where each line begins in `tokens`; no line is empty.
    """

    types: list[str]
    tokens: np.ndarray
    line_offsets: np.ndarray

    @classmethod
    def from_lines(
        cls,
        lines: Iterable[str],
        normalizer: Normalizer,
        max_word_chars: int = MAX_WORD_CHARS,
    ) -> WordCorpus:
        """Read lines as the words of `split_words(normalizer(line), max_word_chars)`.

        Args:
            lines: read once, one at a time; those without a word are dropped.
            normalizer: what a line goes through.
            max_word_chars: where longer words are cut.
        """
        from sagevocab.corpus.reading import read_words  # Numba takes its time to load

        def words_of(part: str) -> list[str]:
            return normalizer.words_of_part(part, max_word_chars)

        corpus = cls(*read_words(lines, words_of))
        if not corpus._has_outer_space():
            return corpus
        stripped = map(normalizer.strip, corpus.lines())
        return cls.from_words(split_words(line, max_word_chars) for line in stripped)

    @classmethod
    def from_words(cls, lines: Iterable[list[str]]) -> WordCorpus:
        """Read lines as lists of words once, one at a time; empty ones are dropped."""
        numbers: dict[str, int] = {}
        tokens, line_offsets = array("i"), array("q", [0])
        for words in filter(None, lines):
            tokens.extend([numbers.setdefault(word, len(numbers)) for word in words])
            line_offsets.append(len(tokens))
        return cls(list(numbers), np.asarray(tokens), np.asarray(line_offsets))

    @property
    def n_lines(self) -> int:
        """Number of lines."""
        return len(self.line_offsets) - 1

    def require_words(self, name: str) -> None:
        """Refuse a text without words; name: of the text, for the message.

        Raises:
            UserError: there are none.
        """
        if not self.n_lines:
            raise UserError(f"{name}: holds no words; give a text with words")

    @cached_property
    def counts(self) -> np.ndarray:
        """int64[types]: how often each type occurs."""
        return np.bincount(self.tokens, minlength=len(self.types))

    def sample(self, lines: int, seed: int) -> WordCorpus:
        """Return a seeded sample of at most `lines` lines, in their order, with the same types."""
        if lines >= self.n_lines:
            return self
        return self._with_lines(np.random.default_rng(seed).permutation(self.n_lines)[:lines])

    def sample_words(self, words: int, seed: int) -> WordCorpus:
        """Return a seeded sample of lines of at most `words` words, with their types alone."""
        order = np.random.default_rng(seed).permutation(self.n_lines)
        total = np.cumsum(np.diff(self.line_offsets)[order])
        return self._with_lines(order[total <= words]).with_types_of_lines()

    def with_types_of_lines(self) -> WordCorpus:
        """Return the same lines without the types that are not in them."""
        kept, tokens = np.unique(self.tokens, return_inverse=True)
        types = [self.types[number] for number in kept.tolist()]
        return WordCorpus(types, tokens.astype(np.int32), self.line_offsets)

    def shuffled(self, seed: int) -> WordCorpus:
        """Permute the words over all positions; lines keep their numbers of words."""
        tokens = np.random.default_rng(seed).permutation(self.tokens)
        return WordCorpus(self.types, tokens, self.line_offsets)

    def _has_outer_space(self) -> bool:
        """Return whether a line begins or ends with white space; normalised, few texts have it."""
        places = np.concatenate([self.line_offsets[:-1], self.line_offsets[1:] - 1])
        words = (self.types[number] for number in np.unique(self.tokens[places]).tolist())
        return any(word[1:2].isspace() or word[-1].isspace() for word in words)

    def word_counts(self) -> Counter[str]:
        """Count the words, without their `▁`; those that were cut are put together again."""
        rest = np.fromiter((not word.startswith(WORD_START) for word in self.types), bool)
        inside = np.flatnonzero(rest[self.tokens])
        heads = inside[np.diff(inside, prepend=-1) > 1] - 1
        ends = inside[np.diff(inside, append=len(self.tokens) + 1) > 1] + 1
        counts = self.counts - np.bincount(self.tokens[heads], minlength=len(self.types))
        counts[rest] = 0
        words = Counter({self.types[i][1:]: int(counts[i]) for i in np.flatnonzero(counts)})
        for start, end in zip(heads.tolist(), ends.tolist(), strict=True):
            words["".join([self.types[i] for i in self.tokens[start:end]])[1:]] += 1
        return words

    def lines(self) -> Iterator[str]:
        """Yield the lines, normalised."""
        for start, end in pairwise(self.line_offsets):
            words = [self.types[number] for number in self.tokens[start:end].tolist()]
            yield "".join(words).replace(WORD_START, " ").removeprefix(" ")

    def _with_lines(self, lines: np.ndarray) -> WordCorpus:
        lines = np.sort(lines)
        begins, ends = self.line_offsets[lines], self.line_offsets[lines + 1]
        offsets = np.concatenate(([0], np.cumsum(ends - begins)))
        places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], ends - begins)
        return WordCorpus(self.types, self.tokens[places], offsets)

    def digest(self) -> str:
        """SHA-256 of the corpus, for the fingerprint of work on it."""
        types = "\n".join(self.types).encode("utf-8")
        return fingerprint(types, self.tokens.data, self.line_offsets.data)

    def save(self, path: str | Path) -> None:
        """Write the corpus as npz: the types joined as UTF-8, their ends in bytes, the arrays."""
        encoded = [word.encode("utf-8") for word in self.types]
        write_npz(
            path,
            text=np.frombuffer(b"".join(encoded), dtype=np.uint8),
            type_ends=np.cumsum([len(word) for word in encoded], dtype=np.int64),
            tokens=self.tokens,
            line_offsets=self.line_offsets,
        )

    @classmethod
    def load(cls, path: str | Path) -> WordCorpus:
        """Read what `save` wrote.

        Raises:
            UserError: the file is missing, damaged or no word corpus.
        """
        arrays = read_npz(path)
        if not {"text", "type_ends", "tokens", "line_offsets"} <= arrays.keys():
            raise UserError(f"{path}: is not a word corpus; delete it and run again")
        text, ends = arrays["text"].tobytes(), arrays["type_ends"].tolist()
        types = [text[a:b].decode("utf-8") for a, b in zip([0, *ends], ends, strict=False)]
        return cls(types, arrays["tokens"], arrays["line_offsets"])
