"""Frames: everything of a tokenizer but its pieces.

A frame says how a line becomes words, how pieces are written as tokens, and which special tokens
there are. With a list of pieces it gives a `tokenizers.Tokenizer` that segments words by greedy
longest match. There are two kinds:

- `WordFrame`: sentencepiece's normalisation, `▁` at the start of words, words cut at
  `max_word_chars`. Special tokens have the first ids.
- `HubFrame`: normaliser, pre-tokenizer, decoder, post-processor and added tokens of a given
  `tokenizer.json`, whose tokens keep their order.

Text that spells a special token becomes that token in Hugging Face's tokenizers, unless the caller
asks for `split_special_tokens`; the library takes it as text. In a `WordFrame`, what follows a
special token without a space is the inside of a word (`[MASK]ing`); a space before a special token
gives no piece.
"""

from __future__ import annotations

import copy
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from sagevocab.corpus.words import (
    MAX_WORD_CHARS,
    Normalizer,
    WordCorpus,
    hub_normalizer,
    split_words,
)
from sagevocab.errors import UserError
from sagevocab.files import fingerprint
from sagevocab.huggingface.markers import UNMATCHED, notation_of, steps_of, writes_bytes
from sagevocab.huggingface.special_tokens import BERT, UNKNOWN, SpecialTokens
from sagevocab.pieces import WORD_START, missing_characters
from sagevocab.settings import WordSettings

NO_LIMIT = 1_000_000_000  # characters in a word: words are cut before the model sees them
# Where words cannot be cut: WordPiece takes time with the third power of their length.
_LONGEST_MARKED_WORD = 1000
ENDS = ("sep", "cls")  # of BERT's and RoBERTa's post-processors: a token and its id
# Letters of the bytes 80 to BF, which continue a character in UTF-8, as GPT-2 writes them.
_INSIDE_CHARACTER = "\u0122-\u0143\u00a1-\u00ac\u00ae-\u00bf"


class Frame(ABC):
    """Everything of a tokenizer but its pieces.

    special_tokens: by id. unknown: the token of what has no piece; None where everything has.
    """

    special_tokens: list[str]
    unknown: str | None
    normalization: str | None = None
    max_word_chars: int | None = None

    @abstractmethod
    def words_of(self, line: str) -> list[str]:
        """Split a line into words as pieces write them."""

    def corpus_of(self, lines: Iterable[str]) -> WordCorpus:
        """Read lines, once, as words."""
        return WordCorpus.from_words(map(self.words_of, lines))

    @abstractmethod
    def tokens(self, pieces: Sequence[str]) -> list[str]:
        """Return the tokens of a tokenizer with these pieces, special ones too, by id.

        Raises:
            UserError: a piece is spelt like a special token.
        """

    @abstractmethod
    def tokenizer(self, pieces: Sequence[str]) -> Tokenizer:
        """Return the tokenizer that segments by the longest match of these pieces."""

    @abstractmethod
    def configuration(self) -> dict[str, Any]:
        """Return what `tokenizer_config.json` says of the frame."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return what decides the tokens of a text besides the pieces, for a record."""


# --- the library's own


