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
from collections.abc import Iterator

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
from sagevocab.pieces import WORD_START
from sagevocab.settings import TrainingSettings

log = logging.getLogger(__name__)

SENTENCEPIECE_SPECIALS = 3  # <unk>, <s> and </s>, which sentencepiece counts into its size
MAX_SKIPPED_SHARE = 0.01
# sentencepiece marks unknown text with it and skips every sentence that has it: here, every word.
RESERVED_CHARACTER = "\u2585"
# UnigramLM adds up its threads' sums, so their number changes the scores: always sentencepiece's
# default.
THREADS = 16
_ERRORS_ONLY = 2
_ANY_LENGTH = 1 << 30  # bytes
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
) -> Model:
    """Train byte-pair encoding or UnigramLM on a corpus.

    Args:
        method: `bpe` or `unigram`.
        corpus: normalised by the rule of the settings.
        size: number of pieces without special tokens; `▁` is always one.
        settings: of sentencepiece.
        key: the setting that the size is from, for messages.
        name: of the text, for messages.

    Returns:
        The model.

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
            raise TooManyPiecesError(size, largest, name, key) from error
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
    model = _normalising(parse_model(buffer.getvalue(), name), settings.normalization)
    found = len(pieces_of_model(model))
    if found != size:
        raise TooManyPiecesError(size, found, name, key)
    return model


def _normalising(model: Model, rule: str) -> Model:
    """Return a model of words as one that normalises text itself, as sentencepiece's are used."""
    for piece in model.pieces:
        piece.piece = piece.piece.replace(_TAB, "\t")
    model.normalizer_spec.name = rule
    model.normalizer_spec.precompiled_charsmap = character_map(rule)
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
    ordinary = ordinary_pieces(model)
    excess = len(ordinary) - size
    if excess <= 0:
        return
    longer = sorted((p for p in ordinary if len(p.piece) > 1), key=lambda piece: piece.score)
    if excess > len(longer):
        least = len(ordinary) - len(longer)
        raise TooFewPiecesError(size, least, name, key)
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

    def __init__(self, size: int, largest: int, name: str, key: str) -> None:
        """Say that the text `name` yields no `size` pieces; key: the setting it is from."""
        super().__init__(
            f"{key}: {name} yields no {size} pieces, {largest} at most; set it to that or less, "
            "and vocab_size below it, or use more text"
        )
        self.largest = largest


class TooFewPiecesError(UserError):
    """The characters of a text alone exceed a size: they take `least` pieces."""

    def __init__(self, size: int, least: int, name: str, key: str) -> None:
        """Say so of the text `name`; key: the setting that the size is from."""
        super().__init__(
            f"{key}: {size} pieces are too few for the characters of {name}, which take {least}; "
            f"set vocab_size to {2 * least} or more (each may be there with ▁, too) and "
            "initial_size above it; or lower vocabulary.character_coverage, or turn "
            "vocabulary.ascii off"
        )
        self.least = least
