"""From text to a SaGe tokenizer in one call.

The steps are the workflow's: lines -> initial vocabulary -> words -> embeddings -> pruning.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sagevocab import __version__
from sagevocab.corpus.coverage import unknown_characters, visible
from sagevocab.corpus.lines import Text, Texts, describe_texts, lines_of
from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import SettingError, UserError
from sagevocab.files import fingerprint
from sagevocab.huggingface.detect import name_of
from sagevocab.huggingface.export import Card, check_output
from sagevocab.huggingface.pipelines import Frame, HubFrame, WordFrame
from sagevocab.huggingface.special_tokens import BERT, SpecialTokens, special_tokens_of
from sagevocab.initial.byte_bpe import lossless_frame
from sagevocab.initial.sentencepiece_models import TooFewPiecesError, TooManyPiecesError
from sagevocab.initial.vocabulary import (
    METHODS,
    InitialVocabulary,
    read_initial,
    train_initial,
    train_lossless,
)
from sagevocab.option_names import PARAMETERS, assigned, errors_in_parameters
from sagevocab.pieces import WORD_START, is_single_character
from sagevocab.presets import DEFAULT_PRESET
from sagevocab.progress import Listener, Progress
from sagevocab.progress_bar import listener
from sagevocab.pruning.sage import build_sage, check_sizes, initial_embeddings
from sagevocab.segmentation.segmenter import make_segmenter
from sagevocab.settings import (
    DEFAULT_SEED,
    GROWTH,
    SageSettings,
    TrainingSettings,
    VocabularyKeys,
    Word2VecSettings,
    WordSettings,
    check_pruning,
    settings_from,
)
from sagevocab.versions import package_versions
from sagevocab.vocabulary import SageVocabulary
from sagevocab.word2vec.embeddings import require_trainer

log = logging.getLogger(__name__)

# Words of text for each piece; measured in docs/guide.md, "How much text".
_WORDS_A_PIECE = 30
_LONG_WORD = 20  # characters of a mean word: so long ones are of a text that does not space words
_NON_JOINER = "\u200c"
_BYTES = 256
_SHOWN = 20  # characters that a message lists


@dataclass(frozen=True)
class TrainSettings:
    """The settings that make a vocabulary of a text.

    initial: `bpe`, `unigram` or a vocabulary to prune (see `initial.read_initial`). vocabulary: of
    an initial vocabulary that is trained here. given: the keys of `vocabulary` that the user set.
    specials: None for those of the initial vocabulary, or BERT's.
    """

    initial: Any
    lossless: bool
    vocabulary: VocabularyKeys
    given: Mapping[str, Any]
    sage: SageSettings
    word2vec: Word2VecSettings
    specials: SpecialTokens | None

    def __post_init__(self) -> None:
        """Check at once what needs no text.

        Raises:
            UserError: two settings do not go together.
        """
        if self.lossless and (not self.is_trained or self.initial == "unigram"):
            raise UserError(
                f"lossless: pieces of bytes are trained, not pruned from {self.initial_name}; "
                "leave initial= or lossless= out"
            )
        for name in self.given:
            if name not in self._used:
                raise SettingError(f"vocabulary.{name}", f"{self._reason}; leave it out")
        if self.is_trained:
            check_pruning(self.vocabulary.initial_size, self.sage)
        if self.initial == "unigram":
            _check_merges(self.sage, None)
        if self.sage.contexts != "zero":
            require_trainer(self.word2vec)

    @property
    def is_trained(self) -> bool:
        """Whether the initial vocabulary is trained on the text."""
        return isinstance(self.initial, str) and self.initial in METHODS

    @property
    def _used(self) -> tuple[str, ...]:
        """The keys of `vocabulary` that change something."""
        if self.lossless:
            return ("initial_size", "max_piece_length", "max_word_chars")
        if not self.is_trained:
            return ("normalization", "max_word_chars")
        return tuple(VocabularyKeys.__pydantic_fields__)

    @property
    def _reason(self) -> str:
        if self.lossless:
            return "has no meaning with lossless=True, whose pieces are made of all bytes"
        return f"is for a vocabulary that is trained on the text, not for {self.initial_name}"

    def frame(self) -> WordFrame | HubFrame:
        """Return the frame of an initial vocabulary that is trained on the text.

        Raises:
            UserError: a special token cannot be used.
        """
        specials = self.specials or BERT
        if self.lossless:
            return lossless_frame(specials, self.vocabulary.max_word_chars)
        return WordFrame(_part(WordSettings, self.vocabulary), specials)

    @property
    def initial_name(self) -> str:
        """What the initial vocabulary is called."""
        return name_of(self.initial)

    def described(self) -> dict[str, Any]:
        """Return the settings for a record; where the work is done is none of them."""
        vocabulary = vars(self.vocabulary) if self.is_trained else self.given
        return {
            "initial": self.initial_name,
            "lossless": self.lossless,
            "sage": self.sage.described(),
            "word2vec": self.word2vec.described(),
            "vocabulary": {name: vocabulary[name] for name in self._used if name in vocabulary},
        }


def train(
    texts: Texts,
    vocab_size: int = VocabularyKeys.vocab_size,
    *,
    column: str | None = None,
    initial_size: int | None = None,
    initial: Any = "bpe",
    lossless: bool = False,
    special_tokens: str | Sequence[str] | None = None,
    template: str | Sequence[str] | None = None,
    model_max_length: int | None = None,
    preset: str = DEFAULT_PRESET,
    sage: Mapping[str, Any] | None = None,
    word2vec: Mapping[str, Any] | None = None,
    vocabulary: Mapping[str, Any] | None = None,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    bad_text: str = "refuse",
    language: str = "und",
    name: str = "Unnamed language",
    output: str | Path | None = None,
    force: bool = False,
    progress: Listener | bool = True,
) -> SageVocabulary:
    """Train a SaGe vocabulary on text.

    texts: a file of lines (plain, gz, bz2, xz, zst), `-` for standard input, a list of files, or
        any iterable of lines. column: of the one that holds the text, if `texts` are tables (jsonl,
        csv, tsv, parquet), a data set, a data frame or an iterable of rows.
    vocab_size: pieces in the end, without special tokens. initial_size: pieces to prune from; a
        quarter more than vocab_size if left out, as in the paper.
    initial: what to prune: `bpe` or `unigram`, trained on the text by sentencepiece; or what one
        already has: a list of pieces (a file or a Python list), a sentencepiece `.model`, a
        Hugging Face folder or `tokenizer.json`, a folder of this library, or a tokenizer of
        `transformers` or `tokenizers`. Those of Hugging Face keep their normalisation, splitting
        into words and special tokens; the result segments by greedy longest match.
    lossless: pieces of bytes instead of characters, trained by `tokenizers`: decoding gives every
        text back, and nothing is unknown. Nothing is normalised; runs of white space are words.
        Lengths of pieces and words (`max_piece_length`, `max_word_chars`) count bytes.
    special_tokens: `bert` (the default), `gpt` (`<|endoftext|>`), `none`, or a list, whose roles
        are found by well-known spellings such as `<pad>`; `[UNK]` is added if no unknown token is
        among them, unless lossless. template: what goes around a text, such as `<s> $A </s>`, or
        that and what goes around two. model_max_length: in tokens; 512 for `bert`, else none.
    preset: `printed` (the paper as printed), `released` (the program published for it) or `counts`
        (a count that chooses much as `released` does, without Word2Vec).
    sage, word2vec, vocabulary: single settings by name, those of `SageSettings`,
        `Word2VecSettings` and `VocabularyKeys` in `sagevocab.settings`.
    threads: cores; those at hand if left out. They change no byte of the outcome.
    bad_text: what to do with a line or row that is not UTF-8, or holds half a surrogate pair or a
        NUL: `refuse`, `replace` (by U+FFFD) or `skip`.
    language, name: code and name of the language, for the model card.
    output, force: save the result there (see `SageVocabulary.save`).
    progress: True shows stages and remaining time on standard error, False nothing; or a function
        that is called with a `Progress` whenever a stage begins or a part of it is done.

    Raises:
        UserError: a mistake in the text or the settings, in one line.
    """
    with errors_in_parameters():
        sections = {"sage": sage, "word2vec": word2vec, "vocabulary": vocabulary}
        text = Text(describe_texts(texts), lines_of(texts, column, bad_text))
        sizes = vocab_size, initial_size
        settings = TrainSettings(
            initial=initial,
            lossless=lossless,
            **_numbers(sizes, preset, sections, seed, threads),
            specials=_specials(special_tokens, template, model_max_length, lossless),
        )
        _check_language(language)
        joiners = _Joiners(text.lines)
        text = text._replace(lines=iter(joiners))
        if output is not None:
            check_output(output, force)
        source = {"kind": "text", "name": "text", "title": text.name}
        card = Card(language, name, "SaGe", source, _card_settings(preset, settings))
        with listener(progress) as report, _advice_on_one_size(vocab_size, initial_size):
            result = SageVocabulary(**_train(text, settings, report), card=card)
        if output is not None:
            result.save(output, force=force)
    _warn_of_unknown(result, text.name, from_text=settings.is_trained)
    _warn_of_joiners(joiners.count, result.frame, text.name, from_text=settings.is_trained)
    return result


def _check_language(language: str) -> None:
    is_code = isinstance(language, str) and re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", language)
    if not is_code:
        raise UserError(
            f"language: {language!r} is not a language code; give one like sw or zh-Hant"
        )


@contextmanager
def _advice_on_one_size(vocab_size: int, initial_size: int | None) -> Iterator[None]:
    """Advise on the final size alone where the user did not set the initial one."""
    try:
        yield
    except TooManyPiecesError as error:
        raise error.for_one_size("vocab_size") if initial_size is None else error from None
    except TooFewPiecesError as error:
        if initial_size is not None:
            raise
        raise error.for_one_size("vocab_size", vocab_size) from None


def _numbers(
    sizes: tuple[int, int | None],
    preset: str,
    sections: Mapping[str, Mapping[str, Any] | None],
    seed: int,
    threads: int | None,
) -> dict[str, Any]:
    """Return settings of a training run by name; sizes: final, and initial or None if left out."""
    given = {section: _section(section, values) for section, values in sections.items()}
    if sizes[1] is not None:
        given["vocabulary"]["initial_size"] = sizes[1]
    vocabulary = VocabularyKeys(**given["vocabulary"], vocab_size=sizes[0])
    vocab_size = vocabulary.vocab_size
    if sizes[1] is None:
        vocabulary = dataclasses.replace(vocabulary, initial_size=round(GROWTH * vocab_size))
    cores = _cores() if threads is None else threads
    sage = {**given["sage"], "vocab_size": vocab_size, "seed": seed, "threads": cores}
    return {
        "vocabulary": vocabulary,
        "given": given["vocabulary"],
        "sage": settings_from(preset, **sage),
        "word2vec": Word2VecSettings(**given["word2vec"], seed=seed).on(cores),
    }


def _specials(
    special_tokens: str | Sequence[str] | None,
    template: str | Sequence[str] | None,
    model_max_length: int | None,
    lossless: bool,
) -> SpecialTokens | None:
    """Return the special tokens that the arguments mean; None if there are none of them."""
    if special_tokens is None and template is None and model_max_length is None:
        return None
    kind = "bert" if special_tokens is None else special_tokens
    return special_tokens_of(
        kind, template=template, model_max_length=model_max_length, lossless=lossless
    )


def _section(section: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the single settings of a section; refuse those that are parameters of their own."""
    if not isinstance(values or {}, Mapping):
        raise UserError(f"{section}: {values!r:.40} is not a dictionary; give settings by name")
    for name in values or {}:
        own = name if name in PARAMETERS.values() else PARAMETERS.get(f"{section}.{name}")
        if own:
            raise UserError(f"{section}: {name!r} is set by {own}; give that")
    return dict(values or {})


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _part(kind: type, settings: VocabularyKeys) -> Any:
    """Make settings of those that are theirs."""
    return kind(**{field.name: getattr(settings, field.name) for field in dataclasses.fields(kind)})


