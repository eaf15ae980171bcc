"""The vocabulary that SaGe prunes: trained by sentencepiece, or what one already has."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import SettingError, UserError
from sagevocab.huggingface.detect import ADVICE, kind_of, name_of
from sagevocab.huggingface.markers import piece_of_letters
from sagevocab.huggingface.pipelines import BytePipeline, Pipeline, WordPipeline
from sagevocab.huggingface.sentencepiece import (
    Model,
    is_bpe,
    merges_of_model,
    open_model,
    pieces_of_model,
    special_tokens_of_model,
)
from sagevocab.huggingface.special_tokens import BERT, SpecialTokens
from sagevocab.initial.byte_bpe import train_bytes
from sagevocab.initial.sentencepiece_models import train_sentencepiece
from sagevocab.pieces import listed_pieces, tokens_by_id, with_characters
from sagevocab.settings import TrainingSettings, WordSettings

METHODS = ("bpe", "unigram")
_SIZE = "initial_size"  # the argument of `training.train`, for messages


@dataclass(frozen=True)
class InitialVocabulary:
    """A vocabulary to prune.

    merges: by rank; None where there are none. pipeline: all the rest of its tokenizer.
    """

    pieces: list[str]
    merges: list[tuple[str, str]] | None
    pipeline: Pipeline


def train_initial(
    method: str,
    corpus: WordCorpus,
    size: int,
    settings: TrainingSettings,
    pipeline: Pipeline,
    name: str,
) -> InitialVocabulary:
    """Train sentencepiece's BPE or UnigramLM on a corpus, or byte-level BPE.

    Args:
        method: `bpe` or `unigram`; without meaning for a `BytePipeline`.
        corpus: what is trained on.
        size: number of pieces without special tokens.
        settings: of sentencepiece; of them, bytes have the longest piece alone.
        pipeline: all of the tokenizer but its pieces; with a `BytePipeline`, pieces are bytes.
        name: of the text, for messages.

    Returns:
        The vocabulary.

    Raises:
        UserError: the text allows no vocabulary of this size.
    """
    if isinstance(pipeline, BytePipeline):
        longest = settings.max_piece_length
        trained = train_bytes(corpus, size, pipeline, longest, name=name, key=_SIZE)
        pieces = list(map(piece_of_letters, tokens_by_id(trained)))
        merges = json.loads(trained.to_str())["model"]["merges"]
        pairs = [(piece_of_letters(left), piece_of_letters(right)) for left, right in merges]
        return InitialVocabulary(pieces, pairs, pipeline)
    model = train_sentencepiece(method, corpus, size, settings, _SIZE, name=name)
    return InitialVocabulary(pieces_of_model(model), _merges(model), pipeline)


def read_initial(
    source: Any, words: Mapping[str, Any] = {}, specials: SpecialTokens | None = None
) -> InitialVocabulary:
    """Read a vocabulary to prune.

    Args:
        source: a list of pieces (a file with one a line, or a Python list; `▁` at the start of
            words), or a sentencepiece `.model`, which keeps its normalisation and special tokens.
        words: those of `WordSettings` that the user sets, where the source leaves them open.
        specials: those of the source, or BERT's, if left out.

    Returns:
        The vocabulary.

    Raises:
        UserError: it is none of these, or brings itself what is set.
    """
    if not isinstance(source, str | os.PathLike):
        if not isinstance(source, Sequence):
            raise _finished(source)
        return _read_list(source, words, specials)
    path = Path(source)
    if not path.exists():
        raise UserError(
            f"initial: {path} is neither bpe nor unigram nor a file; give one of these two, a list "
            f"of pieces or a sentencepiece .model; {ADVICE}"
        )
    if kind_of(path) == "hub":
        raise _finished(path)
    read = _read_model if kind_of(path) == "model" else _read_list
    return read(path, words, specials)


def _finished(source: Any) -> UserError:
    """Return the error for a tokenizer that is finished, and has more than pieces."""
    return UserError(
        f"initial: {name_of(source)} is not a list of pieces or a sentencepiece .model; give one "
        "(a folder's pieces.txt is a list), or take entries away from it with sagevocab.prune"
    )


def _read_list(
    source: Path | Sequence[Any], words: Mapping[str, Any], specials: SpecialTokens | None
) -> InitialVocabulary:
    pieces = listed_pieces(source, "initial")
    return InitialVocabulary(pieces, None, WordPipeline(WordSettings(**words), specials or BERT))


def _read_model(
    path: Path, words: Mapping[str, Any], specials: SpecialTokens | None
) -> InitialVocabulary:
    """Read a sentencepiece model; its control symbols are special tokens."""
    model, rule = open_model(path, "initial")
    if "normalization" in words:
        reason = f"{name_of(path)} brings one; leave it out"
        raise SettingError("vocabulary.normalization", reason)
    controls = special_tokens_of_model(model)
    pipeline = WordPipeline(WordSettings(rule, **words), specials or controls)
    return InitialVocabulary(
        with_characters(pieces_of_model(model), path), _merges(model), pipeline
    )


def _merges(model: Model) -> list[tuple[str, str]] | None:
    return merges_of_model(model) if is_bpe(model) else None
