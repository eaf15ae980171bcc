"""A vocabulary in another form: a folder for `AutoTokenizer`, a list, sentencepiece's `.vocab`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sagevocab.errors import UserError
from sagevocab.state import atomic_folder, write_text
from sagevocab.vocab.bpe import read_model, scores_of_model
from sagevocab.vocab.encoder import import_foreign
from sagevocab.vocab.export import WordSettings
from sagevocab.vocab.pieces import read_pieces, write_pieces
from sagevocab.vocab.train import check_output, disk_errors

FORMATS = ("huggingface", "pieces", "vocab")


def convert(
    path: str | Path,
    output: str | Path,
    form: str = "huggingface",
    *,
    words: WordSettings | None = None,
    force: bool = False,
) -> None:
    """Write the vocabulary at `path` in another form, whole or not at all.

    path: a list of pieces, a sentencepiece `.model` or a tokenizer's folder. form: `huggingface`, a
    folder for `AutoTokenizer`; `pieces`, a file with one piece a line; `vocab`, the same with
    scores as in sentencepiece's `.vocab`: a model's own, else the negative rank. words: how text
    becomes words, for a list. force: replace what is there.

    Raises:
        UserError: there is no such form, `path` is no vocabulary, or `output` cannot be written.
    """
    if form not in FORMATS:
        raise UserError(f"format: {form!r} is unknown; choose one of {', '.join(FORMATS)}")
    words = words or WordSettings()
    if form == "huggingface":
        check_output(output, force)
        with disk_errors(output), atomic_folder(output, replace=force) as folder:
            import_foreign(path, folder, words)
        return
    if Path(output).is_dir() or (Path(output).exists() and not force):
        raise UserError(f"{output}: is there already; give another file, or force to replace it")
    pieces = _pieces(Path(path), words)
    with disk_errors(output):
        if form == "pieces":
            write_pieces(output, pieces)
        else:
            write_text(output, _scored(pieces, _scores(Path(path), len(pieces))))


def _pieces(path: Path, words: WordSettings) -> list[str]:
    if (path / "pieces.txt").exists():
        return read_pieces(path / "pieces.txt")
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
        import_foreign(path, folder, words)
        return read_pieces(Path(folder) / "pieces.txt")


def _scores(path: Path, count: int) -> list[float]:
    if path.suffix == ".model" and path.is_file():
        return scores_of_model(read_model(path))
    return [float(-rank) for rank in range(count)]


def _scored(pieces: Sequence[str], scores: Sequence[float]) -> str:
    """Return the lines of a `.vocab` file; sentencepiece's special tokens come first."""
    lines = ["<unk>\t0", "<s>\t0", "</s>\t0"]
    lines += [f"{piece}\t{score:g}" for piece, score in zip(pieces, scores, strict=True)]
    return "".join(f"{line}\n" for line in lines)