# --- the steps


def _train(text: Text, settings: TrainSettings, progress: Listener) -> dict[str, Any]:
    """Train, and return the fields of a `SageVocabulary` that the training decides."""
    sage, word2vec = settings.sage, settings.word2vec
    initial, corpus = _initial_and_corpus(text, settings, progress)
    pieces, merges = initial.pieces, initial.merges
    if sage.contexts != "zero":
        progress(Progress("word2vec", 0, word2vec.epochs))
    segmenter = make_segmenter(sage.decoder, pieces, merges)
    embeddings = initial_embeddings(corpus, segmenter, sage, word2vec, progress)
    progress(Progress("pruning", 0, len(pieces) - sage.vocab_size))
    built = build_sage(corpus, pieces, merges, embeddings, sage, word2vec, progress=progress)
    return {
        "pieces": built.pieces,
        "initial": pieces,
        "ablations": built.ablations,
        "embeddings": built.embeddings,
        "frame": initial.frame,
        "unknown": unknown_characters(corpus, pieces),
        "record": _record(settings, corpus, initial),
    }


def _initial_and_corpus(
    text: Text, settings: TrainSettings, progress: Listener
) -> tuple[InitialVocabulary, WordCorpus]:
    """Return what is pruned and the words; refuse before Word2Vec what pruning would refuse."""
    own = None if settings.is_trained else _own_initial(settings)
    frame = settings.frame() if own is None else own.frame
    progress(Progress("reading text"))
    corpus = _corpus(text, frame)
    if own is None:
        progress(Progress("initial vocabulary"))
    initial = own or _trained_initial(corpus, settings, frame, text.name)
    _warn_of_little_text(text.name, corpus, initial.pieces, settings.sage.vocab_size)
    return initial, corpus


