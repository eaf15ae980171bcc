"""Tokenizers in use: text to ids and back."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from numbers import Integral
from pathlib import Path

from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.huggingface.pipelines import cuts_at_spaces
from sagevocab.pieces import WORD_START, encode_batch

_LINES_A_BATCH = 4096
_WORDS_KEPT = 1 << 18  # with their ids
_LONGEST_KEPT = 64  # characters of such a word
_TOGETHER = 64  # words that are learnt as one text


class Encoder:
    """A tokenizer that encodes lines to the ids of `AutoTokenizer`, without special tokens.

    Text that spells a special token is text, as with `split_special_tokens` of `AutoTokenizer`.
    """

    path: Path | None = None

    def __init__(self, tokenizer: Tokenizer, path: Path | None = None) -> None:
        """Take a tokenizer; path: where it was loaded from."""
        self._whole, self.path = tokenizer, path

    @cached_property
    def _backend(self) -> Tokenizer:
        """The tokenizer without padding and truncation, and deaf to special tokens in text."""
        backend = Tokenizer.from_str(self._whole.to_str())
        backend.no_padding()
        backend.no_truncation()
        backend.encode_special_tokens = True
        return backend

    @cached_property
    def _names(self) -> dict[int, str]:
        numbers = self._backend.get_vocab(with_added_tokens=True)
        return {number: token for token, number in numbers.items()}

    def __len__(self) -> int:
        """Return the number of ids, those of special tokens too, as `transformers` counts."""
        return len(self._names)

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer as `tokenizers` has it, with special tokens, padding and all."""
        return Tokenizer.from_str(self._whole.to_str())

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text.

        Args:
            text: one string.

        Raises:
            UserError: it is not a string.
        """
        if not isinstance(text, str):
            raise UserError(
                f"text: {type(text).__name__} is not a string; give one text, or several to "
                "encode_lines"
            )
        return next(self.encode_lines([text]))

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text, such as `[UNK]` for a character without a piece."""
        return self.names(self.encode(text))

    def names(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of ids.

        Args:
            ids: of this tokenizer.

        Raises:
            UserError: one is not an id of this tokenizer.
        """
        return [self._names[number] for number in self._checked(ids)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without special tokens.

        Args:
            ids: of one text.

        Raises:
            UserError: one is not an id of this tokenizer.
        """
        return self._backend.decode(self._checked(ids), skip_special_tokens=True)

    def _checked(self, ids: Iterable[int]) -> list[int]:
        if not isinstance(ids, Iterable):
            raise UserError(f"ids: {ids!r} is not a list; give the ids of a text")
        ids = list(ids)
        for number in ids:
            if not isinstance(number, Integral) or number not in self._names:
                raise UserError(
                    f"ids: {number!r} is not an id of this tokenizer; give the ids of one text"
                )
        return ids

    def encode_lines(self, lines: Iterable[str]) -> Iterator[list[int]]:
        """Yield the ids of each line.

        Args:
            lines: texts, which are read as they are needed.

        Raises:
            UserError: `lines` is one text or no list, or one of them is not a string.
        """
        if isinstance(lines, str) or not isinstance(lines, Iterable):
            raise UserError(
                f"lines: {type(lines).__name__} is not a list; give a list of texts, or one text "
                "to encode"
            )
        rest = iter(lines)
        while batch := list(itertools.islice(rest, _LINES_A_BATCH)):
            yield from self._encode(batch)

    @cached_property
    def _encode(self) -> Callable[[list[str]], list[list[int]]]:
        if cuts_at_spaces(self._backend):
            return _WordEncoder(self._backend)
        return partial(_encode_whole, self._backend)


class _WordEncoder:
    """Encodes lines by their words, each distinct one once: for a tokenizer that cuts at spaces.

    A line is encoded as a whole if something in it is not plainly a word: what may become white
    space, or grow together with a space before it, or holds the mark of a space.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take the tokenizer."""
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}  # the ids of words
        self._no_word = [], _encode_whole(tokenizer, [" "])[0]
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        self._starts = {
            number for token, number in vocabulary.items() if token.startswith(WORD_START)
        }

    def __call__(self, lines: list[str]) -> list[list[int]]:
        """Return the ids of lines.

        Raises:
            UserError: as `encode_batch`.
        """
        if not all(isinstance(line, str) for line in lines):
            return _encode_whole(self._tokenizer, lines)
        if len(self._known) > _WORDS_KEPT:
            self._known.clear()
        words_of = [line.split(" ") for line in lines]
        odd = self._learn(set(itertools.chain.from_iterable(words_of)).difference(self._known))
        known = self._known.__getitem__
        encoded = [
            list(itertools.chain.from_iterable(map(known, words))) if odd.isdisjoint(words) else []
            for words in words_of
        ]
        whole = [number for number, ids in enumerate(encoded) if not ids]
        found = _encode_whole(self._tokenizer, [lines[number] for number in whole])
        for number, ids in zip(whole, found, strict=True):
            encoded[number] = ids
        return encoded

    def _learn(self, words: set[str]) -> set[str]:
        """Learn the ids of words; return those that are none."""
        self._known[""] = []  # spaces side by side are one
        plain = [word for word in words if _is_plain(word)]
        alone = self._learn_together(list(filter(_is_calm, plain)))
        alone += itertools.filterfalse(_is_calm, plain)
        for word, ids in zip(alone, _encode_whole(self._tokenizer, alone), strict=True):
            if ids not in self._no_word:
                self._known[word] = ids
        return words.difference(self._known)

    def _learn_together(self, words: list[str]) -> list[str]:
        """Learn the ids of words as those of texts of many, which is faster; return the rest."""
        some = [words[first : first + _TOGETHER] for first in range(0, len(words), _TOGETHER)]
        rest: list[str] = []
        for part, ids in zip(
            some, _encode_whole(self._tokenizer, map(" ".join, some)), strict=True
        ):
            begins = [at for at, number in enumerate(ids) if number in self._starts]
            if len(begins) == len(part):
                ends = [*begins[1:], len(ids)]
                self._known.update(
                    (word, ids[begin:end])
                    for word, begin, end in zip(part, begins, ends, strict=True)
                )
            else:
                rest += part
        return rest


def _encode_whole(tokenizer: Tokenizer, texts: Iterable[str]) -> list[list[int]]:
    return [encoding.ids for encoding in encode_batch(tokenizer, list(texts))]


def _is_plain(word: str) -> bool:
    """Tell whether a string is a word wherever it stands between spaces."""
    return (
        0 < len(word) <= _LONGEST_KEPT
        and word.isprintable()
        and WORD_START not in word
        and not unicodedata.category(word[0]).startswith("M")
    )


def _is_calm(word: str) -> bool:
    """Tell whether no normalisation makes a space of a part of a plain word."""
    return word.isascii() or ("\ufffd" not in word and unicodedata.is_normalized("NFKC", word))
