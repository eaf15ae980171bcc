"""Tokenizers from elsewhere and this project's own: import, use and export of any of them.

A list of pieces is segmented greedily, a sentencepiece model by its merges or likelihoods, and a
Hugging Face tokenizer as it segments by itself. An imported tokenizer gets this project's special
tokens with ids 0 to 4; its pieces follow in the order that they had.

Heavy libraries are imported where they are used, so that a dry run can call `check_external`.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagevocab.errors import UserError
from sagevocab.pieces import (
    FIRST_PIECE_ID,
    SPECIAL_TOKENS,
    UNKNOWN_ID,
    WORD_START,
    is_own_folder,
    missing_advice,
    missing_characters,
    read_folder_pieces,
    write_pieces,
)
from sagevocab.settings import WordSettings
from sagevocab.state import atomic_folder, path_text, write_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from sagevocab.bpe import Model
    from sagevocab.encoder import Encoder
    from sagevocab.export import Card

log = logging.getLogger(__name__)

FORMATS = ("huggingface", "pieces", "vocab")
_LIST_SPECIALS = {*SPECIAL_TOKENS, "<unk>", "<s>", "</s>", "<pad>", "<mask>"}
_HUB_MODELS = ("WordPiece", "BPE", "Unigram", "WordLevel")
# Files from which `transformers` makes a tokenizer where there is no tokenizer.json.
_HUB_FILES = ("tokenizer_config.json", "vocab.txt", "vocab.json", "*.model")


# --- import


def check_external(path: str | Path, key: str) -> None:
    """Refuse what is clearly no tokenizer, cheaply: it reads a file and imports nothing heavy.

    path, key: as of `import_external`, which checks all the rest.

    Raises:
        UserError: there is nothing at `path`, or it is no tokenizer.
    """
    path = Path(path)
    kind = _kind(path, key)
    try:
        if kind == "list":
            read_list(path, key)
        elif kind == "hub":
            _check_hub(path, key)
        elif not path.read_bytes().startswith(b"\n"):  # protobuf's tag of the first piece
            raise UserError(
                f"{key}: {path} is no sentencepiece model, or was cut; copy it again or train it "
                "again, or, if it is a list of pieces, let its name end in .txt"
            )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{key}: {path} is no tokenizer or cannot be read ({error}); give a Hugging Face "
            "folder, a sentencepiece .model or a list of pieces"
        ) from error


def _check_hub(path: Path, key: str) -> None:
    file = _tokenizer_json(path)
    if file.exists():
        model = json.loads(file.read_text(encoding="utf-8"))["model"]
        _check_hub_model(model.get("type", "BPE"), key)
    else:
        _check_hub_files(path, key)


def holds_hub_tokenizer(folder: Path) -> bool:
    """Return whether a folder has a `tokenizer.json` or what one can be made of."""
    return any(any(folder.glob(name)) for name in ("tokenizer.json", *_HUB_FILES))


def _check_hub_files(path: Path, key: str) -> None:
    if not holds_hub_tokenizer(path):
        raise UserError(f"{key}: {path} holds no tokenizer; give one with a tokenizer.json")


def _tokenizer_json(path: Path) -> Path:
    return path / "tokenizer.json" if path.is_dir() else path


def _kind(path: Path, key: str) -> str:
    """Return what kind of tokenizer a path is: hub, model or list."""
    if not path.exists():
        raise UserError(
            f"{key}: {path} does not exist; give a Hugging Face folder, a sentencepiece .model or "
            f"a list of pieces; {missing_advice(path)}"
        )
    if path.is_dir() or path.suffix == ".json":
        return "hub"
    return "model" if path.suffix == ".model" else "list"


def import_external(
    path: str | Path, folder: str | Path, words: WordSettings, card: Card | None, key: str
) -> None:
    """Bring the tokenizer at `path` into the folder form of this project.

    path: a Hugging Face folder or its tokenizer.json; a sentencepiece `.model`; or a list with one
    piece a line, `▁` at the start of words. words: for a list; the others bring their own
    normalisation. key: the configuration key that `path` is from.

    Raises:
        UserError: there is nothing at `path`, or it is none of these.
    """
    from sagevocab import export
    from sagevocab.frames import WordFrame

    path = Path(path)
    kind = _kind(path, key)
    if kind == "hub":
        tokenizer, pieces = adapt_hub_tokenizer(load_hub(path, key), key)
        export.write_folder(folder, tokenizer, pieces, "external", WordFrame(words), card)
    elif kind == "model":
        _import_model(path, folder, words, card, key)
    else:
        export.export_greedy(folder, listed_pieces(path, key), words, card)


def import_foreign(path: str | Path, folder: str | Path, words: WordSettings) -> None:
    """Bring a tokenizer from elsewhere into `folder`; its model card says where it is from."""
    from sagevocab.export import Card

    if is_own_folder(path):
        read_folder_pieces(path)  # refuses a damaged one
    card = Card("und", "Unnamed language", f"`{path_text(Path(path).name)}`, imported")
    import_external(path, folder, words, card, "tokenizer")


@contextmanager
def as_own_folder(source: Any, words: WordSettings) -> Iterator[Path]:
    """Yield a folder of this project's form: `source` if it is one, else a copy for the time being.

    source: a path, or an object that `import_object` takes.

    Raises:
        UserError: there is no tokenizer at a path, or the object is none.
    """
    path = getattr(source, "path", source)
    is_path = isinstance(path, str | os.PathLike)
    if is_path and is_own_folder(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
        if is_path:
            import_foreign(path, folder, words)
        else:
            import_object(source, folder, words)
        yield Path(folder)


def import_object(source: Any, folder: str | Path, words: WordSettings) -> None:
    """Bring a tokenizer into `folder`.

    source: of `train`, of `transformers` (fast ones) or of `tokenizers`; or a list of pieces.

    Raises:
        UserError: it is none of these.
    """
    from tokenizers import Tokenizer

    from sagevocab.export import export_greedy, write_folder
    from sagevocab.frames import Frame, WordFrame

    frame = getattr(source, "frame", None)
    if isinstance(frame, Frame):
        export_greedy(folder, source.pieces, frame)
    elif isinstance(source, list | tuple):
        pieces = with_characters(checked_pieces(source, "tokenizer"), "the list of pieces")
        export_greedy(folder, pieces, words)
    elif isinstance(backend := getattr(source, "backend_tokenizer", source), Tokenizer):
        tokenizer, pieces = adapt_hub_tokenizer(backend, "tokenizer")
        write_folder(folder, tokenizer, pieces, "external", WordFrame(words), None)
    else:
        raise UserError(
            f"tokenizer: {type(source).__name__} is no tokenizer that can be read; give a folder, "
            "a file, a list of pieces, or a fast tokenizer of transformers or tokenizers"
        )


def name_of(source: Any) -> str:
    """Return what a tokenizer is called: its path, the name that it knows, or its class."""
    path = getattr(source, "path", source)
    if isinstance(path, str | os.PathLike):
        return path_text(os.fspath(path))
    if isinstance(source, list | tuple):
        return "a list of pieces"
    return str(getattr(source, "name_or_path", "") or type(source).__name__)


# --- a list of pieces


def listed_pieces(path: Path, key: str) -> list[str]:
    """Return the pieces of a list, and after them the single characters that it lacks."""
    return with_characters(read_list(path, key), path)


def with_characters(pieces: list[str], name: str | Path) -> list[str]:
    """Return the pieces of `name`, and after them the characters that greedy segmentation needs."""
    added = missing_characters(pieces)
    if added:
        log.warning("%s: %d characters of its pieces are added as pieces", name, len(added))
    return pieces + added


def read_list(path: Path, key: str) -> list[str]:
    """Read one piece a line; a score may follow after a tab, as in sentencepiece's .vocab files.

    Empty lines and special tokens are left out.

    Raises:
        UserError: this is no such list, or a piece crosses a space or stands there twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{key}: {path} is not UTF-8 text; give a list of pieces, a .model or a folder"
        ) from error
    pieces = (line.removesuffix("\r").split("\t")[0] for line in lines)
    return checked_pieces(pieces, key, str(path))


