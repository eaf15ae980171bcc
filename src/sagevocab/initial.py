"""The vocabulary that SaGe prunes: trained by sentencepiece, or read from files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sagevocab.bpe import Model, merges_of_model, pieces_of_model, read_model, train_sentencepiece
from sagevocab.errors import UserError
from sagevocab.foreign import listed_pieces, open_model, with_characters
from sagevocab.pieces import is_own_folder, missing_advice, read_folder_pieces
from sagevocab.settings import TrainingSettings, WordSettings
from sagevocab.state import ResumableState, fingerprint
from sagevocab.text import read_lines, write_lines
from sagevocab.versions import code_digest

log = logging.getLogger(__name__)

METHODS = ("bpe", "unigram")
_SIZE_KEYS = ("initial_size", "vocab_size")  # arguments of `train.train`


@dataclass(frozen=True)
class InitialVocabulary:
    """A vocabulary to prune.

    merges: by rank; None where there are none. words: how text becomes words; a sentencepiece model
    brings its own normalisation.
    """

    pieces: list[str]
    merges: list[tuple[str, str]] | None
    words: WordSettings


def train_initial(
    method: str,
    lines_path: Path,
    size: int,
    settings: TrainingSettings,
    words: WordSettings,
    state_dir: Path,
    name: str,
) -> InitialVocabulary:
    """Train sentencepiece's BPE or UnigramLM on the lines of a file.

    Lines longer than `settings.max_sentence_length` bytes, which sentencepiece would leave out, are
    cut there, at a space if there is one. state_dir: the model is kept there and found again. name:
    of the text, for messages.

    Raises:
        UserError: the lines allow no vocabulary of this size.
    """
    parts = code_digest(), method, lines_path, size, vars(settings)
    state = ResumableState(state_dir, fingerprint(*parts))
    model_path = state.folder / "sentencepiece.model"
    model = _kept_model(model_path)
    if model is None:
        path = _with_short_lines(lines_path, state.folder, settings.max_sentence_length, name)
        keys = {"key": _SIZE_KEYS[0], "size_keys": _SIZE_KEYS}
        train_sentencepiece(method, path, size, model_path, settings, name=name, **keys)
        model = read_model(model_path)
    merges = merges_of_model(model) if method == "bpe" else None
    return InitialVocabulary(pieces_of_model(model), merges, words)


def _kept_model(path: Path) -> Model | None:
    """Return the model that an earlier run left; None without one, or if it is damaged."""
    if not path.exists():
        return None
    try:
        return read_model(path)
    except UserError:
        log.warning("%s: is damaged; it is trained again", path)
        return None


def read_initial(path: str | Path, words: WordSettings) -> InitialVocabulary:
    """Read a vocabulary to prune.

    path: a list of pieces (one a line, `▁` at the start of words), a sentencepiece `.model`, or a
    folder with a `pieces.txt`; a `sentencepiece.model` of the same pieces there gives the merges.

    Raises:
        UserError: it is none of these.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path, words)
    if not path.exists():
        raise UserError(
            f"initial: {path} is neither bpe nor unigram nor a file; give one of these two, a list "
            "of pieces, a sentencepiece .model or a folder with a pieces.txt; "
            + missing_advice(path)
        )
    if path.suffix == ".model":
        return _read_model(path, words)
    if path.suffix == ".json":
        raise UserError(
            f"initial: {path} is not a list of pieces; give the folder that it is in, which must "
            "hold a pieces.txt"
        )
    return InitialVocabulary(listed_pieces(path, "initial"), None, words)


def _read_folder(folder: Path, words: WordSettings) -> InitialVocabulary:
    if not (folder / "pieces.txt").exists():
        raise UserError(
            f"initial: {folder} holds no pieces.txt; give a folder with one, a list of pieces or "
            "a sentencepiece .model"
        )
    if is_own_folder(folder):
        read_folder_pieces(folder)  # refuses a damaged one
    pieces = listed_pieces(folder / "pieces.txt", "initial")
    if (folder / "sentencepiece.model").exists():
        model = _read_model(folder / "sentencepiece.model", words)
        if model.pieces == pieces:
            return model
    return InitialVocabulary(pieces, None, words)


def _read_model(path: Path, words: WordSettings) -> InitialVocabulary:
    model, rule = open_model(path, "initial")
    if rule != words.normalization:
        log.warning("%s: text is normalised by %s, as the model does", path, rule)
    is_bpe = model.trainer_spec.model_type == model.trainer_spec.BPE
    merges = merges_of_model(model) if is_bpe else None
    own = WordSettings(rule, words.max_word_chars)
    return InitialVocabulary(with_characters(pieces_of_model(model), path), merges, own)


# --- lines that sentencepiece takes


def _with_short_lines(path: Path, folder: Path, max_bytes: int, name: str) -> Path:
    """Return `path`, or if it has longer lines a copy in `folder` where these are cut."""
    too_long = sum(len(line.encode("utf-8")) > max_bytes for line in read_lines(path))
    if not too_long:
        return path
    log.warning(
        "%s: %d lines are longer than %d bytes, the max_sentence_length of sentencepiece, and are "
        "cut at spaces to train the initial vocabulary; nothing is left out",
        *(name, too_long, max_bytes),
    )
    short = folder / path.name
    write_lines(short, (part for line in read_lines(path) for part in cut_line(line, max_bytes)))
    return short


def cut_line(line: str, max_bytes: int) -> Iterator[str]:
    """Cut a line into parts of at most `max_bytes` bytes: at spaces, else between characters.

    max_bytes: 4 or more, the bytes of the longest character.
    """
    data = line.encode("utf-8")
    start = 0
    while len(data) - start > max_bytes:
        end = data.rfind(b" ", start + 1, start + max_bytes + 1)
        if end < 0:
            end = start + max_bytes
            while data[end] & 0xC0 == 0x80:  # inside a character
                end -= 1
        yield data[start:end].decode("utf-8")
        start = end
    yield data[start:].decode("utf-8")
