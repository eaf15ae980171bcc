"""Options of `sagevocab train`, made from the settings of the library."""

from __future__ import annotations

import argparse
import json
import re
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from sagevocab.settings import SageSettings, VocabularyKeys, Word2VecKeys

# Section of the configuration: title of its options, settings, prefix of the options.
SECTIONS: dict[str, tuple[str, type, str]] = {
    "vocabulary": ("text and initial vocabulary", VocabularyKeys, ""),
    "word2vec": ("skip-gram embeddings", Word2VecKeys, "word2vec-"),
    "sage": ("pruning (left out: as in the preset)", SageSettings, ""),
}
# Keys whose options are written out in `cli`.
_OWN = {
    "vocabulary.final_size": "--vocab-size",
    "vocabulary.initial_size": "--initial-size",
    "sage.final_size": "--vocab-size",
    "sage.preset": "--preset",
    "sage.seed": "--seed",
    "sage.threads": "--threads",
    "word2vec.seed": "--seed",
}
# Arguments of the library's functions that have the name of an option.
_ARGUMENTS = ("initial", "encoding_errors", "language")


# Fields without an option of their own, by dotted key: option, field.
_OPTIONS: dict[str, tuple[str, FieldInfo]] = {
    f"{section}.{name}": (f"--{prefix}{name.replace('_', '-')}", field)
    for section, (_, kind, prefix) in SECTIONS.items()
    for name, field in kind.__pydantic_fields__.items()
    if f"{section}.{name}" not in _OWN
}


_DOTTED_KEY = re.compile(rf"\b(?:{'|'.join(SECTIONS)})\.\w+")
# Keys of several words that follow another key of their section, as in "lower prune_batch", and
# the library's names of the sizes.
_KEYS = {key.partition(".")[2]: option for key, (option, _) in _OPTIONS.items()}
_KEYS |= {"vocab_size": "--vocab-size", "initial_size": "--initial-size"}
_BARE_KEY = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w./-])")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Give `parser` an option for every field of every section, by its dotted key."""
    groups = {name: parser.add_argument_group(title) for name, (title, *_) in SECTIONS.items()}
    for key, (option, field) in _OPTIONS.items():
        add = groups[key.partition(".")[0]].add_argument
        text = f"{field.description} (default: {field.default})".replace("%", "%%")
        shared: dict[str, Any] = {"dest": key, "default": argparse.SUPPRESS, "help": text}
        if field.annotation is bool:
            add(option, action=argparse.BooleanOptionalAction, **shared)
        else:
            add(option, type=_value, metavar=_metavar(field.annotation), **shared)


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what the user set, by section and field."""
    given: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, value in vars(arguments).items():
        if key in _OPTIONS:
            section, _, name = key.partition(".")
            given[section][name] = value
    return given


def in_options(message: str) -> str:
    """Name the options where a message names keys of settings, or begins with an argument."""
    argument, colon, rest = message.partition(": ")
    if argument in _ARGUMENTS:
        return f"--{argument.replace('_', '-')}{colon}{rest}"
    message = _DOTTED_KEY.sub(lambda key: _OWN.get(key[0]) or _option(key[0]), message)
    return _BARE_KEY.sub(lambda key: _KEYS.get(key[0], key[0]), message)


def _option(key: str) -> str:
    return _OPTIONS[key][0] if key in _OPTIONS else key


def _value(text: str) -> Any:
    """Read a number or text; the settings say themselves what they do not take."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _metavar(kind: Any) -> str:
    """Return what stands for a value in the usage: N, X, or the names to choose from."""
    if get_origin(kind) is Annotated:
        return _metavar(get_args(kind)[0])
    if members := get_args(kind):
        return "|".join(_metavar(member) for member in members)
    return {int: "N", float: "X", str: "ADDRESS"}.get(kind, str(kind))