class WordFrame(Frame):
    """Text as sentencepiece takes it: `▁` at the start of words, which spaces alone separate."""

    def __init__(self, words: WordSettings, specials: SpecialTokens = BERT) -> None:
        """Take how text becomes words, and the special tokens."""
        self.words, self.specials = words, specials
        self.special_tokens, self.unknown = list(specials.tokens), specials.unknown
        self.normalization, self.max_word_chars = words.normalization, words.max_word_chars

    @cached_property
    def _normalizer(self) -> Normalizer:
        return Normalizer(self.words.normalization)

    def words_of(self, line: str) -> list[str]:
        """Split a line into words as pieces write them."""
        return split_words(self._normalizer(line), self.words.max_word_chars)

    def corpus_of(self, lines: Iterable[str]) -> WordCorpus:
        """Read lines, once, as words."""
        return WordCorpus.from_lines(lines, self._normalizer, self.words.max_word_chars)

    def tokens(self, pieces: Sequence[str]) -> list[str]:
        """Return the special tokens and, after them, the pieces.

        Raises:
            UserError: a piece is spelt like a special token.
        """
        check_spellings(self.special_tokens, pieces)
        return [*self.special_tokens, *pieces]

    def tokenizer(self, pieces: Sequence[str]) -> Tokenizer:
        """Return the tokenizer that segments by the longest match of these pieces.

        The model is `WordPiece` without a prefix for the inside of words. It gives up a whole word
        for one character that it cannot match, so characters without a piece are split off before.

        Raises:
            ValueError: a character of a piece, or `▁`, is not a piece: no floor for greedy match.
        """
        if missing := missing_characters(pieces):
            raise ValueError(f"the character {missing[0]!r} is part of a piece but no piece itself")
        model = models.WordPiece(
            vocab=self.numbered(pieces),
            unk_token=self.unknown,
            continuing_subword_prefix="",
            max_input_chars_per_word=NO_LIMIT,
        )
        apart = split_special_tokens(self.special_tokens, pieces)
        return self.around(model, [split_uncovered(pieces), *apart])

    def numbered(self, pieces: Sequence[str]) -> dict[str, int]:
        """Return the id of each token."""
        return {token: number for number, token in enumerate(self.tokens(pieces))}

    def around(
        self, model: models.Model, steps: Iterable[pre_tokenizers.PreTokenizer]
    ) -> Tokenizer:
        """Return a tokenizer of `model`; steps: what splits a word before the model sees it."""
        tokenizer = Tokenizer(model)
        tokenizer.normalizer = sentencepiece_normalizer(self.words.normalization)
        # "first": the opening word of a text gets a `▁`; every other has one of the space before.
        opening = pre_tokenizers.Metaspace(
            replacement=WORD_START, prepend_scheme="first", split=True
        )
        cut = _cut(rf"{{{self.words.max_word_chars}}}")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([opening, cut, *steps])
        tokenizer.decoder = decoders.Metaspace(replacement=WORD_START, prepend_scheme="always")
        add_special_tokens(tokenizer, self.specials)
        return tokenizer

    def configuration(self) -> dict[str, Any]:
        """Return what `tokenizer_config.json` says of the frame."""
        return self.specials.configuration()

    def described(self) -> dict[str, Any]:
        """Return what decides the tokens of a text besides the pieces."""
        return {**asdict(self.words), "special_tokens": self.special_tokens}


def add_special_tokens(tokenizer: Tokenizer, specials: SpecialTokens) -> None:
    """Give special tokens their meaning; the model has them under their ids already."""
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in specials.tokens]
    )
    if specials.template is not None:
        single, pair = specials.template
        used = [part.partition(":")[0] for part in f"{single} {pair}".split()]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=single,
            pair=pair,
            special_tokens=[
                (token, number) for number, token in enumerate(specials.tokens) if token in used
            ],
        )


def sentencepiece_normalizer(rule: str) -> normalizers.Normalizer:
    """Return `words.Normalizer`, except that it keeps one space that opens the text.

    The text may follow a special token; the pre-tokenizer makes a `▁` of the space.
    """
    return hub_normalizer(
        rule,
        normalizers.Replace(Regex(r"\A\s+"), " "),
        normalizers.Replace(Regex(" {2,}"), " "),
        normalizers.Strip(left=False, right=True),
    )


# --- that of a tokenizer.json


