"""Pipelines: everything of a tokenizer but its pieces.

Hugging Face's word for what a text goes through. A pipeline says how a line becomes words, how
pieces are written as tokens, and which special tokens there are. With a list of pieces it gives a
`tokenizers.Tokenizer` that segments words by greedy longest match. There are two kinds:

- `WordPipeline`: sentencepiece's normalisation, `▁` at the start of words, words cut at
  `max_word_chars`.
- `BytePipeline`: letters of bytes; words with the space before them, and runs of white space.

In both, special tokens have the first ids.

A tokenizer is read by `tokenizers` and by its JavaScript port, so it holds only what both take:
regular expressions without `\\A`, `\\G`, `(?m)` or `\\x{..}`, which match isolated parts, and no
sequence in a sequence.

Text that spells a special token becomes that token in Hugging Face's tokenizers, unless the caller
asks for `split_special_tokens`; the library takes it as text. In a `WordPipeline`, what follows a
special token without a space is the inside of a word (`[MASK]ing`); a space before a special token
gives no piece.
"""

from __future__ import annotations

import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
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
    Normalizer,
    WordCorpus,
    hub_normalizer,
    split_words,
)
from sagevocab.errors import UserError
from sagevocab.huggingface.markers import letters_of_piece, piece_of_letters
from sagevocab.huggingface.special_tokens import BERT, UNKNOWN, SpecialTokens
from sagevocab.pieces import WORD_START, missing_characters
from sagevocab.settings import WordSettings

NO_LIMIT = 1_000_000_000  # characters in a word: words are cut before the model sees them
TEXT_START, TEXT_END = r"(?<![\s\S])", r"(?![\s\S])"  # every dialect has these
_SPACE, _OTHER = r"[ \t\n\r\f\v]", r"[^ \t\n\r\f\v]"
_WORD_OR_SPACES = f" ?{_OTHER}+|{_SPACE}+(?!{_OTHER})|{_SPACE}+"
# Letters of the bytes 80 to BF, which continue a character in UTF-8, as GPT-2 writes them.
_INSIDE_CHARACTER = "\u0122-\u0143\u00a1-\u00ac\u00ae-\u00bf"


class Pipeline(ABC):
    """Everything of a tokenizer but its pieces.

    special_tokens: by id. unknown: the token of what has no piece; None where everything has.
    """

    normalization: str | None = None
    max_word_chars: int | None = None

    def __init__(self, specials: SpecialTokens) -> None:
        """Take the special tokens."""
        self.specials = specials
        self.special_tokens, self.unknown = list(specials.tokens), specials.unknown

    @abstractmethod
    def words_of(self, line: str) -> list[str]:
        """Split a line into words as pieces write them."""

    @abstractmethod
    def tokenizer(self, pieces: Sequence[str]) -> Tokenizer:
        """Return the tokenizer that segments by the longest match of these pieces."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return what decides the tokens of a text besides the pieces, for a record."""

    def corpus_of(self, lines: Iterable[str]) -> WordCorpus:
        """Read lines, once, as words."""
        return WordCorpus.from_words(map(self.words_of, lines))

    def written(self, pieces: Sequence[str]) -> list[str]:
        """Return the tokens of pieces."""
        return list(pieces)

    def tokens(self, pieces: Sequence[str]) -> list[str]:
        """Return the special tokens and, after them, those of the pieces.

        Raises:
            UserError: a piece is spelt like a special token.
        """
        written = self.written(pieces)
        if taken := sorted({*self.special_tokens}.intersection(written)):
            raise UserError(
                f"vocabulary: {taken[0]!r} is a piece and a special token; take it out of the "
                "corpus or of the list of pieces"
            )
        return [*self.special_tokens, *written]

    def numbered(self, pieces: Sequence[str]) -> dict[str, int]:
        """Return the id of each token."""
        return {token: number for number, token in enumerate(self.tokens(pieces))}

    def longest_match(self, pieces: Sequence[str]) -> models.WordPiece:
        """Return the model of greedy longest match: a WordPiece with no mark inside words."""
        return models.WordPiece(
            vocab=self.numbered(pieces),
            unk_token=self.unknown or UNKNOWN,
            continuing_subword_prefix="",
            max_input_chars_per_word=NO_LIMIT,
        )

    def configuration(self) -> dict[str, Any]:
        """Return what `tokenizer_config.json` says of the pipeline."""
        return self.specials.configuration()


