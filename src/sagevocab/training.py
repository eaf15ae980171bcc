"""From text to a SaGe tokenizer in one call.

The steps are the workflow's: lines -> initial vocabulary -> words -> embeddings -> pruning.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sagevocab.bpe import TooManyPiecesError
from sagevocab.compiling import shown_compiling
from sagevocab.embeddings import Embeddings
from sagevocab.errors import UserError
from sagevocab.export import Card, check_output, disk_errors, export_greedy
from sagevocab.initial import METHODS, InitialVocabulary, read_initial, train_initial
from sagevocab.pieces import WORD_START
from sagevocab.presets import DEFAULT_PRESET, preset_name
from sagevocab.progress import Listener, Progress, log_progress
from sagevocab.sage import build_sage, check_sizes, initial_embeddings
from sagevocab.segment import make_segmenter
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
from sagevocab.state import (
    Columns,
    atomic_folder,
    fingerprint,
    locked_file,
    path_text,
    remove_leftovers,
    write_json,
    write_json_lines,
)
from sagevocab.text import Texts, describe_texts, lines_of, read_lines, write_lines
from sagevocab.versions import code_digest, package_versions
from sagevocab.words import Normalizer, WordCorpus

log = logging.getLogger(__name__)

_STATES = ("text", "initial", "embeddings", "pruning")
_LOCK = "sagevocab.lock"
_MARK = "sagevocab.json"


@dataclass(frozen=True)
class TrainSettings:
    """The settings that make a vocabulary of a text.

    initial: `bpe`, `unigram` or the path of a vocabulary to prune (see `initial.read_initial`).
    initial_size: pieces to prune from, where the initial vocabulary is trained here.
    """

    initial: str
    initial_size: int
    sage: SageSettings
    word2vec: Word2VecSettings
    sentencepiece: TrainingSettings
    words: WordSettings

    def __post_init__(self) -> None:
        """Check at once what needs no text.

        Raises:
            UserError: two settings do not go together.
        """
        if self.initial in METHODS:
            check_pruning(self.initial_size, self.sage)
        if self.initial == "unigram":
            _check_merges(self.sage, None)

    def described(self) -> dict[str, Any]:
        """Return the settings for a record; where the work is done is none of them."""
        described = {"sage": self.sage.described(), "word2vec": self.word2vec.described()}
        record = {**dataclasses.asdict(self), **described}
        record["initial"] = path_text(self.initial)
        return record


@dataclass(frozen=True)
class SageVocabulary:
    """A trained vocabulary.

    pieces: in id order. initial: those it was pruned from. ablations: what was pruned, in order, as
    columns for `pandas.DataFrame` (see `sage.SageResult`). embeddings: of the last training.
    words: how text becomes words. record: settings, text and code that made it.
    """

    pieces: list[str]
    initial: list[str]
    ablations: Columns
    embeddings: Embeddings
    words: WordSettings
    card: Card
    record: Mapping[str, Any]
    state_dir: Path | None = field(default=None, repr=False)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the folder that `AutoTokenizer.from_pretrained` loads, whole or not at all.

        It holds `tokenizer.json`, `tokenizer_config.json`, `pieces.txt`, `ablations.jsonl` (a line
        for each pruned piece), `embeddings.npz`, `sagevocab.json` (what made it) and a model card.
        force: replace a vocabulary that is there. The state folder of the training is removed then.

        Raises:
            UserError: the folder is there already, or cannot be written.
        """
        check_output(folder, force)
        with disk_errors(folder), atomic_folder(folder, replace=force) as temporary:
            export_greedy(temporary, self.pieces, self.words, self.card)
            write_json_lines(temporary / "ablations.jsonl", self.ablations)
            self.embeddings.save(temporary / "embeddings.npz")
            write_json(temporary / _MARK, self.record)
        _forget(self.state_dir)
        return Path(folder)


