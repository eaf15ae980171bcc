"""Options of `sagevocab train` made from the fields of the settings, and back."""

from __future__ import annotations

import argparse
import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from sagevocab.vocab.ablation import DECODERS, READINGS
from sagevocab.vocab.bpe import TrainingSettings
from sagevocab.vocab.embeddings import Word2VecSettings
from sagevocab.vocab.export import WordSettings
from sagevocab.vocab.sage import CONTEXT_MATRICES, SageSettings

# Section of the configuration: title, settings, prefix of its options.
SECTIONS: dict[str, tuple[str, tuple[type, ...], str]] = {
    "vocabulary": ("text and initial vocabulary", (TrainingSettings, WordSettings), ""),
    "word2vec": ("skip-gram embeddings", (Word2VecSettings,), "word2vec-"),
    "sage": ("pruning (left out: as in the preset)", (SageSettings,), ""),
}
# Fields with an option of their own, which is not made from them; None: no option.
_OWN = {
    "vocabulary.final_size": "--vocab-size",
    "vocabulary.initial_size": "--initial-size",
    "sage.final_size": "--vocab-size",
    "sage.preset": "--preset",
    "sage.seed": "--seed",
    "sage.threads": "--threads",
    "word2vec.seed": "--seed",
}
# Words that the library's messages use for arguments of its functions.
_ARGUMENTS = {
    "initial": "--initial",
    "encoding_errors": "--encoding-errors",
    "language": "--language",
}
# Ways out of a mistake to which the command adds one.
_WAYS_OUT = {"for example with iconv": ", or give --encoding-errors replace"}


def _choices(what: str, values: dict[str, str]) -> str:
    return f"{what}: " + ". ".join(f"{name} - {told}" for name, told in values.items())


HELP = {
    "character_coverage": "share of the text's characters that become pieces",
    "max_piece_length": "longest piece, in characters",
    "max_sentence_length": "bytes after which sentencepiece gets a long line in parts",
    "normalization": "sentencepiece's rule: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity",
    "max_word_chars": "characters after which a long word is cut (the word's ▁ counts)",
    "word2vec_dimension": "of the vectors",
    "word2vec_window": "tokens to each side",
    "word2vec_negative": "negative samples for each pair",
    "word2vec_epochs": "passes over the text",
    "word2vec_sample": "threshold of the downsampling of frequent pieces",
    "word2vec_alpha": "first learning rate",
    "word2vec_shrink_windows": "draw each window's size from 1 to the window",
    "word2vec_workers": "threads; more than 1 is faster and not reproducible",
    "word2vec_lines": "train on a sample of at most so many lines, or on all",
    "prune_batch": "k, pieces pruned at a time",
    "candidates": "M, size of the bottom set that is considered between two re-rankings",
    "rerank_every": "m, batches from one ranking of all pieces to the next",
    "retrain_every": "l, re-rankings from one training of embeddings to the next",
    "window": "W of the likelihood, in tokens to each side",
    "decoder": _choices("how words are segmented while pruning", DECODERS),
    "loss": _choices("what the loss of a piece is", READINGS),
    "loss_lines": "lines that count for a piece: all, or a number",
    "context_matrix": _choices("the context embeddings", CONTEXT_MATRICES),
    "retrain": "train embeddings anew while pruning",
    "push_back_line_start": "between re-rankings, pieces that open a line go last",
}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Give `parser` an option for every field of every section."""
    for section, (title, _, _) in SECTIONS.items():
        group = parser.add_argument_group(title)
        for name, field, kind in _fields(section):
            _add(group, name, field, kind)


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what the user set, by section and field."""
    return {
        section: {
            field.name: vars(arguments)[name]
            for name, field, _ in _fields(section)
            if name in vars(arguments)
        }
        for section in SECTIONS
    }


def in_options(message: str) -> str:
    """Write a message for users of the command: its options in the place of configuration keys."""
    for key, option in _KEYS.items():
        message = re.sub(rf"(?<![\w./]){re.escape(key)}(?!\w|\.\w)", option, message)
    for name, option in _ARGUMENTS.items():
        message = re.sub(rf"^{name}(?=: )", option, message)
    for known, more in _WAYS_OUT.items():
        message = message.replace(known, known + more)
    return message


def _fields(section: str) -> Iterator[tuple[str, dataclasses.Field, Any]]:
    """Yield the name of each option's value, its field and its type; a field once."""
    _, kinds, prefix = SECTIONS[section]
    seen: set[str] = set()
    for kind in kinds:
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if f"{section}.{field.name}" in _OWN or field.name in seen:
                continue
            seen.add(field.name)
            yield (prefix + field.name).replace("-", "_"), field, hints[field.name]


def _add(group: Any, name: str, field: dataclasses.Field, kind: Any) -> None:
    told = field.metadata.get("help") or HELP.get(name) or field.name.replace("_", " ")
    option = "--" + name.replace("_", "-")
    default = f" (default: {field.default})" if field.default is not dataclasses.MISSING else ""
    options: dict[str, Any] = {
        "help": (told + default).replace("%", "%%"),
        "default": argparse.SUPPRESS,
    }
    if kind is bool:
        group.add_argument(option, action=argparse.BooleanOptionalAction, **options)
    else:
        group.add_argument(option, type=_reader(kind), metavar=_metavar(kind), **options)


def _members(kind: Any) -> tuple[Any, ...]:
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return typing.get_args(kind) if is_union else (kind,)


def _metavar(kind: Any) -> str:
    names = {int: "N", float: "X", str: "NAME", type(None): "none"}
    return "|".join(names.get(member, "VALUE") for member in _members(kind))


def _reader(kind: Any) -> Callable[[str], Any]:
    """Return what reads a value of this type: numbers before names."""
    members = _members(kind)

    def read(text: str) -> Any:
        if type(None) in members and text.lower() in ("none", "null"):
            return None
        for member in (int, float):
            if member in members:
                try:
                    return member(text)
                except ValueError:
                    continue
        if str in members:
            return text
        raise ValueError(text)

    read.__name__ = _metavar(kind)
    return read


def _keys() -> dict[str, str]:
    keys = dict(_OWN)
    for section in SECTIONS:
        for name, field, _ in _fields(section):
            keys[f"{section}.{field.name}"] = "--" + name.replace("_", "-")
    return keys


_KEYS = _keys()