# --- words after `▁`


class WordPipeline(Pipeline):
    """Text as sentencepiece takes it: `▁` at the start of words, which spaces alone separate."""

    def __init__(self, words: WordSettings, specials: SpecialTokens = BERT) -> None:
        """Take how text becomes words, and the special tokens."""
        super().__init__(specials)
        self.words = words
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

    def tokenizer(self, pieces: Sequence[str]) -> Tokenizer:
        """Return the tokenizer that segments by the longest match of these pieces.

        The model gives up a whole word for one character that it cannot match, so characters
        without a piece are split off before.

        Raises:
            ValueError: a character of a piece, or `▁`, is not a piece: no floor for greedy match.
        """
        if missing := missing_characters(pieces):
            raise ValueError(f"the character {missing[0]!r} is part of a piece but no piece itself")
        apart = split_special_tokens(self.special_tokens, pieces)
        return self.around(self.longest_match(pieces), [split_uncovered(pieces), *apart])

    def around(
        self, model: models.Model, steps: Iterable[pre_tokenizers.PreTokenizer]
    ) -> Tokenizer:
        """Return a tokenizer of `model`; steps: what splits a word before the model sees it."""
        tokenizer = Tokenizer(model)
        tokenizer.normalizer = sentencepiece_normalizer(self.words.normalization)
        # "first": the opening word of a text gets a `▁`; every other has one of the space before.
        opening = pre_tokenizers.Metaspace(
            replacement=WORD_START, prepend_scheme="first", split=False
        )
        inside, longest = f"[^{WORD_START}]", self.words.max_word_chars
        words = isolated(f"{WORD_START}{inside}{{0,{longest - 1}}}|{inside}{{1,{longest}}}")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([opening, words, *steps])
        tokenizer.decoder = decoders.Metaspace(replacement=WORD_START, prepend_scheme="always")
        add_special_tokens(tokenizer, self.specials)
        return tokenizer

    def described(self) -> dict[str, Any]:
        """Return what decides the tokens of a text besides the pieces."""
        return {**asdict(self.words), "special_tokens": self.special_tokens}


def add_special_tokens(tokenizer: Tokenizer, specials: SpecialTokens) -> None:
    """Give special tokens their meaning; the model has them under their ids already."""
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in specials.tokens]
    )
    if specials.as_bert:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(token, specials.tokens.index(token)) for token in ("[CLS]", "[SEP]")],
        )


def sentencepiece_normalizer(rule: str) -> normalizers.Normalizer:
    """Return `words.Normalizer`, except that it keeps one space that opens the text.

    The text may follow a special token; the pre-tokenizer makes a `▁` of the space.
    """
    return hub_normalizer(
        rule,
        normalizers.Replace(Regex(rf"{TEXT_START}\s+"), " "),
        normalizers.Replace(Regex(" {2,}"), " "),
        normalizers.Replace(Regex(rf"(?<!\s)\s+{TEXT_END}"), ""),
    )


def cuts_at_spaces(tokenizer: Tokenizer) -> bool:
    """Tell whether a tokenizer takes text as `WordPipeline` does: no token reaches over a space.

    Its special tokens hold no space, so that none is spelt across one.
    """
    spec = json.loads(tokenizer.to_str())
    added = [token["content"] for token in spec["added_tokens"]]
    if any(" " in token or WORD_START in token for token in added):
        return False
    pipeline = WordPipeline(WordSettings()).around(models.WordPiece(unk_token=UNKNOWN), [])
    wanted = json.loads(pipeline.to_str())
    spaces = [(one["normalizer"] or {}).get("normalizers", [])[-4:] for one in (spec, wanted)]
    steps = [(one["pre_tokenizer"] or {}).get("pretokenizers", [])[:2] for one in (spec, wanted)]
    for step in itertools.chain(*steps):
        if step["type"] == "Split":  # but for where long words are cut
            step["pattern"] = re.sub(r"\d+", "", str(step["pattern"]))
    return spaces[0] == spaces[1] and steps[0] == steps[1]


# --- letters of bytes


