"""Sentences that the notes under several tables share: texts, budgets of the models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def sources_note(sources: Iterable[Mapping[str, Any]]) -> str:
    """Return the sources of a table's sentences with their licences; empty without sources.

    sources: title and licence of each, and what else is known.
    """
    texts = dict.fromkeys(f"{t['title']}, {t['licence'] or 'licence not stated'}" for t in sources)
    return f"Sentences: {'; '.join(texts)}." if texts else ""


# --- budgets of the models


def pretraining_note(pretrain: Mapping[str, Any]) -> str:
    """Return the size of the models and their budget; `pretrain` is the section of that name."""
    return (
        f"Pretraining: {pretrain['layers']} layers, {pretrain['hidden']:,} wide, "
        f"{_length(pretrain)}, {100 * pretrain['mask_rate']:g} % of them masked."
    )


def budget_note(
    pretrain: Mapping[str, Any],
    finetune: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the budgets of pretraining and fine-tuning, and to how many rows tasks were cut.

    pretrain, finetune: sections of the configuration. tasks: label of each, and the settings that
    cut its rows; None where nothing is cut.
    """
    sentences = [
        pretraining_note(pretrain),
        f"Fine-tuning: {_number(finetune['epochs'], 'epoch')} in batches of "
        f"{finetune['batch'] * finetune['accumulation']}, at most "
        f"{finetune['max_sequence_length']} tokens an input.",
        *_cuts(tasks),
    ]
    return " ".join(sentences)


def _length(pretrain: Mapping[str, Any]) -> str:
    shape = f"{pretrain['batch']:,} sequences of {pretrain['sequence_length']} tokens"
    if pretrain.get("hours") is not None:
        return f"{_number(pretrain['hours'], 'hour')} in batches of {shape}"
    if pretrain.get("steps") is not None:
        return f"{_number(pretrain['steps'], 'update')} of {shape}"
    return f"{int(pretrain['tokens']):,} tokens in batches of {shape}"


def _number(count: float, what: str) -> str:
    return f"{count:,g} {what}{'' if count == 1 else 's'}" if count < 1e6 else f"{count:,} {what}s"


def _cuts(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which rows of tasks a run takes, by the keys of its configuration."""
    cuts = [
        f"{task['label']} {key} {value:,g}"
        for task in tasks
        for key, value in task.items()
        if key != "label" and value
    ]
    return [f"Rows of tasks: {', '.join(cuts)}."] if cuts else []