def checked_pieces(pieces: Iterable[Any], key: str, path: str | None = None) -> list[str]:
    """Return the pieces of a list; empty ones and special tokens are left out.

    path: of the file that lists them, one a line; None for a list in Python.

    Raises:
        UserError: one is no text, crosses a space or stands there twice, or there is none.
    """
    found: dict[str, int] = {}
    name = path or "the list"
    for number, piece in enumerate(pieces, start=1):
        place = f"{key}: {path}:{number}" if path else f"{key}: item {number}"
        if not isinstance(piece, str):
            raise UserError(f"{place} of the list is no text; give strings")
        if piece in {"", *_LIST_SPECIALS}:
            continue
        if WORD_START in piece[1:] or " " in piece or "\n" in piece:
            raise UserError(f"{place}: the piece {piece!r} crosses a space; take such pieces out")
        if found.setdefault(piece, number) != number:
            where = f"{'line' if path else 'item'} {found[piece]}"
            raise UserError(f"{place}: {piece!r} stands on {where} already; remove one of them")
    if not found:
        raise UserError(f"{key}: {name} holds no pieces; give a list with one on each line")
    if not any(piece.startswith(WORD_START) for piece in found):
        raise UserError(
            f"{key}: no piece in {name} starts with {WORD_START}, which marks the start of words; "
            "write the list so, or give the Hugging Face folder it is from"
        )
    return list(found)