class HubFrame(Frame):
    """The frame of a given `tokenizer.json`.

    Words are what its pre-tokenizer makes of normalised text, cut at `max_word_chars` letters;
    with a prefix for the inside of words they cannot be cut, and a word that is too long, or holds
    a character of no piece, is one unknown token.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        order: Sequence[str],
        configuration: Mapping[str, Any],
        max_word_chars: int = MAX_WORD_CHARS,
    ) -> None:
        """Take the parts of a tokenizer.

        spec: the parsed `tokenizer.json`; of its model, only the unknown token, the prefix and the
        longest word count. Its `added_tokens` are those tokens that are no pieces. order: every
        token by its id, the added ones too. configuration: of `tokenizer_config.json`.
        """
        self._spec, self._order = dict(spec), tuple(order)
        self._configuration, self._cut_at = dict(configuration), max_word_chars
        self.notation = notation_of(spec)
        self._bytes = writes_bytes(spec)
        self._added = {token["content"] for token in spec["added_tokens"]}
        self.special_tokens = [token for token in order if token in self._added]
        self.unknown = spec["model"].get("unk_token")
        self._matched: dict[str, bool] = {}  # words that were met, where parts have a prefix

    def with_tokens(self, tokens: Sequence[str]) -> HubFrame:
        """Return the same frame with more tokens, whose ids follow."""
        order = [*self._order, *tokens]
        return HubFrame(self._spec, order, self._configuration, self._cut_at)

    @property
    def pieces(self) -> list[str]:
        """The pieces that the tokenizer came with, by id."""
        return [self.notation.piece(token) for token in self._order if token not in self._added]

    @property
    def _longest(self) -> int | None:
        """Characters in the longest word that can be segmented; None where words are cut."""
        if not self.notation.prefix:
            return None
        return self._spec["model"].get("max_input_chars_per_word") or _LONGEST_MARKED_WORD

    @cached_property
    def _splitters(self) -> tuple[Any, Any]:
        """Normaliser, None if there is none, and pre-tokenizer."""
        empty = Tokenizer.from_str(json.dumps(self._filled([], self._cuts())))
        return empty.normalizer, empty.pre_tokenizer

    @property
    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """What splits normalised text into words."""
        return self._splitters[1]

    def words_of(self, line: str) -> list[str]:
        """Split a line into words as pieces write them."""
        normalizer, splitter = self._splitters
        text = line if normalizer is None else normalizer.normalize_str(line)
        words = [word for word, _ in splitter.pre_tokenize_str(text)]
        if self._longest is None:
            return [self.notation.word(word) for word in words]
        for word in set(words).difference(self._matched):
            self._matched[word] = len(word) <= self._longest and self._matches(word)
        return [self.notation.word(w) if self._matched[w] else UNMATCHED for w in words]

    def _matches(self, word: str) -> bool:
        """Return whether parts with a prefix match a word to its end.

        A word of characters that have pieces always matches. Others may with the pieces that they
        are in, which are never pruned.
        """
        at, known = 0, self._known
        while at < len(word):
            prefix = self.notation.prefix if at else ""
            ends = range(len(word), at, -1)
            at = next((end for end in ends if prefix + word[at:end] in known), 0)
            if not at:
                return False
        return True

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._order) - self._added

    def tokens(self, pieces: Sequence[str]) -> list[str]:
        """Return the tokens left of the order that the frame came with.

        Raises:
            UserError: a piece is spelt like a special token.
            ValueError: a piece is none of those that the frame came with.
        """
        kept = [self.notation.token(piece) for piece in pieces]
        check_spellings(sorted(self._added), kept)
        left = {*kept, *self._added}
        if strange := left.difference(self._order):
            raise ValueError(f"the frame has no token {min(strange)!r}")
        return [token for token in self._order if token in left]

    def tokenizer(self, pieces: Sequence[str]) -> Tokenizer:
        """Return the tokenizer that segments by the longest match of these pieces."""
        return Tokenizer.from_str(
            json.dumps(self._filled(self.tokens(pieces), self._steps(pieces)))
        )

    def _steps(self, pieces: Sequence[str]) -> list[pre_tokenizers.PreTokenizer]:
        """Return what splits a word before the model sees it."""
        if self.notation.prefix:
            return []
        written = [self.notation.token(piece) for piece in pieces]
        steps = [*self._cuts(), *split_special_tokens(self.special_tokens, written)]
        return steps if self._bytes else [*steps, split_uncovered(written)]

    def _cuts(self) -> list[pre_tokenizers.PreTokenizer]:
        """Return what cuts long words: nothing, if their parts would get a prefix or lose it."""
        if self.notation.prefix:
            return []
        if not self._bytes:
            return [_cut(rf"{{{self._cut_at}}}")]
        least, most = max(1, self._cut_at - 3), self._cut_at  # not inside a character
        return [_cut(rf"{{{least},{most}}}(?![{_INSIDE_CHARACTER}])")]

    def _filled(
        self, tokens: Sequence[str], steps: Sequence[pre_tokenizers.PreTokenizer]
    ) -> dict[str, Any]:
        """Return the `tokenizer.json` of tokens by id, with steps behind its pre-tokenizer."""
        numbers = {token: number for number, token in enumerate(tokens)}
        spec = self._spec
        first = [spec["pre_tokenizer"]] if spec["pre_tokenizer"] else []
        behind = [json.loads(step.__getstate__()) for step in steps]  # pickled as tokenizer.json
        padding = spec["padding"] if tokens else None
        if padding:
            padding = {**padding, "pad_id": numbers[padding["pad_token"]]}
        return {
            **spec,
            "added_tokens": renumbered_added(spec["added_tokens"], numbers),
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [*first, *behind],
            },
            "post_processor": _renumbered(spec["post_processor"], numbers) if tokens else None,
            "padding": padding,
            "model": {
                "type": "WordPiece",
                "unk_token": self.unknown or UNKNOWN,
                "continuing_subword_prefix": self.notation.prefix,
                "max_input_chars_per_word": self._longest or NO_LIMIT,
                "vocab": numbers,
            },
        }

    def configuration(self) -> dict[str, Any]:
        """Return what `tokenizer_config.json` says of the frame."""
        return self._configuration

    def described(self) -> dict[str, Any]:
        """Return what decides the tokens of a text besides the pieces."""
        return {
            "tokenizer": fingerprint(self._spec, list(self._order), self._cut_at),
            "special_tokens": self.special_tokens,
        }


def renumbered_added(
    tokens: Iterable[Mapping[str, Any]], numbers: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return those added tokens that have an id now, by it."""
    left = [token for token in tokens if token["content"] in numbers]
    added = [{**token, "id": numbers[token["content"]]} for token in left]
    return sorted(added, key=lambda token: token["id"])