class BytePipeline(Pipeline):
    """Text as letters of bytes, as GPT-2 writes it: nothing is normalised, decoding loses nothing.

    Words are text with the space before it, and runs of white space. This is GPT-2's rule without
    its classes of letters, which put `'s` or digits apart: pieces decide on those.
    """

    def __init__(self, specials: SpecialTokens, max_word_chars: int) -> None:
        """Take the special tokens, and where longer words are cut: in bytes, not in a character.

        Raises:
            UserError: a special token would not be given back: its letters stand for bytes.
        """
        super().__init__(specials)
        self._cut_at = max_word_chars
        self._decoder = decoders.ByteLevel()
        for token in specials.tokens:
            if self._decoder.decode([token]) != token:
                raise UserError(
                    f"special_tokens: {token!r} is read as bytes where text is written in these; "
                    "use ASCII characters"
                )

    @cached_property
    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """What splits a text into words."""
        return self._splitter([])

    def _splitter(
        self, steps: Iterable[pre_tokenizers.PreTokenizer]
    ) -> pre_tokenizers.PreTokenizer:
        """Return what splits a text; steps: what splits a word before the model sees it."""
        split = isolated(_WORD_OR_SPACES)
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        least, longest = max(1, self._cut_at - 3), self._cut_at
        outside = f"(?![{_INSIDE_CHARACTER}])"
        cut = isolated(rf"{outside}[\s\S]{{{least},{longest}}}{outside}")
        return pre_tokenizers.Sequence([split, letters, cut, *steps])

    def words_of(self, line: str) -> list[str]:
        """Split a line into words as pieces write them."""
        return [piece_of_letters(word) for word, _ in self.pre_tokenizer.pre_tokenize_str(line)]

    def text_of(self, words: Iterable[str]) -> str:
        """Return the text of words, for nothing of it is lost."""
        return self._decoder.decode(self.written(list(words)))

    def written(self, pieces: Sequence[str]) -> list[str]:
        """Return the tokens of pieces, in letters of bytes."""
        return list(map(letters_of_piece, pieces))

    def tokenizer(self, pieces: Sequence[str]) -> Tokenizer:
        """Return the tokenizer that segments by the longest match of these pieces."""
        tokenizer = Tokenizer(self.longest_match(pieces))
        apart = split_special_tokens(self.special_tokens, self.written(pieces))
        tokenizer.pre_tokenizer = self._splitter(apart)
        tokenizer.decoder = self._decoder
        add_special_tokens(tokenizer, self.specials)
        return tokenizer

    def described(self) -> dict[str, Any]:
        """Return what decides the tokens of a text besides the pieces."""
        return {"max_word_bytes": self._cut_at, "special_tokens": self.special_tokens}


# --- what splits words before the model sees them


def isolated(pattern: str) -> pre_tokenizers.PreTokenizer:
    """Return what splits text into the matches of a regular expression, and what is between."""
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def _escaped(text: str) -> str:
    """Return a regular expression of a text; `re.escape` writes some that JavaScript refuses."""
    return re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", text)


def split_uncovered(pieces: Iterable[str]) -> pre_tokenizers.PreTokenizer:
    """Split off every character that is not a piece."""
    alphabet = sorted(piece for piece in pieces if len(piece) == 1)
    escaped = re.sub(r"[\\\[\]^-]", r"\\\g<0>", "".join(alphabet))
    return isolated(f"[^{escaped}]")


def split_special_tokens(
    tokens: Sequence[str], pieces: Sequence[str]
) -> list[pre_tokenizers.PreTokenizer]:
    """Cut special tokens that normalised text spells, so that the model does not match them.

    The cut is at the first place that no piece reaches over, so it changes nothing else; if there
    is no such place, after the first character. Returns no step where there are no such tokens.
    """
    places = []
    for token, free in zip(tokens, free_cuts(tokens, pieces), strict=True):
        cut = free or 1
        places.append(f"(?<={_escaped(token[:cut])})(?={_escaped(token[cut:])})")
    return [isolated("|".join(places))] if places else []


def free_cuts(tokens: Sequence[str], pieces: Sequence[str]) -> list[int]:
    """Return for each token the first place in it that no piece reaches over; 0 if none is."""
    pairs = {piece[at : at + 2] for piece in pieces for at in range(len(piece) - 1)}
    return [
        next((at for at in range(1, len(token)) if token[at - 1 : at + 1] not in pairs), 0)
        for token in tokens
    ]
