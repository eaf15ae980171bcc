"""Options of `sagevocab train`, made from the settings of the library."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from sagevocab.vocab.settings import SageSettings, VocabularyKeys, Word2VecKeys

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


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Give `parser` an option for every field of every section."""
    for section, (title, _, _) in SECTIONS.items():
        group = parser.add_argument_group(title)
        for name, field in _fields(section):
            _add(group, _option(section, name), field)


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what the user set, by section and field."""
    given = vars(arguments)
    return {
        section: {
            name: given[_option(section, name)]
            for name, _ in _fields(section)
            if _option(section, name) in given
        }
        for section in SECTIONS
    }


def in_options(message: str) -> str:
    """Name the option where a message begins with the key of a setting."""
    key, colon, rest = message.partition(": ")
    section, _, name = key.partition(".")
    if key in _ARGUMENTS:
        key = f"--{key.replace('_', '-')}"
    elif section in SECTIONS and key not in _OWN and name in dict(_fields(section)):
        key = _option(section, name)
    return f"{_OWN.get(key, key)}{colon}{rest}"


def _fields(section: str) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of a section that have no option of their own."""
    for name, field in SECTIONS[section][1].__pydantic_fields__.items():
        if f"{section}.{name}" not in _OWN:
            yield name, field


def _option(section: str, name: str) -> str:
    return f"--{SECTIONS[section][2]}{name.replace('_', '-')}"


def _add(group: Any, option: str, field: FieldInfo) -> None:
    text = f"{field.description} (default: {field.default})".replace("%", "%%")
    options: dict[str, Any] = {"dest": option, "default": argparse.SUPPRESS, "help": text}
    if field.annotation is bool:
        group.add_argument(option, action=argparse.BooleanOptionalAction, **options)
    else:
        group.add_argument(option, type=_value, metavar=_metavar(field.annotation), **options)


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
    return {int: "N", float: "X"}.get(kind, str(kind))
