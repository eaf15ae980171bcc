"""Which pieces a trained model can lose, and whether a loss that uses contexts holds.

The rules are in docs/appendix/preregistrations/2026-11-29-contexts.md. A model, or a sample of a
text, is a pair of values for each pair of prunings: all tests are Student's, of paired differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.analysis.stats import adjust, student
from reproduction.lm.settings import LAST_MERGED, WHOLE
from reproduction.paper.code_samples import CODE, paired_differences
from reproduction.paper.formats import Files, difference, number
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet

# The prunings that the bigram code is tested against.
TESTED = ("frequency", "extra_tokens", "counts", "unigram_code", "random")


def read_cut(paths: Mapping[str, Sequence[Files]]) -> pd.DataFrame:
    """Read what `cut_models` wrote: title of a language -> a file a model.

    Returns a row a language, model and pruning: language, model (0, 1, ...), tokenizer, size, rate
    (bits a character) and symbols (of the lines asked).

    Raises:
        UserError: a file is missing or damaged.
    """
    columns = ["bits", "characters", "symbols"]
    frames = []
    for title, files in paths.items():
        for model, file in enumerate(files):
            frame = read_parquet(file, ["tokenizer", "size", *columns])
            sums = frame.groupby(["tokenizer", "size"], as_index=False, sort=False)[columns].sum()
            frames.append(sums.assign(language=title, model=model))
    found = pd.concat(frames, ignore_index=True)
    return found.assign(rate=found["bits"] / found["characters"])


def table_cut(models: pd.DataFrame, labels: Mapping[str, str]) -> Table:
    """Return what models lose by each pruning, at each size: per cent of the bits of the whole.

    The CSV also has, at each size, every pruning minus the one of the lowest mean, and the bigram
    code minus others, with tests.

    Args:
        models: as `read_cut` gives them.
        labels: name of a pruning -> what it is called.
    """
    labels = {**labels, LAST_MERGED: "merged last"}
    data = pd.DataFrame(_cut_rows(models))
    data["p_adjusted"] = adjust(data["p_value"], data["family"])
    losses = data[data["baseline"] == WHOLE]
    cheapest = data[data["family"].str.startswith("cheapest")]
    sizes = sorted(losses["size"].unique(), reverse=True)
    blocks = []
    for language, of_language in losses.groupby("language", sort=False):
        by_size = {size: rows.set_index("tokenizer") for size, rows in of_language.groupby("size")}
        tests = cheapest[cheapest["language"] == language].set_index(["size", "tokenizer"])
        order = by_size[sizes[0]]["difference"].sort_values().index
        blocks.append([
            [
                language,
                labels[name],
                *(_shown_loss(by_size[size].loc[name], tests, size, name) for size in sizes),
                *(number(by_size[size].loc[name, "symbols"], ".3f") for size in sizes),
            ]
            for name in order
        ])  # fmt: skip
    data["tokenizer"] = data["tokenizer"].map(labels)
    data["baseline"] = data["baseline"].map({**labels, WHOLE: WHOLE})
    return Table(
        head=[
            "text",
            "loses first",
            *(f"bits, % ({size:,})" for size in sizes),
            *(f"tokens ({size:,})" for size in sizes),
        ],
        blocks=blocks,
        data=data,
        note=[
            "Bits a character more than the whole model's, in per cent, with 95 % intervals over "
            "models; tokens for one of the whole.",
            "≈: not significantly above the lowest of its column and text (Student's test, paired "
            "by model, Holm's adjustment over the column).",
        ],
        opening=1,
    )


def _shown_loss(row: pd.Series, tests: pd.DataFrame, size: int, name: str) -> str:
    shown = difference(row, ".1f")
    is_above = (size, name) in tests.index and tests.loc[(size, name), "p_adjusted"] < SIGNIFICANT
    return shown if is_above else f"{shown} ≈"


def _cut_rows(models: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield losses, then differences of losses, with p-values that are not adjusted."""
    whole = models[models["tokenizer"] == WHOLE].set_index(["language", "model"])
    cut = models[models["tokenizer"] != WHOLE].set_index(["language", "model"])
    loss = 100 * (cut["rate"] / whole["rate"] - 1)
    cut = cut.assign(loss=loss, tokens=cut["symbols"] / whole["symbols"]).reset_index()
    for (language, size), rows in cut.groupby(["language", "size"], sort=False):
        losses = rows.pivot(index="model", columns="tokenizer", values="loss")
        tokens = rows.groupby("tokenizer")["tokens"].mean()
        row = {"language": language, "size": size, "models": len(losses)}
        for name in losses:
            yield {
                **row, "tokenizer": name, "baseline": WHOLE, "family": "",
                **student(losses[name])._asdict(), "p_value": None, "symbols": tokens[name],
            }  # fmt: skip
        lowest = losses.mean().idxmin()
        pairs = [(name, lowest, f"cheapest, {language}") for name in losses if name != lowest]
        pairs += [(CODE, name, CODE) for name in TESTED]
        for found in paired_differences(losses, pairs, "models"):
            yield {**row, **found, "family": f"{found['family']}, {size}"}
