"""Tokenizers in use: text to ids and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from numbers import Integral
from pathlib import Path

from tokenizers import Tokenizer

from sagevocab.errors import UserError
from sagevocab.pieces import encode_batch

_LINES_A_BATCH = 4096


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
            for encoding in encode_batch(self._backend, batch):
                yield encoding.ids