def _renumbered(
    post_processor: dict[str, Any] | None, numbers: Mapping[str, int]
) -> dict[str, Any] | None:
    """Return a post-processor with the ids that its tokens have now."""
    renumbered = copy.deepcopy(post_processor)
    for step in steps_of(renumbered):
        for named in step.get("special_tokens", {}).values():
            named["ids"] = [numbers[token] for token in named["tokens"]]
        for end in filter(step.get, ENDS):
            step[end][1] = numbers[step[end][0]]
    return renumbered


# --- what splits words before the model sees them


def _cut(characters: str) -> pre_tokenizers.PreTokenizer:
    """Cut words, as `words.split_words` does; characters: how many, as a regular expression.

    `(?m)` lets the dot match a newline; `\\G` spares a search from each character of a short word.
    """
    return pre_tokenizers.Split(Regex(rf"\G(?m).{characters}"), "isolated")


def split_uncovered(pieces: Iterable[str]) -> pre_tokenizers.PreTokenizer:
    """Split off every character that is not a piece."""
    alphabet = sorted(piece for piece in pieces if len(piece) == 1)
    escaped = "".join(f"\\x{{{ord(character):X}}}" for character in alphabet)
    return pre_tokenizers.Split(Regex(f"[^{escaped}]"), "isolated")


def split_special_tokens(
    tokens: Sequence[str], pieces: Sequence[str]
) -> list[pre_tokenizers.PreTokenizer]:
    """Cut special tokens that normalised text spells, so that the model does not match them.

    The cut is at the first place that no piece reaches over, so it changes nothing else; if there
    is no such place, after the first character. Returns no step where there are no such tokens.
    """
    heads = []
    for token, free in zip(tokens, free_cuts(tokens, pieces), strict=True):
        cut = free or 1
        heads.append(f"{re.escape(token[:cut])}(?={re.escape(token[cut:])})")
    cut = [pre_tokenizers.Split(Regex("|".join(heads)), "merged_with_previous")]
    return cut if heads else []


def free_cuts(tokens: Sequence[str], pieces: Sequence[str]) -> list[int]:
    """Return for each token the first place in it that no piece reaches over; 0 if none is."""
    pairs = {piece[at : at + 2] for piece in pieces for at in range(len(piece) - 1)}
    return [
        next((at for at in range(1, len(token)) if token[at - 1 : at + 1] not in pairs), 0)
        for token in tokens
    ]


def check_spellings(specials: Sequence[str], pieces: Sequence[str]) -> None:
    """Refuse pieces that are spelt like special tokens.

    Raises:
        UserError: there is one.
    """
    if taken := sorted(set(specials).intersection(pieces)):
        raise UserError(
            f"vocabulary: {taken[0]!r} is a piece and a special token; "
            "take it out of the corpus or of the list of pieces"
        )
