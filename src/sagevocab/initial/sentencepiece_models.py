"""Vocabularies that sentencepiece trains: BPE and UnigramLM.

Both train on normalised words, not on the lines of a file: the pieces and the scores are those of
the lines. Sizes count pieces without special tokens. The results depend on the text and the
settings only, not on the number of cores.
"""

from __future__ import annotations

import functools
import io
import logging
import re
from collections.abc import Iterator, Sequence

import numpy as np
import sentencepiece

from sagevocab.corpus.words import Normalizer, WordCorpus, character_map
from sagevocab.errors import UserError
from sagevocab.huggingface.sentencepiece import (
    Model,
    ordinary_pieces,
    parse_model,
    pieces_of_model,
    scores_of_model,
)
from sagevocab.pieces import WORD_START, is_single_character
from sagevocab.settings import GROWTH, TrainingSettings

log = logging.getLogger(__name__)

SENTENCEPIECE_SPECIALS = 3  # <unk>, <s> and </s>, which sentencepiece counts into its size
SIZE_KEYS = ("vocabulary.initial_size", "vocabulary.vocab_size")  # of the configuration
MAX_SKIPPED_SHARE = 0.01
# sentencepiece marks unknown text with it and skips every sentence that has it: here, every word.
RESERVED_CHARACTER = "\u2585"
# UnigramLM adds up its threads' sums, so their number changes the scores: always sentencepiece's
# default.
THREADS = 16
_ERRORS_ONLY = 2
_ANY_LENGTH = 1 << 30  # bytes
_SENTENCE_LENGTH = 4192  # sentencepiece's default, as in the models of earlier versions
_LONGEST_WORD = 60_000  # characters; BPE of sentencepiece numbers those of a word in 16 bits
# Instead of a tab, which ends a word in a table: no word has it, and it is the next in order.
_TAB = "\n"


def train_sentencepiece(
    method: str,
    corpus: WordCorpus,
    size: int,
    settings: TrainingSettings,
    key: str,
    *,
    name: str = "the training corpus",
    size_keys: tuple[str, str] = SIZE_KEYS,
) -> Model:
    """Train byte-pair encoding or UnigramLM on a corpus.

    method: `bpe` or `unigram`. corpus: normalised by the rule of the settings. size: number of
    pieces without special tokens; `▁` is always one. key: the key that it is from. name: of the
    text, for messages. size_keys: where the user sets the sizes of the initial and of the pruned
    vocabulary.

    Raises:
        UserError: the text allows no vocabulary of this size, or too much of it is left out.
    """
    _check_words(corpus, name)
    text = corpus, settings, name
    try:
        model = _trained(method, size, *text, key)
    except TooManyPiecesError as error:
        model = _trained(method, error.largest, *text, key)
        largest = _add_ascii(model, settings)
        if size > largest:
            found = TooManyPiecesError(size, largest, name, key)
            if method == "unigram" and key != size_keys[0]:
                raise found from error
            # BPE of the initial size is of the same text, so both sizes have to change.
            raise found.for_pruning(pieces_of_model(model), size_keys) from error
    except TooFewPiecesError as error:
        if settings.ascii:
            alphabet = _trained(method, error.least + 1, *text, key)
            _add_ascii(alphabet, settings)
            _cut(alphabet, size, settings, name, key)
        raise
    _add_ascii(model, settings)
    _cut(model, size, settings, name, key)
    return model


def _trained(
    method: str, size: int, corpus: WordCorpus, settings: TrainingSettings, name: str, key: str
) -> Model:
    buffer = io.BytesIO()
    is_bpe = method == "bpe"
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_counted_words(corpus) if is_bpe else _lines(corpus),
            input_format="tsv" if is_bpe else "text",
            model_writer=buffer,
            model_type=method,
            vocab_size=size + SENTENCEPIECE_SPECIALS,
            hard_vocab_limit=True,
            character_coverage=settings.character_coverage,
            max_sentencepiece_length=settings.max_piece_length,
            max_sentence_length=_ANY_LENGTH,
            normalization_rule_name="identity",  # the words are normalised already
            # Greedy segmentation needs it, however rare it is, as in lines of one long word.
            required_chars=WORD_START,
            num_threads=THREADS,
            minloglevel=_ERRORS_ONLY,
        )
    except RuntimeError as error:
        raise _explained(error, size, name, key) from error
    model = _as_of_lines(parse_model(buffer.getvalue(), name), settings.normalization)
    found = len(pieces_of_model(model))
    if found != size:
        raise TooManyPiecesError(size, found, name, key)
    return model


