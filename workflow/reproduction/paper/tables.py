"""Tables of pieces, settings and costs, one function a table, named as the rule that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.analysis.vocabulary import frequency_differences
from reproduction.paper.formats import NOTHING, number
from reproduction.paper.inputs import of_language
from reproduction.paper.table import Table

# --- frequencies


def table_frequencies(
    panels: Mapping[str, Mapping[str, pd.Series]],
    paper: Mapping[str, Any],
    *,
    languages: Mapping[str, str],
    top: int,
) -> Table:
    """Return the pieces whose frequency differs most between BPE and each SaGe tokenizer.

    panels: {language title: {tokenizer label: count by piece}}, BPE first. paper: the paper's
    values. languages: code -> title.
    Source: paper, Section 4, "Token Frequency".
    """
    paper_pieces = of_language(paper["frequency_pieces"], languages)
    data = pd.concat(
        _frequency_block(title, panel, label, paper_pieces.get(title, {}), top)
        for title, panel in panels.items()
        for label in list(panel)[1:]
    )
    baseline = next(iter(next(iter(panels.values()))))
    sides = [f"More frequent than with {baseline}", f"Less frequent than with {baseline}"]
    parts = [(side, part) for side in sides for part in ("piece", "tokens", "difference")]
    by_tokenizer = data.groupby(["language", "tokenizer"], sort=False)
    note = (
        f"Tokens of the training corpus; difference: the tokenizer named minus {baseline}. "
        "An asterisk marks the twelve pieces that the paper prints; the rows 'paper' give all of "
        "them, those it calls more frequent on the left."
    )
    return Table(
        ["Language", "Tokenizer", "Rank", *parts],
        [list(_frequency_rows(*names, rows)) for names, rows in by_tokenizer],
        data,
        opening=2,
        note=[note],
    )


def _frequency_block(
    title: str,
    panel: Mapping[str, pd.Series],
    label: str,
    printed: Mapping[str, Sequence[str]],
    top: int,
) -> pd.DataFrame:
    """Rows of one language and tokenizer: the largest differences each way, then the paper's."""
    baseline = next(iter(panel.values()))
    ranked = frequency_differences(panel[label], baseline)
    printed = {name: list(printed.get(name, [])) for name in ("sage", "bpe")}
    known = {piece for pieces in printed.values() for piece in pieces}
    chosen = {
        ("more", "rank"): ranked.head(top),
        ("less", "rank"): ranked[::-1].head(top),
        ("more", "paper"): ranked.reindex(printed["sage"], fill_value=0),
        ("less", "paper"): ranked.reindex(printed["bpe"], fill_value=0),
    }
    parts = [
        frame.reset_index().assign(
            direction=direction, listed=listed, rank=range(1, len(frame) + 1)
        )
        for (direction, listed), frame in chosen.items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.rename(columns={"first": "tokens", "second": "baseline_tokens"})
    rows["in_paper"] = rows["piece"].isin(known)
    rows.insert(0, "language", title)
    rows.insert(1, "tokenizer", label)
    order = ["language", "tokenizer", "listed", "direction", "rank", "piece"]
    return rows[[*order, "tokens", "baseline_tokens", "difference", "in_paper"]]


def _frequency_rows(language: str, tokenizer: str, rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the rows of a block as printed: a piece more frequent beside one less frequent."""
    for (listed, rank), pair in rows.groupby(["listed", "rank"], sort=False):
        more, less = (_frequency_cells(pair, side) for side in ("more", "less"))
        name = str(rank) if listed == "rank" else "paper"
        yield [language, tokenizer, name, *more, *less]


def _frequency_cells(pair: pd.DataFrame, side: str) -> list[str]:
    found = pair[pair["direction"] == side]
    if found.empty:
        return [NOTHING] * 3
    row = found.iloc[0]
    mark = "*" if row["in_paper"] and row["listed"] == "rank" else ""
    return [row["piece"] + mark, f"{row['tokens']:,}", number(row["difference"], "+,")]


# --- settings

SETTINGS_NOTE = (
    "This run's values come from its configuration, under the key given; the paper's from its "
    f"Appendix A. {NOTHING}: the paper or the configuration has no such setting."
)
# What the code does where the paper's appendix has a setting and the configuration has none.
_FIXED_SETTINGS = {
    "vocabulary": {},
    "pretraining": {
        "layer_norm_type": "pytorch",
        "model_type": "roberta-prelayernorm, MLM",
        "encoder_ln_mode": "pre-ln",
        "optimizer_type": "adamw",
        "deepspeed": "no",
    },
    "finetuning": {"evaluation_strategy": "after the last update"},
}


def table_hyperparameters(
    settings: Mapping[str, Any],
    *,
    stage: str,
    paper: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Table:
    """Return the settings of a stage beside the paper's (Appendix A).

    settings: the part of the configuration that counts, nested as there. stage: `vocabulary`,
    `pretraining` or `finetuning`. paper: the paper's values; of the stage rows of key, value,
    optional `printed` (how the paper prints it) and `config` (the same setting here).
    """
    printed = paper["hyperparameters"][f"table_hyperparameters_{stage}"]
    flat = dict(flat_settings(settings))
    fixed = dict(_FIXED_SETTINGS[stage])
    if stage == "pretraining":
        fixed["lr_schedule"] = "steps" if flat.get("lm.pretrain.hours") is None else "time"
    data = pd.DataFrame(list(_setting_rows(flat, printed, fixed)))
    shown = data.fillna(NOTHING).values.tolist()
    stated = int(data["paper"].notna().sum())
    return Table(
        ["Setting", "Configuration key", "This run", "Paper"],
        [shown[:stated], shown[stated:]],
        data,
        note=[SETTINGS_NOTE, *notes],
    )


def _setting_rows(
    flat: Mapping[str, Any], paper: Sequence[Mapping[str, Any]], fixed: Mapping[str, str]
) -> Iterator[dict[str, str | None]]:
    """Yield the paper's settings in its order, then those that only this pipeline has."""
    named = {row["config"] for row in paper if "config" in row}
    for row in paper:
        key = row.get("config")
        value = flat.get(key) if key else fixed.get(row["key"])
        printed = format_setting(row.get("printed", row["value"]))
        yield {"setting": row["key"], "key": key, "run": format_setting(value), "paper": printed}
    for key, value in flat.items():
        if key not in named and value is not None:
            run = format_setting(value)
            yield {"setting": _setting_name(key), "key": key, "run": run, "paper": None}


def _setting_name(key: str) -> str:
    """Return a setting's name: the last part of its key, and the tokenizer of a stanza's."""
    *_, owner, setting = ["", *key.split(".")]
    return f"{setting} of {owner}" if key.startswith("tokenizer_settings.") else setting


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) of nested settings, in their order."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def format_setting(value: Any) -> str | None:
    """Return a setting as text: true and false, members of a list, short numbers; None if unset."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_setting, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