def _own_initial(settings: TrainSettings) -> InitialVocabulary:
    initial = read_initial(settings.initial, settings.given, settings.specials)
    _check_initial(initial, settings.sage)
    return initial


def _trained_initial(
    corpus: WordCorpus, settings: TrainSettings, frame: Frame, name: str
) -> InitialVocabulary:
    sizes = settings.vocabulary.initial_size, _part(TrainingSettings, settings.vocabulary)
    if isinstance(frame, HubFrame):
        if settings.sage.vocab_size < _BYTES:
            raise SettingError(
                "vocabulary.vocab_size",
                f"{settings.sage.vocab_size} is below the {_BYTES} bytes, which are never pruned; "
                "raise it",
            )
        initial = train_lossless(corpus, *sizes, frame, name)
    else:
        initial = train_initial(settings.initial, corpus, *sizes, frame, name)
    _check_initial(initial, settings.sage)
    return initial


def _check_initial(initial: InitialVocabulary, sage: SageSettings) -> None:
    check_sizes(initial.pieces, sage)
    _check_merges(sage, initial.merges)


def _corpus(text: Text, frame: Frame) -> WordCorpus:
    corpus = frame.corpus_of(text.lines)
    corpus.require_words(text.name)
    log.info(
        "%s: %d lines, %d words, %d of them distinct",
        *(text.name, corpus.n_lines, len(corpus.tokens), len(corpus.types)),
    )
    return corpus


