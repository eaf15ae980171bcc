"""CoNLL-U treebanks: sentences, their tokens, and the words that tokens spell together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError

_COLUMNS = 10
_TEXT = "# text = "
_ID = re.compile(r"(\d+)(?:-(\d+)|(\.\d+))?")


class Token(NamedTuple):
    """A token as it is written, and the features that its sixth column lists."""

    form: str
    features: frozenset[str]  # "Name=Value"
    space_after: bool

    @property
    def is_derivation(self) -> bool:
        """Whether the token is a derivation of the token before it, as in Turkish treebanks."""
        return any(feature.startswith("Derivation=") for feature in self.features)


class Sentence(NamedTuple):
    """A sentence as it is written, and its tokens."""

    text: str
    tokens: list[Token]

    def words(self) -> Iterator[list[Token]]:
        """Yield the tokens of each written word: a base, and the derivations that continue it."""
        word: list[Token] = []
        for token in self.tokens:
            if word and (word[-1].space_after or not token.is_derivation):
                yield word
                word = []
            word.append(token)
        if word:
            yield word


def read_conllu(path: str | Path) -> Iterator[Sentence]:
    """Yield the sentences of a treebank, plain or compressed.

    A sentence's text is its `# text` comment. Without one, it is put together from the tokens and
    `SpaceAfter=No`. Of a multiword token the written form counts; empty nodes are left out.

    Raises:
        UserError: a line is neither a comment nor a token of ten columns; names file and line.
    """
    text, tokens, covered = "", [], 0
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith("#"):
            text = line.removeprefix(_TEXT) if line.startswith(_TEXT) else text
        elif line.strip():
            columns = line.split("\t")
            first, last, empty = _numbers(columns, f"{path}:{number}")
            if not empty and first > covered:
                tokens.append(_token(columns))
                covered = last
        elif tokens:
            yield Sentence(text or _written(tokens), tokens)
            text, tokens, covered = "", [], 0
    if tokens:
        yield Sentence(text or _written(tokens), tokens)


def _numbers(columns: list[str], where: str) -> tuple[int, int, bool]:
    """Return the first and last number that a token covers, and whether it is an empty node."""
    number = _ID.fullmatch(columns[0])
    if number is None or len(columns) != _COLUMNS:
        raise UserError(
            f"{where}: is not a CoNLL-U token, which has a number and {_COLUMNS} columns with tabs "
            f"between them ({len(columns)} here); correct the line or check `format`"
        )
    return int(number[1]), int(number[2] or number[1]), number[3] is not None


def _token(columns: list[str]) -> Token:
    features = frozenset(columns[5].split("|"))
    return Token(columns[1], features, "SpaceAfter=No" not in columns[9].split("|"))


def _written(tokens: list[Token]) -> str:
    return "".join(f"{token.form}{' ' * token.space_after}" for token in tokens).strip()
