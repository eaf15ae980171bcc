"""Vocabularies that sentencepiece trains: BPE and UnigramLM.

Sizes count pieces without special tokens. The results depend on the lines and the settings only,
not on the number of cores.
"""

from __future__ import annotations

import functools
import io
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from sagevocab.errors import UserError
from sagevocab.pieces import WORD_START, is_single_character
from sagevocab.settings import GROWTH, TrainingSettings
from sagevocab.state import atomic_path
from sagevocab.text import read_lines
from sagevocab.words import Normalizer

log = logging.getLogger(__name__)

SENTENCEPIECE_SPECIALS = 3  # <unk>, <s> and </s>, which sentencepiece counts into its size
SIZE_KEYS = ("vocabulary.initial_size", "vocabulary.final_size")  # of the configuration
MAX_SKIPPED_SHARE = 0.01
# sentencepiece marks unknown text with it and skips every line that has it.
RESERVED_CHARACTER = "\u2585"
# UnigramLM adds up its threads' sums, so their number changes the scores: always sentencepiece's
# default.
THREADS = 16
_ERRORS_ONLY = 2


def train_sentencepiece(
    method: str,
    lines_path: str | Path,
    size: int,
    model_path: str | Path,
    settings: TrainingSettings,
    key: str,
    *,
    name: str | None = None,
    size_keys: tuple[str, str] = SIZE_KEYS,
) -> None:
    """Train byte-pair encoding or UnigramLM on the lines of a file; write the sentencepiece model.

    method: `bpe` or `unigram`. size: number of pieces without special tokens; `▁` is always one.
    key: the key that it is from. name: of the text, for messages; the path of the file if left out.
    size_keys: where the user sets the sizes of the initial and of the pruned vocabulary.

    Raises:
        UserError: the lines allow no vocabulary of this size, or too many of them are too long.
    """
    text = lines_path, settings, name or str(lines_path)
    try:
        model = _trained(method, size, *text, key)
    except TooManyPiecesError as error:
        if method == "unigram" and key != size_keys[0]:
            raise
        # BPE of the initial size is of the same text, so both sizes have to change.
        pieces = pieces_of_model(_trained(method, error.largest, *text, key))
        raise error.for_pruning(pieces, size_keys) from error
    with atomic_path(model_path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def _trained(
    method: str,
    size: int,
    lines_path: str | Path,
    settings: TrainingSettings,
    name: str,
    key: str,
) -> Model:
    lines = TrainableLines(lines_path, settings.max_sentence_length, name)
    buffer = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=buffer,
            model_type=method,
            vocab_size=size + SENTENCEPIECE_SPECIALS,
            hard_vocab_limit=True,
            character_coverage=settings.character_coverage,
            max_sentencepiece_length=settings.max_piece_length,
            max_sentence_length=settings.max_sentence_length,
            normalization_rule_name=settings.normalization,
            required_chars=WORD_START + printable_ascii(settings),
            num_threads=THREADS,
            minloglevel=_ERRORS_ONLY,
        )
    except RuntimeError as error:
        lines.check()
        raise _explained(error, size, name, key, settings) from error
    lines.check()
    model = _parsed(buffer.getvalue(), name)
    found = len(pieces_of_model(model))
    if found != size:
        raise TooManyPiecesError(size, found, name, key)
    # So the model of a text that has all these characters is the one without this requirement.
    model.trainer_spec.ClearField("required_chars")
    return model


def printable_ascii(settings: TrainingSettings) -> str:
    """Return the printable ASCII characters that are pieces in any case; folded case has no A-Z.

    `▁`, which greedy segmentation needs however rare it is, is no part of it.
    """
    if not settings.ascii:
        return ""
    normalize = Normalizer(settings.normalization)
    return "".join(one for one in map(chr, range(0x21, 0x7F)) if normalize(one) == one)


train_bpe = functools.partial(train_sentencepiece, "bpe")
train_unigram = functools.partial(train_sentencepiece, "unigram")


class TrainableLines:
    """The lines of a file that sentencepiece trains on, with a count of those that it skips.

    sentencepiece silently skips long lines and lines with the character that it reserves. An error
    while reading ends the lines and `check` raises it, because it must not pass through
    sentencepiece.
    """

    def __init__(self, path: str | Path, max_bytes: int, name: str) -> None:
        """Prepare to read `path`; messages call it `name`."""
        self.path, self.max_bytes, self.name = path, max_bytes, name
        self.total = self.too_long = self.reserved = 0
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[str]:
        """Yield the lines that can be trained on."""
        try:
            yield from filter(self._counted, read_lines(self.path))
        except Exception as error:  # kept for check()
            self._error = error

    def _counted(self, line: str) -> bool:
        too_long = len(line.encode("utf-8")) > self.max_bytes
        reserved = RESERVED_CHARACTER in line
        self.total += 1
        self.too_long += too_long
        self.reserved += reserved and not too_long
        return not (too_long or reserved)

    def check(self) -> None:
        """Raise what stopped the reading; log what was skipped.

        Raises:
            UserError: too many of the lines cannot be trained on.
        """
        if self._error is not None:
            raise self._error
        log.log(
            logging.WARNING if self.too_long or self.reserved else logging.INFO,
            "%s: of %d lines, sentencepiece leaves out %d as longer than %d bytes "
            "(max_sentence_length) and %d for holding U+2585, which it reserves",
            *(self.name, self.total, self.too_long, self.max_bytes, self.reserved),
        )
        if self.reserved > MAX_SKIPPED_SHARE * self.total:
            raise UserError(
                f"{self.name}: {self.reserved} of the {self.total} lines hold {RESERVED_CHARACTER} "
                "(U+2585), which sentencepiece reserves, and would not be trained on; replace "
                "this character, for example by \u2586, or leave these lines out"
            )
        if self.too_long > MAX_SKIPPED_SHARE * self.total:
            raise UserError(
                f"vocabulary.max_sentence_length: {self.too_long} of the {self.total} lines of "
                f"{self.name} are longer than {self.max_bytes} bytes and would not be trained on; "
                "raise it, or cut the lines into sentences"
            )


