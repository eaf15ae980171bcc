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
from sagevocab.corpus.text import Texts, describe_texts, lines_of, paths_of
from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import SettingError, UserError
from sagevocab.files import fingerprint
from sagevocab.huggingface.detect import name_of
from sagevocab.huggingface.export import Card, check_output
from sagevocab.huggingface.pipelines import BytePipeline, Pipeline, WordPipeline
from sagevocab.huggingface.special_tokens import BERT, SpecialTokens, special_tokens_of
from sagevocab.initial.vocabulary import (
    METHODS,
    InitialVocabulary,
    read_initial,
    train_initial,
)
from sagevocab.pieces import WORD_START
from sagevocab.presets import DEFAULT_PRESET
from sagevocab.progress import Listener, Progress
from sagevocab.progress_bar import listener
from sagevocab.pruning.sage import build_sage, check_sizes, initial_embeddings
from sagevocab.segmentation.segmenter import make_segmenter
from sagevocab.settings import (
    DEFAULT_SEED,
    GROWTH,
    RELEASED,
    SageSettings,
    VocabularyKeys,
    Word2VecSettings,
    check_pruning,
    refuse_unread,
    settings_from,
)
from sagevocab.validation import check_flags
from sagevocab.versions import package_versions
from sagevocab.vocabulary import SageVocabulary
from sagevocab.word2vec.embeddings import require_trainer

log = logging.getLogger(__name__)

# Words of text for each piece; measured in docs/guide.md, "How much text".
_WORDS_A_PIECE = 30
_LONG_WORD = 20  # characters of a mean word: so long ones are of a text that does not space words
_NON_JOINER = "\u200c"
_SHOWN = 20  # characters that a message lists
# Keys of settings that are parameters of `train`, whatever section they are in.
_PARAMETERS = ("vocab_size", "initial_size", "preset", "seed", "threads")


