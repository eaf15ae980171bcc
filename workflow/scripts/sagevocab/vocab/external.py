"""Tokenizers from elsewhere, brought into this project's folder form.

A list of pieces is segmented greedily, a sentencepiece model by its merges or likelihoods, and a
Hugging Face tokenizer as it does by itself. The special tokens become this project's, with ids 0 to
4; the pieces follow in the order that they had.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagevocab.errors import UserError
from sagevocab.vocab.bpe import (
    Model,
    merges_of_model,
    pieces_of_model,
    read_model,
    scores_of_model,
)
from sagevocab.vocab.export import (
    Card,
    WordSettings,
    export_greedy,
    export_merges,
    export_unigram,
    write_folder,
)
from sagevocab.vocab.hub import add_special_tokens, missing_characters
from sagevocab.vocab.pieces import FIRST_PIECE_ID, SPECIAL_TOKENS, UNKNOWN_ID, WORD_START
from sagevocab.vocab.words import NORMALIZATIONS, character_map

if TYPE_CHECKING:
    from tokenizers import Tokenizer

log = logging.getLogger(__name__)

_LIST_SPECIALS = {*SPECIAL_TOKENS, "<unk>", "<s>", "</s>", "<pad>", "<mask>"}
_HUB_MODELS = ("WordPiece", "BPE", "Unigram", "WordLevel")


def import_external(
    path: str | Path, folder: str | Path, words: WordSettings, card: Card, key: str
) -> None:
    """Bring the tokenizer at `path` into the folder form of this project.

    path: a Hugging Face folder or its tokenizer.json; a sentencepiece `.model`; or a list with one
    piece a line, `▁` at the start of words. words: for a list; the others bring their own
    normalisation. key: the configuration key that `path` is from.

    Raises:
        UserError: there is nothing at `path`, or it is none of these.
    """
    path = Path(path)
    if not path.exists():
        raise UserError(
            f"{key}: {path} does not exist; give a Hugging Face folder, a sentencepiece .model or "
            "a list of pieces"
        )
    if path.is_dir() or path.suffix == ".json":
        tokenizer, pieces = adapt_hub_tokenizer(load_hub(path, key), key)
        write_folder(folder, tokenizer, pieces, "external", None, card)
    elif path.suffix == ".model":
        _import_model(path, folder, words, card, key)
    else:
        export_greedy(folder, listed_pieces(path, key), words, card)


# --- a list of pieces


def listed_pieces(path: Path, key: str) -> list[str]:
    """Read one piece a line; after a tab may stand a score, as in sentencepiece's .vocab files."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{key}: {path} is not UTF-8 text; give a list of pieces, a .model or a folder"
        ) from error
    named = (line.removesuffix("\r").split("\t")[0] for line in lines)
    pieces = list(dict.fromkeys(piece for piece in named if piece not in {"", *_LIST_SPECIALS}))
    if not any(piece.startswith(WORD_START) for piece in pieces):
        raise UserError(
            f"{key}: no piece in {path} starts with {WORD_START}, which marks the start of words; "
            "write the list so, or give the Hugging Face folder it is from"
        )
    for piece in pieces:
        if WORD_START in piece[1:] or " " in piece:
            raise UserError(
                f"{key}: the piece {piece!r} in {path} crosses a space; take such pieces out"
            )
    added = missing_characters(pieces)
    if added:
        log.warning("%s: %d characters of its pieces are added as pieces", path, len(added))
    return pieces + added


# --- a sentencepiece model


def _import_model(
    path: Path, folder: str | Path, words: WordSettings, card: Card, key: str
) -> None:
    model = read_model(path)
    check_model(model, path, key)
    words = WordSettings(normalization_of(model, path, key), words.max_word_chars)
    pieces = pieces_of_model(model)
    if model.trainer_spec.model_type == model.trainer_spec.BPE:
        export_merges(folder, pieces, merges_of_model(model), words, card)
    else:
        export_unigram(folder, pieces, scores_of_model(model), words, card)


def check_model(model: Model, path: Path, key: str) -> None:
    """Refuse a sentencepiece model that cannot be expressed in this project's pieces."""
    kinds = (model.trainer_spec.BPE, model.trainer_spec.UNIGRAM)
    if model.trainer_spec.model_type not in kinds:
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


def normalization_of(model: Model, path: Path, key: str) -> str:
    """Return the rule whose character map the model carries."""
    rules = {_map_of(rule): rule for rule in NORMALIZATIONS}
    charsmap = model.normalizer_spec.precompiled_charsmap
    if charsmap not in rules:
        raise UserError(
            f"{key}: {path} has a normalisation of its own; "
            f"give one that uses any of {', '.join(NORMALIZATIONS)}, or its Hugging Face folder"
        )
    return rules[charsmap]


@functools.cache
def _map_of(rule: str) -> bytes:
    return character_map(rule)


# --- a Hugging Face tokenizer