def _explained(
    error: RuntimeError, size: int, name: str, key: str, settings: TrainingSettings
) -> UserError:
    """Translate an error of sentencepiece into the terms of the configuration.

    Its text is all that sentencepiece tells: every failure of a training is a RuntimeError, and
    the largest and the least size that a text allows are found by training alone.
    """
    message = str(error)
    if match := re.search(r"value <= (\d+)", message):
        return TooManyPiecesError(size, int(match[1]) - SENTENCEPIECE_SPECIALS, name, key)
    if match := re.search(r"required_chars\. \d+ vs (\d+)", message):
        needed = int(match[1]) - SENTENCEPIECE_SPECIALS
        return too_small(size, needed, name, key, len(printable_ascii(settings)))
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return UserError(f"{name}: holds no words; give a text with words")
    return UserError(f"{name}: sentencepiece cannot train on it: {message}")


class TooManyPiecesError(UserError):
    """A text yields fewer pieces than were asked for: `largest` at most."""

    def __init__(
        self, size: int, largest: int, name: str, key: str, advice: str = "set it to that or less"
    ) -> None:
        """Say that the text `name` yields no `size` pieces; key: that the size is from."""
        super().__init__(
            f"{key}: {name} yields no {size} pieces; the largest possible size is {largest}: "
            f"{advice}, or train on more text"
        )
        self.size, self.largest, self.name, self.key = size, largest, name, key
        self.final_sizes = range(0)  # that the largest vocabulary can be pruned to

    def for_pruning(self, pieces: Sequence[str], keys: tuple[str, str]) -> TooManyPiecesError:
        """Return the same with advice for both sizes, the initial and the final one.

        pieces: the largest vocabulary, whose single characters are never pruned. keys: of the
        sizes.
        """
        least = sum(map(is_single_character, pieces))
        most = max(least, int(self.largest / GROWTH))
        final = f"between {least} and {most}" if least < most else str(least)
        advice = f"set {keys[0]} to that and {keys[1]} to {final}"
        error = TooManyPiecesError(self.size, self.largest, self.name, self.key, advice)
        error.final_sizes = range(least, int(self.largest / GROWTH) + 1)
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


def too_small(size: int, least: int, name: str, key: str, n_ascii: int = 0) -> UserError:
    """Return the error of a size that the characters of the text `name` alone exceed.

    n_ascii: how many of them are there because all of printable ASCII is.
    """
    told = f", {n_ascii} of them printable ASCII" if n_ascii else ""
    off = ", or turn vocabulary.ascii off" if n_ascii else ""
    return UserError(
        f"{key}: {size} pieces are too few for the characters of {name}, which take {least}{told}; "
        f"set it to more than that, or lower vocabulary.character_coverage{off}"
    )


# --- what a sentencepiece model holds

Model = sentencepiece_model_pb2.ModelProto


def read_model(path: str | Path) -> Model:
    """Read a sentencepiece model.

    Raises:
        UserError: the file is missing or holds no such model.
    """
    try:
        return _parsed(Path(path).read_bytes(), path)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); name a sentencepiece .model file"
        ) from error


def _parsed(data: bytes, path: str | Path) -> Model:
    model = Model()
    try:
        model.ParseFromString(data)
    except DecodeError:
        model.Clear()
    if not model.pieces:
        raise UserError(
            f"{path}: is no sentencepiece model, or was cut; copy it again or train it again, or, "
            "if it is a list of pieces, let its name end in .txt"
        )
    return model


def _own_pieces(model: Model) -> list[Model.SentencePiece]:
    specials = (Model.SentencePiece.UNKNOWN, Model.SentencePiece.CONTROL)
    return [piece for piece in model.pieces if piece.type not in specials]


def pieces_of_model(model: Model) -> list[str]:
    """Return the pieces in id order, without special tokens."""
    return [piece.piece for piece in _own_pieces(model)]


def scores_of_model(model: Model) -> list[float]:
    """Return the scores of `pieces_of_model`: log probabilities, or minus the rank of a merge."""
    return [piece.score for piece in _own_pieces(model)]


def merges_of_model(model: Model) -> list[tuple[str, str]]:
    """Return the byte-pair merges by rank.

    sentencepiece merges two neighbours whenever their concatenation is a piece, the best-ranked
    piece first: so every way to cut a piece into two pieces is a merge of that piece's rank.
    """
    scores = dict(zip(pieces_of_model(model), scores_of_model(model), strict=True))
    ranked = sorted(scores, key=lambda piece: -scores[piece])
    return [
        (piece[:cut], piece[cut:])
        for piece in ranked
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]