def train(
    texts: Texts,
    vocab_size: int = VocabularyKeys.vocab_size,
    *,
    column: str | None = None,
    initial_size: int | None = None,
    initial: Any = "bpe",
    lossless: bool = False,
    special_tokens: str | Sequence[str] | None = None,
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

    Args:
        texts: a file of lines (plain, gz, bz2, xz, zst), `-` for standard input, a list of files,
            or any iterable of lines; or tables (jsonl, csv, tsv, parquet), a data set, a data
            frame, an iterable of rows.
        vocab_size: pieces in the end, without special tokens.
        column: of tables, the one that holds the text.
        initial_size: pieces to prune from; a quarter more than vocab_size if left out, as in the
            paper.
        initial: what to prune: `bpe` or `unigram`, trained on the text by sentencepiece; or what
            one already has: a list of pieces (a file or a Python list) or a sentencepiece
            `.model`. The result segments by greedy longest match.
        lossless: pieces of bytes instead of characters, trained by `tokenizers`: decoding gives
            every text back, and nothing is unknown. Nothing is normalised; runs of white space are
            words. Lengths of pieces and words (`max_piece_length`, `max_word_chars`) count bytes.
        special_tokens: `bert` (the default), `gpt` (`<|endoftext|>`), `none`, or a list, whose
            roles are found by well-known spellings such as `<pad>`; `[UNK]` is added if no unknown
            token is among them, unless lossless.
        preset: `printed` (the paper as printed), `released` (the program published for it,
            exactly), `released_loss` (its loss without the details of its code), `counts` (a
            count that chooses much as that loss does, without Word2Vec) or `bigram_code` (bits that
            a code of the text grows by, without Word2Vec).
        sage: single settings of the pruning by name, those of `settings.SageSettings`.
        word2vec: those of `settings.Word2VecKeys`.
        vocabulary: those of `settings.VocabularyKeys`.
        seed: of all that is drawn; with `released`, of the vectors alone.
        threads: cores; those at hand if left out. They change no byte of the outcome.
        bad_text: what to do with a line or row that is not UTF-8, or holds half a surrogate pair or
            a NUL: `refuse`, `replace` (by U+FFFD) or `skip`.
        language: code of the language, for the model card.
        name: name of the language, for the model card.
        output: save the result there.
        force: replace a tokenizer that is there.
        progress: True shows stages and remaining time on standard error, False nothing; or a
            function that is called with a `Progress` whenever a stage begins or a part of it is
            done.

    Returns:
        The vocabulary, which encodes, and which `save` writes.

    Raises:
        UserError: a mistake in the text or the settings, in one line.
    """
    with _errors_of_parameters():
        check_flags(lossless=lossless, force=force)
        lines, place = _CountedLines(lines_of(texts, column, bad_text)), describe_texts(texts)
        sections = {"vocabulary": vocabulary, "word2vec": word2vec, "sage": sage}
        numbers = {"vocab_size": vocab_size, "initial_size": initial_size}
        settings = _settings(initial, lossless, preset, sections, numbers, seed, threads)
        specials = None
        if special_tokens is not None:
            specials = special_tokens_of(special_tokens, lossless=lossless)
        _check_language(language)
        sources = read_files(texts, initial)
        if output is not None:
            check_output(output, force, sources)
        start = None
        if not settings.is_trained:
            start = read_initial(initial, settings.given["vocabulary"], specials)
            _check_initial(start, settings)
        pipeline = start.pipeline if start else _pipeline(settings, specials or BERT)
        with listener(progress) as report:
            report(Progress("reading text"))
            corpus = _read(lines, place, pipeline)
            if start is None:
                report(Progress("initial vocabulary"))
                keys = settings.vocabulary
                start = train_initial(initial, corpus, keys.initial_size, keys, pipeline, place)
                _check_initial(start, settings)
            _warn_of_little_text(place, corpus, settings.sage.vocab_size)
            if settings.sage.has_vectors:
                report(Progress("word2vec", 0, settings.word2vec.epochs))
            segmenter = make_segmenter(settings.sage.decoder, start.pieces, start.merges)
            embeddings = initial_embeddings(
                corpus, segmenter, settings.sage, settings.word2vec, report
            )
            report(Progress("pruning", 0, len(start.pieces) - settings.sage.vocab_size))
            built = build_sage(
                corpus,
                start.pieces,
                start.merges,
                embeddings,
                settings.sage,
                settings.word2vec,
                progress=report,
            )

        result = SageVocabulary(
            pieces=built.pieces,
            initial=start.pieces,
            ablations=built.ablations,
            embeddings=built.embeddings if settings.sage.has_vectors else None,
            pipeline=start.pipeline,
            unknown=unknown_characters(corpus, start.pieces),
            card=Card(language, name, f"SaGe, preset {preset}", _card_rows(place, settings)),
            record=_record(settings, corpus, start),
            sources=sources,
        )
        if output is not None:
            result.save(output, force=force)
    _warn_of_unknown(result, place, from_text=settings.is_trained)
    _warn_of_joiners(lines.joiners, result.pipeline, place, from_text=settings.is_trained)
    return result


def read_files(texts: Texts, initial: Any) -> list[Path]:
    """Return the files that a training reads, which its output never replaces."""
    is_file = isinstance(initial, str | os.PathLike) and initial not in METHODS
    return [*paths_of(texts), *([Path(initial)] if is_file else ())]


# --- settings


@dataclass(frozen=True)
class TrainSettings:
    """The settings that make a vocabulary of a text.

    initial: `bpe`, `unigram` or a vocabulary to prune (see `initial.read_initial`). vocabulary: of
    an initial vocabulary that is trained here. given: what the user set, by section and name.
    """

    initial: Any
    lossless: bool
    vocabulary: VocabularyKeys
    given: Mapping[str, Mapping[str, Any]]
    sage: SageSettings
    word2vec: Word2VecSettings

    def __post_init__(self) -> None:
        """Check at once what needs no text.

        Raises:
            UserError: two settings do not go together.
        """
        if self.lossless and (not self.is_trained or self.initial == "unigram"):
            raise UserError(
                f"lossless: pieces of bytes are trained, not pruned from {name_of(self.initial)}; "
                "leave initial or lossless out"
            )
        for section, unread in self._unread().items():
            refuse_unread(section, self.given[section], unread)
        if self.is_trained:
            check_pruning(self.vocabulary.initial_size, self.sage)
        if self.sage.has_vectors:
            require_trainer(self.word2vec)

    @property
    def is_trained(self) -> bool:
        """Whether the initial vocabulary is trained on the text."""
        return isinstance(self.initial, str) and self.initial in METHODS

    def _unread(self) -> dict[str, dict[str, str]]:
        """Return by section the settings that change nothing, each with the reason."""
        kind = "lossless pieces" if self.lossless else name_of(self.initial)
        unused = {*VocabularyKeys.__pydantic_fields__}.difference(self.used)
        word2vec = {}
        if not self.sage.has_vectors:
            word2vec = dict.fromkeys(self.given["word2vec"], "where no vectors are trained")
        elif self.word2vec.trainer == "blocks":
            word2vec = {"workers": "with blocks, which takes threads"}
        return {
            "vocabulary": dict.fromkeys(unused, f"with {kind}"),
            "word2vec": word2vec,
            "sage": self.sage.unread,
        }

    @property
    def used(self) -> tuple[str, ...]:
        """The keys of `vocabulary` that change something."""
        if self.lossless:
            return ("initial_size", "max_piece_length", "max_word_chars")
        if not self.is_trained:
            return ("normalization", "max_word_chars")
        return tuple(VocabularyKeys.__pydantic_fields__)

    def described(self) -> dict[str, Any]:
        """Return the settings for a record; where the work is done is none of them."""
        vocabulary = vars(self.vocabulary) if self.is_trained else self.given["vocabulary"]
        return {
            "initial": name_of(self.initial),
            "lossless": self.lossless,
            "sage": self.sage.described(),
            "word2vec": self.word2vec.described(),
            "vocabulary": {name: vocabulary[name] for name in self.used if name in vocabulary},
        }


def _settings(
    initial: Any,
    lossless: bool,
    preset: str,
    sections: Mapping[str, Mapping[str, Any] | None],
    sizes: Mapping[str, int | None],
    seed: int,
    threads: int | None,
) -> TrainSettings:
    """Return the checked settings of the arguments of `train`."""
    given: dict[str, dict[str, Any]] = {}
    for section, values in sections.items():
        if not isinstance(values or {}, Mapping):
            raise UserError(f"{section}: {values!r:.40} is not a dictionary; give settings by name")
        for name in set(values or {}).intersection(_PARAMETERS):
            raise UserError(f"{section}: {name!r} is a parameter of train; give {name} itself")
        given[section] = {**(values or {})}
    if sizes["initial_size"] is not None:
        given["vocabulary"]["initial_size"] = sizes["initial_size"]
    keys = VocabularyKeys(**given["vocabulary"], vocab_size=sizes["vocab_size"])
    if sizes["initial_size"] is None:
        keys = dataclasses.replace(keys, initial_size=round(GROWTH * keys.vocab_size))
    run = {"seed": seed, "threads": _cores() if threads is None else threads}
    pruning = settings_from(preset, **given["sage"], vocab_size=keys.vocab_size, **run)
    skipgram = Word2VecSettings(**given["word2vec"], seed=seed).on(run["threads"])
    return TrainSettings(initial, lossless, keys, given, pruning, skipgram)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_language(language: str) -> None:
    is_code = isinstance(language, str) and re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", language)
    if not is_code:
        raise UserError(
            f"language: {language!r} is not a language code; give one like sw or zh-Hant"
        )


@contextmanager
def _errors_of_parameters() -> Iterator[None]:
    """Name settings that are parameters of `train` without their section."""
    try:
        yield
    except SettingError as error:
        name = error.key.rpartition(".")[2]
        raise SettingError(name if name in _PARAMETERS else error.key, error.reason) from None


# --- the steps


class _CountedLines:
    """Lines, which count their zero-width non-joiners while they are read."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.joiners = lines, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.joiners += line.count(_NON_JOINER)
            yield line


def _pipeline(settings: TrainSettings, specials: SpecialTokens) -> WordPipeline | BytePipeline:
    """Return the pipeline of an initial vocabulary that is trained on the text."""
    if settings.lossless:
        return BytePipeline(specials, settings.vocabulary.max_word_chars)
    return WordPipeline(settings.vocabulary, specials)


def _read(lines: _CountedLines, place: str, pipeline: Pipeline) -> WordCorpus:
    corpus = pipeline.corpus_of(iter(lines))
    corpus.require_words(place)
    log.info(
        "%s: %d lines, %d words, %d of them distinct",
        *(place, corpus.n_lines, len(corpus.tokens), len(corpus.types)),
    )
    return corpus


def _check_initial(initial: InitialVocabulary, settings: TrainSettings) -> None:
    """Refuse before Word2Vec what pruning would refuse."""
    check_sizes(initial.pieces, settings.sage)
    if settings.sage.decoder == "merges" and initial.merges is None:
        is_program = settings.sage.loss == RELEASED
        way_out = "choose another preset" if is_program else "set sage.decoder to greedy"
        raise UserError(
            f"initial: {name_of(settings.initial)} has no merges, by which this preset segments "
            f"while it prunes; start from bpe or a BPE .model, or {way_out}"
        )


def _card_rows(place: str, settings: TrainSettings) -> dict[str, Any]:
    """Return what a model card says of the training: all that is not as in the preset."""
    changed = [
        f"`{section}.{name}` {value}"
        for section, values in settings.given.items()
        for name, value in values.items()
    ]
    return {
        "Training corpus": place,
        **({"Changed settings": ", ".join(changed)} if changed else {}),
        "Pruned from": f"`{Path(name_of(settings.initial)).name}`",
        "Seed": settings.sage.seed,
    }


def _record(
    settings: TrainSettings, corpus: WordCorpus, initial: InitialVocabulary
) -> dict[str, Any]:
    return {
        "settings": settings.described(),
        "words": initial.pipeline.described(),
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


# --- warnings


def _warn_of_little_text(place: str, corpus: WordCorpus, vocab_size: int) -> None:
    words = len(corpus.tokens)
    # What spaces separate is a word in the languages that were measured, and no word in others.
    if words >= _WORDS_A_PIECE * vocab_size or _characters(corpus) > _LONG_WORD * words:
        return
    log.warning(
        "%s: %s words are few for %s pieces (%d each): with fewer than %d each, a quarter of the "
        "pieces or more would differ with more text, and BPE may need fewer tokens; give more text "
        "or a smaller vocab_size",
        *(place, f"{words:,}", f"{vocab_size:,}", words // vocab_size, _WORDS_A_PIECE),
    )


def _warn_of_unknown(vocabulary: SageVocabulary, place: str, *, from_text: bool) -> None:
    """Say which characters become [UNK]; from_text: whether the text made the initial pieces."""
    if not (unknown := vocabulary.unknown):
        return
    shown = ", ".join(visible(character) for character in list(unknown)[:_SHOWN])
    log.warning(
        "%s: characters without a piece, each of which becomes %s: %d (%s times: %s%s); %s",
        *(place, vocabulary.pipeline.unknown, len(unknown), f"{sum(unknown.values()):,}", shown),
        ", ..." if len(unknown) > _SHOWN else "",
        "to keep them, set vocabulary.character_coverage to 1.0, or lossless"
        if from_text
        else "to keep them, add them to the initial vocabulary",
    )


def _warn_of_joiners(count: int, pipeline: Pipeline, place: str, *, from_text: bool) -> None:
    """Say that words fall in two at U+200C, where the normalisation makes a space of it.

    Persian and others write it inside words. from_text: whether the text made the initial pieces.
    """
    if not count or len(pipeline.words_of(f"a{_NON_JOINER}a")) < 2:
        return
    log.warning(
        "%s: the normalisation makes a space of U+200C (zero-width non-joiner), so words fall in "
        "two there (%s times); to keep it, %s",
        *(place, f"{count:,}"),
        "set vocabulary.normalization to nfkc, or lossless"
        if from_text
        else "start from a tokenizer with another normalisation",
    )
