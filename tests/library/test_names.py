"""One setting, three names: errors and log lines in those of the user."""

from __future__ import annotations

import dataclasses

import pytest

from sagevocab.option_names import SECTIONS, assigned, in_options, in_parameters, option, parameter

KEYS = [
    f"{section}.{field.name}"
    for section, (_, kind, _) in SECTIONS.items()
    for field in dataclasses.fields(kind)
]


@pytest.mark.parametrize(
    ("message", "parameters", "options"),
    [
        ("vocabulary.vocab_size: 9 is low", "vocab_size: 9 is low", "--vocab-size: 9 is low"),
        ("sage.seed: no", "seed: no", "--seed: no"),
        ("sage.window: no", "sage['window']: no", "--window: no"),
        ("word2vec.window: no", "word2vec['window']: no", "--word2vec-window: no"),
        (
            "sage.candidates: 5; lower prune_batch",
            "sage['candidates']: 5; lower prune_batch",
            "--candidates: 5; lower --prune-batch",
        ),
        (
            "turn vocabulary.ascii off",
            "turn vocabulary['ascii'] off",
            "give --no-ascii",
        ),
        ("name it, column='text'", "name it, column='text'", "name it, --column text"),
        ("leave initial= out", "leave initial= out", "leave --initial out"),
        (
            f"train with {assigned('word2vec.alpha', 0.5)}, or not",
            "train with word2vec={'alpha': 0.5}, or not",
            "train with --word2vec-alpha 0.5, or not",
        ),
        ("corpus.sage.txt: stays", "corpus.sage.txt: stays", "corpus.sage.txt: stays"),
    ],
)
def test_messages_in_three_dialects(message: str, parameters: str, options: str) -> None:
    assert in_parameters(message) == parameters
    assert in_options(message) == options
    assert in_options(parameters) == options


def test_every_key_has_its_parameter_and_its_option() -> None:
    for key in KEYS:
        assert in_parameters(f"{key}: no") == f"{parameter(key)}: no"
        assert in_options(f"{key}: no") == f"{option(key)}: no"
        assert in_options(f"{parameter(key)}: no") == f"{option(key)}: no"
