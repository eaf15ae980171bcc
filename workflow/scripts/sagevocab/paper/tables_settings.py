"""The appendix's tables of hyperparameters, written from the run's own configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.notes import with_notes

Files = str | Path
NOTE = (
    "This run's values come from its configuration, under the key given; the paper's from its "
    f"Appendix A. {NOTHING}: the paper or the configuration has no such setting."
)


def table_hyperparameters_vocabulary(
    settings: Mapping[str, Any],
    *,
    paper: Sequence[Mapping[str, Any]],
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the settings of vocabulary creation beside the paper's (Appendix A).

    settings: the part of the configuration that counts, nested as there. paper: rows of key,
    value, optional `printed` (how it stands in the paper) and `config` (the same setting here).
    """
    _write_settings(settings, paper, {}, {"tex": tex, "csv": csv, "md": md})


def table_hyperparameters_pretraining(
    settings: Mapping[str, Any],
    *,
    paper: Sequence[Mapping[str, Any]],
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the settings of pre-training beside the paper's; arguments as for the vocabulary."""
    _write_settings(settings, paper, _pretraining(settings), {"tex": tex, "csv": csv, "md": md})


def table_hyperparameters_finetuning(
    settings: Mapping[str, Any],
    *,
    paper: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write the settings of fine-tuning beside the paper's; arguments as for the vocabulary.

    notes: further sentences, of the models' budget and the tasks' rows.
    """
    _write_settings(settings, paper, _FINETUNING, {"tex": tex, "csv": csv, "md": md}, notes)


# What the code does where the paper's appendix has a setting and the configuration has none.
_PRETRAINING = {
    "layer_norm_type": "pytorch",
    "model_type": "roberta-prelayernorm, MLM",
    "encoder_ln_mode": "pre-ln",
    "optimizer_type": "adamw",
    "deepspeed": "no",
}
_FINETUNING = {"evaluation_strategy": "after the last update"}


def _pretraining(settings: Mapping[str, Any]) -> dict[str, str]:
    hours = dict(flat_settings(settings)).get("lm.pretrain.hours")
    return {**_PRETRAINING, "lr_schedule": "steps" if hours is None else "time"}


def _write_settings(
    settings: Mapping[str, Any],
    paper: Sequence[Mapping[str, Any]],
    fixed: Mapping[str, str],
    files: Mapping[str, Files],
    notes: Sequence[str] = (),
) -> None:
    data = pd.DataFrame(list(_rows(settings, paper, fixed)))
    stated = int(data["paper"].notna().sum())
    shown = pd.DataFrame(
        {
            "Setting": data["setting"],
            "Configuration key": data["key"].fillna(NOTHING),
            "This run": data["run"].fillna(NOTHING),
            "Paper": data["paper"].fillna(NOTHING),
        }
    )
    blocks = [stated] if stated < len(data) else []
    write_table(shown, data, align="llrr", note=with_notes(NOTE, notes), blocks=blocks, **files)


def _rows(
    settings: Mapping[str, Any], paper: Sequence[Mapping[str, Any]], fixed: Mapping[str, str]
) -> Iterator[dict[str, str | None]]:
    """Yield the paper's settings in its order, then those that only this pipeline has."""
    ours = dict(flat_settings(settings))
    named = {row["config"] for row in paper if "config" in row}
    for row in paper:
        key = row.get("config")
        value = ours.get(key) if key else fixed.get(row["key"])
        printed = format_setting(row.get("printed", row["value"]))
        yield _row(row["key"], key, value, printed)
    for key, value in ours.items():
        if key not in named and value is not None:
            yield _row(_setting_name(key), key, value, None)


def _setting_name(key: str) -> str:
    """Return what a key sets: its last part, and for a tokenizer's own setting whose it is."""
    *_, owner, setting = ["", *key.split(".")]
    return f"{setting} of {owner}" if key.startswith("tokenizer_settings.") else setting


def _row(setting: str, key: str | None, value: Any, printed: str | None) -> dict[str, str | None]:
    run = None if value is None else format_setting(value)
    return {"setting": setting, "key": key, "run": run, "paper": printed}


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) of nested settings, in their order."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def format_setting(value: Any) -> str:
    """Return a setting as it is read: true and false, lists by their members, short numbers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_setting, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