# --- a sentencepiece model


def _import_model(
    path: Path, folder: str | Path, words: WordSettings, card: Card, key: str
) -> None:
    from sagevocab import bpe, export

    model, rule = open_model(path, key)
    words = WordSettings(rule, words.max_word_chars)
    pieces = bpe.pieces_of_model(model)
    if model.trainer_spec.model_type == model.trainer_spec.BPE:
        export.export_merges(folder, pieces, bpe.merges_of_model(model), words, card)
    else:
        export.export_unigram(folder, pieces, bpe.scores_of_model(model), words, card)


def open_model(path: Path, key: str) -> tuple[Model, str]:
    """Read a sentencepiece model; return it and the rule whose character map it carries.

    Raises:
        UserError: it cannot be expressed in this project's pieces, or has a normalisation of its
            own.
    """
    from sagevocab.bpe import pieces_of_model, read_model
    from sagevocab.words import NORMALIZATIONS, character_map

    model = read_model(path)
    if model.trainer_spec.model_type not in (model.trainer_spec.BPE, model.trainer_spec.UNIGRAM):
        raise UserError(f"{key}: {path} is neither a BPE nor a UnigramLM model; give one of these")
    if any(piece.type == piece.BYTE for piece in model.pieces):
        raise UserError(
            f"{key}: {path} falls back to bytes, which pieces of text cannot express; "
            "give the Hugging Face folder of that tokenizer"
        )
    crossing = [piece for piece in pieces_of_model(model) if WORD_START in piece[1:]]
    if crossing:
        raise UserError(
            f"{key}: the piece {crossing[0]!r} of {path} crosses a space; train without such pieces"
        )
    charsmap = model.normalizer_spec.precompiled_charsmap
    for rule in NORMALIZATIONS:
        if character_map(rule) == charsmap:
            return model, rule
    raise UserError(
        f"{key}: {path} has a normalisation of its own; "
        f"give one that uses any of {', '.join(NORMALIZATIONS)}, or its Hugging Face folder"
    )


# --- a Hugging Face tokenizer


def load_hub(path: Path, key: str) -> Tokenizer:
    """Load a Hugging Face folder or `tokenizer.json` as it is; nothing is downloaded.

    Raises:
        UserError: it is neither.
    """
    from tokenizers import Tokenizer

    file = _tokenizer_json(path)
    if not file.exists():
        _check_hub_files(path, key)
    try:
        return Tokenizer.from_file(str(file)) if file.exists() else _converted(path)
    except Exception as error:  # the library raises bare exceptions of many kinds
        if file.exists():
            raise UserError(
                f"{key}: {file} is no Hugging Face tokenizer, or is damaged ({error}); copy or "
                "build it again, or give another"
            ) from error
        raise UserError(
            f"{key}: {path} is no Hugging Face tokenizer folder ({error}); "
            "give one with a tokenizer.json"
        ) from error