def load_hub(path: Path, key: str) -> Tokenizer:
    """Load a Hugging Face folder or `tokenizer.json` as it is; nothing is downloaded.

    Raises:
        UserError: it is none.
    """
    from tokenizers import Tokenizer

    file = path / "tokenizer.json" if path.is_dir() else path
    try:
        return Tokenizer.from_file(str(file)) if file.exists() else _converted(path)
    except Exception as error:  # the library raises bare exceptions of many kinds
        raise UserError(
            f"{key}: {path} is no Hugging Face tokenizer folder ({error}); "
            "give one with a tokenizer.json"
        ) from error


def _converted(folder: Path) -> Tokenizer:
    """Let `transformers` make a `tokenizer.json` of an older folder; nothing is downloaded."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return tokenizer.backend_tokenizer


def adapt_hub_tokenizer(tokenizer: Tokenizer, key: str) -> tuple[Tokenizer, list[str]]:
    """Renumber a tokenizer: this project's special tokens first, then its pieces by their ids.

    Normalisation, splitting into words, model and decoder stay, but for what makes the pieces of a
    word depend on its place in a text: surrounding and repeated spaces are dropped, and a word that
    opens a text is treated like any other. Returns the tokenizer, and its pieces in `▁` notation.

    Raises:
        UserError: its model is of a kind that can't be renumbered.
    """
    from tokenizers import Tokenizer

    spec = json.loads(tokenizer.to_str())
    model = spec["model"]
    if model["type"] not in _HUB_MODELS:
        raise UserError(f"{key}: tokenizers of type {model['type']} cannot be imported")
    tokens = _kept_tokens(tokenizer, spec)
    _renumber(model, tokens)
    kept = [token for token in spec["added_tokens"] if token["content"] in set(tokens)]
    numbers = {token: FIRST_PIECE_ID + number for number, token in enumerate(tokens)}
    spec["added_tokens"] = [{**token, "id": numbers[token["content"]]} for token in kept]
    spec["normalizer"] = _sequence("normalizers", _SPACES, spec["normalizer"])
    spec["pre_tokenizer"] = _independent_of_place(spec["pre_tokenizer"])
    spec.update(post_processor=None, truncation=None, padding=None)
    adapted = Tokenizer.from_str(json.dumps(spec))
    add_special_tokens(adapted)
    return adapted, word_start_notation(tokens, spec)


_SPACES = [
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    {"type": "Strip", "strip_left": True, "strip_right": True},
]


def _sequence(name: str, first: Sequence[Any], rest: Any) -> dict[str, Any]:
    return {"type": "Sequence", name: [*first, *([rest] if rest else [])]}


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
        model["vocab"] = [
            [token, scores.get(token, lowest) if token in set(tokens) else lowest]
            for token in [*SPECIAL_TOKENS, *tokens]
        ]
        model["unk_id"] = UNKNOWN_ID if has_unknown else None
        return
    model["vocab"] = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *tokens])}
    if has_unknown:
        model["unk_token"] = SPECIAL_TOKENS[UNKNOWN_ID]


# --- pieces in `▁` notation


def word_start_notation(tokens: Sequence[str], spec: Mapping[str, Any]) -> list[str]:
    """Write tokens with `▁` at word starts: BERT's `##` and GPT-2's byte letters are translated.

    A token that has no such form (more than one space, a newline), or whose form another one has,
    stays as it is.

    spec: the parsed `tokenizer.json`, which tells the token's own notation.
    """
    translate = _notation(spec)
    forms = [_printable(translate(token) or token) for token in tokens]
    taken: set[str] = set()
    for number, form in enumerate(forms):
        forms[number] = form if form not in taken else _free(tokens[number], taken)
        taken.add(forms[number])
    return forms


def _notation(spec: Mapping[str, Any]) -> Any:
    model = spec["model"]
    if model["type"] == "WordPiece":
        prefix = model["continuing_subword_prefix"]
        return functools.partial(_from_prefix, prefix=prefix) if prefix else str
    return _from_bytes if '"ByteLevel"' in json.dumps(spec["pre_tokenizer"]) else str


def _from_prefix(token: str, prefix: str) -> str:
    return token.removeprefix(prefix) if token.startswith(prefix) else WORD_START + token


def _from_bytes(token: str) -> str | None:
    letters = _byte_letters()
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
def _byte_letters() -> dict[str, int]:
    """GPT-2's letter for each byte: itself if it is printable, else one from U+0100 on."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = [byte for byte in range(256) if byte not in own]
    letters = {chr(byte): byte for byte in own}
    return letters | {chr(0x100 + number): byte for number, byte in enumerate(other)}


def _printable(form: str) -> str:
    return form.replace("\n", "\\n") if "\n" in form else form


def _free(token: str, taken: Iterable[str]) -> str:
    """Return the token, or with a mark after it if that is another token's form."""
    form = _printable(token)
    while form in taken:
        form += "\u241f"  # the symbol for a separator, which stands in no vocabulary
    return form
