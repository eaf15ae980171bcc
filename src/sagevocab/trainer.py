"""A trainer in the shape of those of `tokenizers`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sagevocab.training import SageVocabulary, train


class SageTrainer:
    """Trains SaGe vocabularies; it takes the settings of `train`, and its methods take the text.

    SageTrainer(vocab_size=16_000).train_from_iterator(lines)
    """

    def __init__(self, **settings: Any) -> None:
        """Take the arguments of `train` but the text.

        Raises:
            TypeError: `train` has no such argument.
        """
        _SIGNATURE.bind(**settings)
        self._settings = settings

    def __repr__(self) -> str:
        """Return the call that makes the trainer."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings.items())
        return f"SageTrainer({settings})"

    def train(self, files: str | Path | Sequence[str | Path]) -> SageVocabulary:
        """Train on a file of lines, or several.

        Raises:
            UserError: a mistake in the text or the settings, in one line.
        """
        return train(files, **self._settings)

    def train_from_iterator(
        self, iterator: Iterable[str] | Iterable[Sequence[str]]
    ) -> SageVocabulary:
        """Train on lines, or on batches of lines.

        Raises:
            UserError: a mistake in the text or the settings, in one line.
        """
        return train(_single(iterator), **self._settings)


def _single(lines: Iterable[Any]) -> Iterator[Any]:
    for line in lines:
        if isinstance(line, list | tuple):
            yield from line
        else:
            yield line


def _settings_of_train() -> inspect.Signature:
    signature = inspect.signature(train)
    _, *settings = signature.parameters.values()
    return signature.replace(parameters=settings, return_annotation=None)


_SIGNATURE = _settings_of_train()
SageTrainer.__signature__ = _SIGNATURE  # what help() shows