def _converted(folder: Path) -> Tokenizer:
    """Let `transformers` make a `tokenizer.json` of an older folder; nothing is downloaded."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        advice = "pip install 'sagevocab[transformers]', or give a folder with a tokenizer.json"
        raise UserError(f"{folder}: needs the package transformers; {advice}") from error

    tokenizer = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    return tokenizer.backend_tokenizer


def adapt_hub_tokenizer(tokenizer: Tokenizer, key: str) -> tuple[Tokenizer, list[str]]:
    """Renumber a tokenizer: this project's special tokens first, then its pieces by their ids.

    Normalisation, splitting into words, model and decoder stay, except for what makes the pieces of
    a word depend on its place in a text: surrounding and repeated spaces are dropped, and a word
    that opens a text is treated like any other. Returns the tokenizer and its pieces in `▁`
    notation.

    Raises:
        UserError: its model is of a kind that cannot be renumbered.
    """
    from tokenizers import Tokenizer

    from sagevocab.frames import add_special_tokens
    from sagevocab.specials import BERT

    spec = json.loads(tokenizer.to_str())
    model = spec["model"]
    _check_hub_model(model["type"], key)
    tokens = _kept_tokens(tokenizer, spec)
    _renumber(model, tokens)
    numbers = {token: FIRST_PIECE_ID + number for number, token in enumerate(tokens)}
    spec["added_tokens"] = [
        {**token, "id": numbers[token["content"]]}
        for token in spec["added_tokens"]
        if token["content"] in numbers
    ]
    own = [spec["normalizer"]] if spec["normalizer"] else []
    spec["normalizer"] = {"type": "Sequence", "normalizers": [*_SPACES, *own]}
    spec["pre_tokenizer"] = _independent_of_place(spec["pre_tokenizer"])
    spec.update(post_processor=None, truncation=None, padding=None)
    adapted = Tokenizer.from_str(json.dumps(spec))
    add_special_tokens(adapted, BERT)
    return adapted, word_start_notation(tokens, spec)


_SPACES = [
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    {"type": "Strip", "strip_left": True, "strip_right": True},
]


def _check_hub_model(kind: str, key: str) -> None:
    if kind not in _HUB_MODELS:
        raise UserError(f"{key}: tokenizers of type {kind} cannot be imported")


def _independent_of_place(step: Any) -> Any:
    """Let pre-tokenizers that open words with a space or `▁` do it for every word."""
    if not isinstance(step, dict):
        return step
    if step.get("type") == "Sequence":
        inner = [_independent_of_place(each) for each in step["pretokenizers"]]
        return {**step, "pretokenizers": inner}
    changes = {"ByteLevel": {"add_prefix_space": True}, "Metaspace": {"prepend_scheme": "always"}}
    return {**step, **changes.get(step.get("type"), {})}


def _kept_tokens(tokenizer: Tokenizer, spec: Mapping[str, Any]) -> list[str]:
    """Return every token but the special ones, by id."""
    specials = {token["content"] for token in spec["added_tokens"] if token["special"]}
    specials |= {*SPECIAL_TOKENS, _unknown(spec["model"])}
    ids = tokenizer.get_vocab(with_added_tokens=True)
    return sorted((token for token in ids if token not in specials), key=ids.__getitem__)


def _unknown(model: Mapping[str, Any]) -> str | None:
    """Return the model's own unknown token, if it has one."""
    if model["type"] != "Unigram":
        return model.get("unk_token")
    return None if model["unk_id"] is None else model["vocab"][model["unk_id"]][0]


def _renumber(model: dict[str, Any], tokens: Sequence[str]) -> None:
    """Give the special tokens ids 0 to 4 and `tokens` the ids after these, in place."""
    has_unknown = _unknown(model) is not None
    if model["type"] == "Unigram":
        scores = dict(model["vocab"])
        lowest = 10 * min(scores.values()) - 100
        model["vocab"] = [[token, lowest] for token in SPECIAL_TOKENS]
        model["vocab"] += [[token, scores.get(token, lowest)] for token in tokens]
        model["unk_id"] = UNKNOWN_ID if has_unknown else None
        return
    model["vocab"] = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *tokens])}
    if has_unknown:
        model["unk_token"] = SPECIAL_TOKENS[UNKNOWN_ID]


# --- pieces in `▁` notation