def _warn_of_little_text(
    name: str, corpus: WordCorpus, pieces: Sequence[str], vocab_size: int
) -> None:
    n_words = len(corpus.tokens)
    # What spaces separate is a word in the languages that were measured, and no word in others.
    has_words = _characters(corpus) <= _LONG_WORD * n_words
    if n_words >= _WORDS_A_PIECE * vocab_size or not has_words:
        return
    enough = n_words // _WORDS_A_PIECE
    is_possible = enough > sum(map(is_single_character, pieces))
    log.warning(
        "%s: %s words are few for %s pieces (%d each): with fewer than %d each, a quarter of the "
        "pieces or more would differ with more text; give more text or a smaller vocab_size%s",
        *(name, f"{n_words:,}", f"{vocab_size:,}", n_words // vocab_size, _WORDS_A_PIECE),
        f", such as {enough}" if is_possible else "",
    )


def _warn_of_unknown(vocabulary: SageVocabulary, name: str, *, from_text: bool) -> None:
    """Say which characters become [UNK]; from_text: whether the text made the initial pieces."""
    if not (unknown := vocabulary.unknown):
        return
    count, each = len(unknown), "it becomes" if len(unknown) == 1 else "each becomes"
    shown = ", ".join(visible(character) for character in list(unknown)[:_SHOWN])
    if count > _SHOWN:
        shown += ", ..."
    coverage = assigned("vocabulary.character_coverage", 1.0)
    log.warning(
        "%s: %s no piece, so %s %s (%s times: %s); %s",
        *(name, "1 character has" if count == 1 else f"{count:,} characters have", each),
        *(vocabulary.frame.unknown, f"{sum(unknown.values()):,}"),
        shown,
        f"to keep them, train with {coverage}, or lossless=True"
        if from_text
        else "to keep them, add them to the initial vocabulary",
    )


class _Joiners:
    """Lines, which count their zero-width non-joiners while they are read."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.count = lines, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.count += line.count(_NON_JOINER)
            yield line


def _warn_of_joiners(count: int, frame: Frame, name: str, *, from_text: bool) -> None:
    """Say that words fall in two at U+200C, where the normalisation makes a space of it.

    Persian and others write it inside words. from_text: whether the text made the initial pieces.
    """
    if not count or len(frame.words_of(f"a{_NON_JOINER}a")) < 2:
        return
    nfkc = assigned("vocabulary.normalization", "nfkc")
    log.warning(
        "%s: the normalisation makes a space of U+200C (zero-width non-joiner), so words fall in "
        "two there (%s times); to keep it, %s",
        *(name, f"{count:,}"),
        f"train with {nfkc}, or lossless=True"
        if from_text
        else "start from a tokenizer with another normalisation",
    )


def _check_merges(sage: SageSettings, merges: list[tuple[str, str]] | None) -> None:
    if sage.decoder == "merges" and merges is None:
        raise UserError(
            "sage.decoder: merges needs an initial vocabulary with merges, which neither UnigramLM "
            "nor a list of pieces has; start from bpe or a BPE .model, or use greedy"
        )


def _record(
    settings: TrainSettings, corpus: WordCorpus, initial: InitialVocabulary
) -> dict[str, Any]:
    return {
        "settings": settings.described(),
        "words": initial.frame.described(),
        "text": {
            "lines": corpus.n_lines,
            "words": len(corpus.tokens),
            "distinct_words": len(corpus.types),
            "characters": _characters(corpus),
            "digest": corpus.digest(),
        },
        "initial": {"pieces": len(initial.pieces), "digest": fingerprint(initial.pieces)},
        "version": __version__,
        "packages": package_versions(),
        "python": platform.python_version(),
    }


def _characters(corpus: WordCorpus) -> int:
    """Return the number of characters in the words of a corpus, without `▁`."""
    lengths = [len(word.removeprefix(WORD_START)) for word in corpus.types]
    return int(corpus.counts @ np.array(lengths, dtype=np.int64))


def _card_settings(preset: str, settings: TrainSettings) -> dict[str, Any]:
    return {
        "Preset": f"`{preset}`",
        "Pruned from": f"`{Path(settings.initial_name).name}`",
        "Skip-gram epochs": settings.word2vec.epochs,
        "Seed": settings.sage.seed,
    }
