"""What a user calls a setting: a key of the configuration, a parameter, or an option.

The library raises errors with keys of the configuration (`vocabulary.vocab_size`). Its functions
turn these into their parameters (`vocab_size`), and the command into its options (`--vocab-size`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic.fields import FieldInfo

from sagevocab.errors import UserError
from sagevocab.settings import SageSettings, VocabularyKeys, Word2VecKeys

# Section of the configuration: title of its options, settings, prefix of the options. A key
# `sage.window` is the parameter `sage['window']` and the option `--window`.
SECTIONS: dict[str, tuple[str, type, str]] = {
    "vocabulary": ("text and initial vocabulary", VocabularyKeys, ""),
    "word2vec": ("skip-gram embeddings", Word2VecKeys, "word2vec-"),
    "sage": ("pruning (left out: as in the preset)", SageSettings, ""),
}
# Keys that are parameters of their own.
PARAMETERS = {
    "vocabulary.vocab_size": "vocab_size",
    "vocabulary.initial_size": "initial_size",
    "sage.vocab_size": "vocab_size",
    "sage.preset": "preset",
    "sage.seed": "seed",
    "sage.threads": "threads",
    "word2vec.seed": "seed",
}
# Parameters of `train` that are options of the same name, and those of the other functions.
TRAIN_ARGUMENTS = (
    *("vocab_size", "column", "initial_size", "initial", "preset", "seed", "threads"),
    *("bad_text", "language", "name", "output", "force"),
    *("lossless", "special_tokens", "template", "model_max_length"),
)
_SAME = (*TRAIN_ARGUMENTS, "normalization", "max_word_chars", "text")
KEYS: dict[str, FieldInfo] = {
    f"{section}.{name}": field
    for section, (_, kind, _) in SECTIONS.items()
    for name, field in kind.__pydantic_fields__.items()
}
# A key, or what a user took for one; `sage.txt` is neither.
_KEY = re.compile(
    rf"(?<![\w./-])(?:(?:{'|'.join(map(re.escape, {**KEYS, **PARAMETERS}))})(?![\w.])"
    rf"|(?:{'|'.join(SECTIONS)})\.\w+(?=: unknown))"
)
_ITEM = re.compile(rf"\b({'|'.join(SECTIONS)})\['(\w+)'\]")
_OPENING = re.compile(rf"({'|'.join(_SAME)}): ")
# Parameters as they are given, with a value or without: column='text', lossless=True, initial=.
_ARGUMENT = re.compile(rf"\b({'|'.join(_SAME)})=(?:True\b|'([^']*)'|(?=[\s,;.)]|$))")
_SETTING = re.compile(rf"\b({'|'.join(SECTIONS)})=\{{'(\w+)': ([^}}]+)\}}")
_TURNED_OFF = re.compile(r"\bturn --([a-z-]+) off")
# Names of several words that follow another of their section, as in "lower prune_batch".
_BARE = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w./-])")


def parameter(key: str) -> str:
    """Return the parameter of `train` that is the key of a setting."""
    section, _, name = key.partition(".")
    return PARAMETERS.get(key, f"{section}[{name!r}]")


def assigned(key: str, value: Any) -> str:
    """Return the argument of `train` that gives a setting a value; key: none of `PARAMETERS`."""
    section, _, name = key.partition(".")
    return f"{section}={{{name!r}: {value!r}}}"


def option(key: str) -> str:
    """Return the option of the command that is the key of a setting."""
    section, _, name = key.partition(".")
    prefix = SECTIONS[section][2]
    return f"--{PARAMETERS.get(key, prefix + name).replace('_', '-')}"


_BARE_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME} | {
    key.partition(".")[2]: option(key) for key in KEYS
}


def in_parameters(message: str) -> str:
    """Name the parameters of `train` where a message names keys of the configuration."""
    return _KEY.sub(lambda key: parameter(key[0]), message)


def in_options(message: str) -> str:
    """Name the options of the command where a message names keys or parameters."""
    message = _KEY.sub(lambda key: option(key[0]), message)
    message = _ITEM.sub(lambda item: option(f"{item[1]}.{item[2]}"), message)
    if opening := _OPENING.match(message):
        message = f"{_BARE_OPTIONS[opening[1]]}{message[opening.end(1) :]}"
    message = _SETTING.sub(lambda given: f"{option(f'{given[1]}.{given[2]}')} {given[3]}", message)
    message = _ARGUMENT.sub(
        lambda given: " ".join(filter(None, (_BARE_OPTIONS[given[1]], given[2]))), message
    )
    message = _TURNED_OFF.sub(r"give --no-\1", message)
    return _BARE.sub(lambda name: _BARE_OPTIONS.get(name[0], name[0]), message)


@contextmanager
def errors_in_parameters() -> Iterator[None]:
    """Name parameters in the errors of what runs inside: for functions that users call.

    The line says all that a user needs, so Python does not print what the library met first.
    """
    try:
        yield
    except UserError as error:
        error.args = (in_parameters(str(error)),)
        raise error from None