def word_start_notation(tokens: Sequence[str], spec: Mapping[str, Any]) -> list[str]:
    """Write tokens with `▁` at word starts: BERT's `##` and GPT-2's byte letters are translated.

    A token that has no such form (more than one space, a newline), or whose form another one has,
    stays as it is; a mark after it keeps it apart from a form that is spelt like it.

    spec: the parsed `tokenizer.json`, which determines the token's own notation.
    """
    model, translate = spec["model"], str
    if model["type"] == "WordPiece" and model["continuing_subword_prefix"]:
        translate = functools.partial(_from_prefix, prefix=model["continuing_subword_prefix"])
    elif model["type"] != "WordPiece" and '"ByteLevel"' in json.dumps(spec["pre_tokenizer"]):
        translate = _from_bytes
    taken: dict[str, None] = {}
    for token in tokens:
        form = (translate(token) or token).replace("\n", "\\n")
        if form in taken:
            form = token.replace("\n", "\\n")
        while form in taken:
            form += "\u241f"  # the symbol for a separator, which stands in no vocabulary
        taken[form] = None
    return list(taken)


def _from_prefix(token: str, prefix: str) -> str:
    return token.removeprefix(prefix) if token.startswith(prefix) else WORD_START + token


def _from_bytes(token: str) -> str | None:
    letters = _bytes_of_letters()
    if not letters.keys() >= set(token):
        return None
    data = bytes(letters[letter] for letter in token)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:  # part of a character: as sentencepiece writes bytes
        return "".join(f"<0x{byte:02X}>" for byte in data)
    word = text.removeprefix(" ")
    return None if word != word.strip() else WORD_START * text.startswith(" ") + word


@functools.cache
def _bytes_of_letters() -> dict[str, int]:
    """Return the byte that each of GPT-2's letters stands for."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in shown]
    letters = {chr(byte): byte for byte in shown}
    return letters | {chr(256 + number): byte for number, byte in enumerate(others)}


# --- use


def load(path: str | Path) -> Encoder:
    """Load a tokenizer: a folder of this project or of Hugging Face, a `.model`, a list of pieces.

    A model or a list gets the ids that `sagevocab export` gives it.

    Raises:
        UserError: it is none of these.
    """
    from sagevocab.encoder import Encoder

    path = Path(path)
    if is_own_folder(path):
        read_folder_pieces(path)  # refuses a pieces.txt that does not fit
    if path.is_dir() or path.suffix == ".json":
        return Encoder(load_hub(path, "tokenizer"), path)
    with as_own_folder(path, WordSettings()) as folder:
        return Encoder(load_hub(folder, "tokenizer"), path)


# --- export


def convert(
    path: str | Path,
    output: str | Path,
    form: str = "huggingface",
    *,
    words: WordSettings,
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
    from sagevocab.export import check_output, disk_errors

    if form not in FORMATS:
        raise UserError(f"format: {form!r} is unknown; choose one of {', '.join(FORMATS)}")
    path, output = Path(path), Path(output)
    if output.resolve() in (path.resolve(), *path.resolve().parents):
        raise UserError(f"{output}: is or holds the vocabulary to export; give another output")
    if form == "huggingface":
        check_output(output, force)
        with disk_errors(output), atomic_folder(output, replace=force) as folder:
            import_foreign(path, folder, words)
        return
    if output.is_dir() or (output.exists() and not force):
        raise UserError(f"{output}: is there already; give another file, or force to replace it")
    pieces = _pieces(path, words)
    with disk_errors(output):
        if form == "pieces":
            write_pieces(output, pieces)
        else:
            write_text(output, _scored(pieces, path))


def _pieces(path: Path, words: WordSettings) -> list[str]:
    if (path / "pieces.txt").exists():
        return read_folder_pieces(path)
    with as_own_folder(path, words) as folder:
        return read_folder_pieces(folder)


def _scored(pieces: Sequence[str], path: Path) -> str:
    """Return the lines of a `.vocab` file; sentencepiece's special tokens come first."""
    from sagevocab.bpe import read_model, scores_of_model

    is_model = path.suffix == ".model" and path.is_file()
    scores = scores_of_model(read_model(path)) if is_model else [-n for n in range(len(pieces))]
    lines = ["<unk>\t0", "<s>\t0", "</s>\t0"]
    lines += [f"{piece}\t{score:g}" for piece, score in zip(pieces, scores, strict=True)]
    return "".join(f"{line}\n" for line in lines)