def train(
    texts: Texts,
    *,
    vocab_size: int = VocabularyKeys.final_size,
    initial_size: int | None = None,
    initial: str | Path = "bpe",
    preset: str = DEFAULT_PRESET,
    sage: Mapping[str, Any] | None = None,
    word2vec: Mapping[str, Any] | None = None,
    vocabulary: Mapping[str, Any] | None = None,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    encoding_errors: str = "strict",
    language: str = "und",
    name: str = "Unnamed language",
    output: str | Path | None = None,
    force: bool = False,
    state_dir: str | Path | None = None,
    progress: Listener | None = None,
) -> SageVocabulary:
    """Train a SaGe vocabulary on text.

    texts: a file of lines (plain, gz, bz2, xz, zst), `-` for standard input, a list of files, or
        any iterable of lines.
    vocab_size: pieces in the end, without special tokens. initial_size: pieces to prune from; a
        quarter more than vocab_size if left out, as in the paper.
    initial: what to prune: `bpe` or `unigram`, trained on the text by sentencepiece; or the path of
        a list of pieces, a sentencepiece `.model` or a folder with a `pieces.txt`.
    preset: `printed` (the paper as printed) or `released` (the program published for it).
    sage, word2vec, vocabulary: single settings by name, those of `vocab.settings.SageSettings`,
        `Word2VecSettings` and `VocabularyKeys`.
    threads: cores; those at hand if left out. They change no byte of the outcome.
    encoding_errors: `strict`, or `replace` to read what is not UTF-8 as U+FFFD.
    language, name: code and name of the language, for the model card.
    output, force: save the result there (see `SageVocabulary.save`).
    state_dir: progress is kept there, and a killed training of the same things goes on from it;
        beside `output` if left out, and nowhere if there is no output either.
    progress: called with a `Progress` whenever a stage begins or a part of it is done.

    Raises:
        UserError: a mistake in the text or the settings, in one line.
    """
    sections = {"sage": sage or {}, "word2vec": word2vec or {}, "vocabulary": vocabulary or {}}
    sizes = vocab_size, initial_size
    preset = preset_name(preset)
    settings = _train_settings(os.fspath(initial), sizes, preset, sections, seed, threads)
    if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", language):
        raise UserError(f"language: {language!r} is no language code; give one like sw or zh-Hant")
    if output is not None:
        check_output(output, force)
        state_dir = state_dir or _default_state_dir(output)
    state_dir = state_dir and Path(state_dir).resolve()
    card = Card(language, name, "SaGe", _source(texts), _card_settings(preset, settings))
    place = output or state_dir or tempfile.gettempdir()
    with disk_errors(place), _workplace(state_dir) as work:
        try:
            parts = _train(texts, settings, encoding_errors, work, progress or log_progress)
        except TooManyPiecesError as error:
            raise error.for_one_size("vocab_size") if initial_size is None else error from None
        result = SageVocabulary(**parts, card=card, state_dir=state_dir)
        if output is not None:
            result.save(output, force=force)
            remove_leftovers(output)
    return result