def _as_of_lines(model: Model, rule: str) -> Model:
    """Return the model that sentencepiece trains on lines of text that it normalises itself."""
    for piece in model.pieces:
        piece.piece = piece.piece.replace(_TAB, "\t")
    model.normalizer_spec.name = rule
    model.normalizer_spec.precompiled_charsmap = character_map(rule)
    model.trainer_spec.max_sentence_length = _SENTENCE_LENGTH
    model.trainer_spec.ClearField("input_format")
    # So the model of a text where `▁` is no rare character is the one without this requirement.
    model.trainer_spec.ClearField("required_chars")
    return model


train_bpe = functools.partial(train_sentencepiece, "bpe")
train_unigram = functools.partial(train_sentencepiece, "unigram")


# --- printable ASCII
# sentencepiece's `required_chars` do not do: it leaves them out, too, once its coverage is reached.


def printable_ascii(settings: TrainingSettings) -> list[str]:
    """Return the printable ASCII characters that are pieces in any case; folded case has no A-Z."""
    if not settings.ascii:
        return []
    normalize = Normalizer(settings.normalization)
    return [one for one in map(chr, range(0x21, 0x7F)) if normalize(one) == one]


def _add_ascii(model: Model, settings: TrainingSettings) -> int:
    """Add the characters of printable ASCII that a model lacks; return how many pieces it has."""
    pieces, lowest = pieces_of_model(model), min(scores_of_model(model))
    known = set(pieces)
    missing = [character for character in printable_ascii(settings) if character not in known]
    for number, character in enumerate(missing, start=1):
        model.pieces.add(piece=character, score=lowest - number)
    return len(pieces) + len(missing)


def _cut(model: Model, size: int, settings: TrainingSettings, name: str, key: str) -> None:
    """Leave out the last pieces of several characters, so that `size` pieces are left.

    BPE then has the merges of a smaller vocabulary; UnigramLM loses its least likely pieces, as
    when sentencepiece fills a vocabulary after its alphabet.

    Raises:
        TooFewPiecesError: the single characters alone are more.
    """
    own = ordinary_pieces(model)
    excess = len(own) - size
    if excess <= 0:
        return
    longer = sorted((p for p in own if len(p.piece) > 1), key=lambda piece: piece.score)
    if excess > len(longer):
        least = len(own) - len(longer)
        raise TooFewPiecesError(size, least, name, key, len(printable_ascii(settings)))
    dropped = {piece.piece for piece in longer[:excess]}
    kept = [piece for piece in model.pieces if piece.piece not in dropped]
    del model.pieces[:]
    model.pieces.extend(kept)


# --- what sentencepiece trains on


def _counted_words(corpus: WordCorpus) -> Iterator[str]:
    """Yield the distinct words, each with its count: all that BPE knows of a text."""
    for word, count in corpus.word_counts().items():
        if RESERVED_CHARACTER in word:
            continue
        word = word.replace("\t", _TAB)
        for start in range(0, len(word), _LONGEST_WORD):
            yield f"{word[start : start + _LONGEST_WORD]}\t{count}"


def _lines(corpus: WordCorpus) -> Iterator[str]:
    """Yield the lines: UnigramLM counts the strings that it begins with in them, not in words."""
    for line in corpus.lines():
        if RESERVED_CHARACTER in line:
            line = " ".join(word for word in line.split(" ") if RESERVED_CHARACTER not in word)
        yield line


def _check_words(corpus: WordCorpus, name: str) -> None:
    """Refuse a text without words, or where many words are left out; log how many are.

    Raises:
        UserError: there are none, or too many that cannot be trained on.
    """
    corpus.require_words(name)
    total = len(corpus.tokens)
    holds = np.fromiter((RESERVED_CHARACTER in word for word in corpus.types), bool)
    reserved = int(corpus.counts[holds].sum())
    if reserved > MAX_SKIPPED_SHARE * total:
        raise UserError(
            f"{name}: {reserved} of the {total} words hold {RESERVED_CHARACTER} (U+2585), which "
            "sentencepiece reserves, and would not be trained on; replace this character, for "
            "example by \u2586, or take these words out"
        )
    if reserved:
        log.warning(
            "%s: %d of %d words hold U+2585, which sentencepiece reserves, and are not trained on",
            *(name, reserved, total),
        )


def _explained(error: RuntimeError, size: int, name: str, key: str) -> UserError:
    """Translate an error of sentencepiece into the terms of the configuration.

    Its text is all that sentencepiece tells: every failure of a training run is a RuntimeError, and
    the largest and the least size that a text allows are found by training alone.
    """
    message = str(error)
    if match := re.search(r"value <= (\d+)", message):
        return TooManyPiecesError(size, int(match[1]) - SENTENCEPIECE_SPECIALS, name, key)
    if match := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return TooFewPiecesError(size, int(match[1]) - SENTENCEPIECE_SPECIALS, name, key)
    return UserError(f"{name}: sentencepiece cannot train on it: {message}")


class TooManyPiecesError(UserError):
    """A text yields fewer pieces than were wanted: `largest` at most."""

    def __init__(
        self,
        size: int,
        largest: int,
        name: str,
        key: str,
        advice: str = "set it to that or less, or train on more text",
    ) -> None:
        """Say that the text `name` yields no `size` pieces; key: that the size is from."""
        super().__init__(
            f"{key}: {name} yields no {size} pieces; the largest possible size is {largest}: "
            f"{advice}"
        )
        self.size, self.largest, self.name, self.key = size, largest, name, key
        self.final_sizes = range(0)  # that the largest vocabulary can be pruned to

    def for_pruning(self, pieces: Sequence[str], keys: tuple[str, str]) -> TooManyPiecesError:
        """Return the same with advice for both sizes, the initial and the final one.

        pieces: the largest vocabulary, whose single characters are never pruned. keys: of the
        sizes.
        """
        least, most = sum(map(is_single_character, pieces)), int(self.largest / GROWTH)
        if most <= least:
            advice = (
                f"{least} of these are single characters, which are never pruned; use more text"
            )
            return TooManyPiecesError(self.size, self.largest, self.name, self.key, advice)
        advice = (
            f"set {keys[0]} to that and {keys[1]} to between {least} and {most}, or train on more "
            "text"
        )
        error = TooManyPiecesError(self.size, self.largest, self.name, self.key, advice)
        error.final_sizes = range(least, most + 1)
        return error

    def for_one_size(self, key: str) -> UserError:
        """Return the same for a user who set the final size alone, under `key`."""
        if not self.final_sizes:
            return self
        least, most = self.final_sizes[0], self.final_sizes[-1]
        return UserError(
            f"{key}: {self.name} yields no {self.size} pieces to prune from, a quarter more than "
            f"{key}; set it to between {least} and {most}, or train on more text"
        )


class TooFewPiecesError(UserError):
    """The characters of a text alone exceed a size: they take `least` pieces."""

    def __init__(self, size: int, least: int, name: str, key: str, n_ascii: int = 0) -> None:
        """Say so of the text `name`; n_ascii: how many are there as all of printable ASCII is."""
        counted = f", {n_ascii} of them printable ASCII" if n_ascii else ""
        off = ", or turn vocabulary.ascii off" if n_ascii else ""
        self.least = least
        self._rest = (
            f"are too few for the characters of {name}, which take {least}{counted}; set it to "
            f"more than that, or lower vocabulary.character_coverage{off}"
        )
        super().__init__(f"{key}: {size} pieces {self._rest}")

    def for_one_size(self, key: str, vocab_size: int) -> UserError:
        """Return the same for a user who set the final size alone, under `key`."""
        return UserError(f"{key}: {vocab_size} pieces, pruned from a quarter more, {self._rest}")