def _train_settings(
    initial: str,
    sizes: tuple[int, int | None],
    preset: str,
    sections: Mapping[str, Mapping[str, Any]],
    seed: int,
    threads: int | None,
) -> TrainSettings:
    """Return the settings of a training; sizes: final and initial, None for the paper's growth."""
    final_size, initial_size = sizes
    if initial_size is None:
        initial_size = round(GROWTH * final_size)
    cores = _cores() if threads is None else threads
    sage = {**sections["sage"], "final_size": final_size, "seed": seed, "threads": cores}
    vocabulary = {"final_size": final_size, "initial_size": initial_size}
    checked = dataclasses.asdict(VocabularyKeys(**{**sections["vocabulary"], **vocabulary}))
    return TrainSettings(
        initial=initial,
        initial_size=initial_size,
        sage=settings_from(preset, **sage),
        word2vec=Word2VecSettings(**{**sections["word2vec"], "seed": seed}).on(cores),
        sentencepiece=_part(TrainingSettings, checked),
        words=_part(WordSettings, checked),
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _part(kind: type, values: Mapping[str, Any]) -> Any:
    """Make settings of those values that are theirs."""
    return kind(**{field.name: values[field.name] for field in dataclasses.fields(kind)})


def _default_state_dir(output: str | Path) -> Path:
    """Return the hidden folder beside `output` that keeps a training's progress."""
    output = Path(output).resolve()
    return output.with_name(f".{output.name}.state")


# --- the steps


def _train(
    texts: Texts, settings: TrainSettings, errors: str, work: Path, progress: Listener
) -> dict[str, Any]:
    """Train, and return the fields of a `SageVocabulary` that the training decides."""
    initial, corpus = _initial_and_corpus(texts, settings, errors, work, progress)
    pieces, merges = initial.pieces, initial.merges
    sage, word2vec = settings.sage, settings.word2vec
    with shown_compiling(progress):
        _train_a_few_words(sage, word2vec)
    if sage.contexts != "zero":
        progress(Progress("word2vec", 0, word2vec.epochs))
    segmenter = make_segmenter(sage.decoder, pieces, merges)
    state = _state(work, "embeddings")
    embeddings = initial_embeddings(corpus, segmenter, sage, word2vec, state, progress)
    progress(Progress("pruning", 0, len(pieces) - sage.final_size))
    state = _state(work, "pruning")
    built = build_sage(corpus, pieces, merges, embeddings, sage, word2vec, state, progress=progress)
    return {
        "pieces": built.pieces,
        "initial": pieces,
        "ablations": built.ablations,
        "embeddings": built.embeddings,
        "words": initial.words,
        "record": _record(settings, corpus, initial),
    }


def _train_a_few_words(sage: SageSettings, word2vec: Word2VecSettings) -> None:
    """Meet every compiled function of Word2Vec and pruning, with the types of the real text.

    So Numba compiles here what is not on disk, and no bar of a later stage stops for it.
    """
    pieces = [WORD_START, "a", "b", "c", "▁a", "ab", "▁ab", "bc"]
    merges = [(WORD_START, "a"), ("a", "b"), ("▁a", "b"), ("b", "c")]
    corpus = WordCorpus.from_lines(["abc ab bc a", "ab cab d", "abab bc"], Normalizer())
    steps = {"prune_batch": 1, "candidates": 2, "rerank_every": 2, "retrain": False}
    sage = dataclasses.replace(sage, final_size=len(pieces) - 2, **steps)
    few = dataclasses.replace(word2vec, epochs=1, lines="all")
    segmenter = make_segmenter(sage.decoder, pieces, merges)
    if few.trainer == "blocks":
        embeddings = initial_embeddings(corpus, segmenter, sage, few, progress=_ignore)
    else:
        vectors = np.ones((len(pieces), few.dimension), dtype=np.float32)
        embeddings = Embeddings(pieces, vectors, vectors)
    build_sage(corpus, pieces, merges, embeddings, sage, few, progress=_ignore)


def _ignore(progress: Progress) -> None:
    pass


def _initial_and_corpus(
    texts: Texts, settings: TrainSettings, errors: str, work: Path, progress: Listener
) -> tuple[InitialVocabulary, WordCorpus]:
    """Return what is pruned and the words; refuse before Word2Vec what pruning would refuse."""
    progress(Progress("reading text"))
    name = describe_texts(texts)
    if settings.initial in METHODS:
        staged = _state(work, "text") / "text.txt.zst"
        write_lines(staged, lines_of(texts, errors))
        corpus = _corpus(read_lines(staged), settings.words, name)
        progress(Progress("initial vocabulary"))
        sizes = settings.initial_size, settings.sentencepiece
        state = _state(work, "initial")
        initial = train_initial(settings.initial, staged, *sizes, settings.words, state, name)
    else:
        initial = read_initial(settings.initial, settings.words)
        corpus = _corpus(lines_of(texts, errors), initial.words, name)
    check_sizes(initial.pieces, settings.sage)
    _check_merges(settings.sage, initial.merges)
    return initial, corpus


def _corpus(lines: Iterator[str], words: WordSettings, name: str) -> WordCorpus:
    normalizer = Normalizer(words.normalization)
    corpus = WordCorpus.from_lines(lines, normalizer, words.max_word_chars)
    if not corpus.n_lines:
        raise UserError(f"{name}: holds no words; give a text with words")
    log.info(
        "%s: %d lines, %d words, %d of them distinct",
        *(name, corpus.n_lines, len(corpus.tokens), len(corpus.types)),
    )
    return corpus


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
        "words": dataclasses.asdict(initial.words),
        "text": {
            "lines": corpus.n_lines,
            "words": len(corpus.tokens),
            "distinct_words": len(corpus.types),
            "digest": corpus.digest(),
        },
        "initial": {"pieces": len(initial.pieces), "digest": fingerprint(initial.pieces)},
        "code": code_digest(),
        "packages": package_versions(),
        "python": platform.python_version(),
    }


def _card_settings(preset: str, settings: TrainSettings) -> dict[str, Any]:
    return {
        "Preset": f"`{preset}`",
        "Pruned from": f"`{path_text(Path(settings.initial).name)}`",
        "Skip-gram epochs": settings.word2vec.epochs,
        "Seed": settings.sage.seed,
    }


def _source(texts: Texts) -> dict[str, Any]:
    return {"kind": "text", "name": "text", "title": describe_texts(texts)}


# --- where progress is kept


def _state(work: Path, name: str) -> Path:
    return work / f"sagevocab.{name}"


@contextmanager
def _workplace(state_dir: Path | None) -> Iterator[Path]:
    """Yield the folder of a training's progress: `state_dir`, or one that goes when it ends.

    A second training is kept away. Progress is kept from the first epoch of the embeddings on.
    """
    if state_dir is None:
        with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
            yield Path(folder)
        return
    state_dir.mkdir(parents=True, exist_ok=True)
    refusal = (
        f"{state_dir}: another training keeps its progress there; wait until it is done, or give "
        "another output or state folder"
    )
    try:
        with locked_file(state_dir / _LOCK, refusal):
            yield state_dir
    except BaseException:
        if not _state(state_dir, "embeddings").exists():
            _forget(state_dir)
        raise
    finally:
        shutil.rmtree(_state(state_dir, "text"), ignore_errors=True)
        _remove_if_empty(state_dir)


def _forget(state_dir: Path | None) -> None:
    """Remove progress, and its folder if it holds nothing else."""
    if state_dir is not None and state_dir.is_dir():
        for name in _STATES:
            shutil.rmtree(_state(state_dir, name), ignore_errors=True)
        _remove_if_empty(state_dir)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
