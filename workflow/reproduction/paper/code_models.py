"""Whether the bigram code holds: causal models of its pieces beside those of others.

The rule is in docs/appendix/preregistrations/2026-11-29-contexts.md, how the models were trained in
`config/contexts.yaml`. Tests are Student's, of differences paired by seed: a vocabulary's seed goes
with the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis.stats import adjust
from reproduction.paper.code_samples import CODE, NAMES, paired_differences
from reproduction.paper.control_pieces import LANGUAGES
from reproduction.paper.formats import difference
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet

# The bigram code on as many more lines as give its models the predictions of random pruning's.
MORE = "bigram_code_more"
# Tested are (model, what is subtracted): the rule's family, in both languages.
HOLDS = [(CODE, "bpe"), (CODE, "extra_tokens"), (CODE, "unigram_code"), (MORE, "random")]
_TESTS = {"holds": 2 * len(HOLDS)}  # in two languages; one not made yet counts
_LABELS = {**NAMES, MORE: "bigram code, random's predictions"}
_EQUAL = re.compile(r"equal-(\w+)-\d+")


def gather_models(results: Path) -> pd.DataFrame:
    """Return what causal models need in the finished runs `contexts` and `equal-LANGUAGE-SEED`.

    results: the folder of the runs.

    Returns a row a model: language, tokenizer, seed, characters and bits of all held-out lines.

    Raises:
        UserError: a file is damaged.
    """
    rows = []
    for path in sorted(results.glob("*/analysis/*/causal/*/*.parquet")):
        run, _, language, _, tokenizer, _ = path.relative_to(results).parts
        is_more = _EQUAL.fullmatch(run) is not None
        if not is_more and run != "contexts":
            continue
        frame = read_parquet(path, ["step", "characters", "bits"])
        last = frame[frame["step"] == frame["step"].max()]
        name = MORE if is_more else tokenizer.partition(".")[0]
        named = {"language": language, "tokenizer": name, "seed": int(path.stem)}
        rows.append(named | last[["characters", "bits"]].sum().to_dict())
    return pd.DataFrame(rows)


def table_models(models: pd.DataFrame) -> Table:
    """Return the differences that the rule is about, and every tokenizer minus BPE.

    models: as `gather_models` gives them.
    """
    data = pd.DataFrame(_differences(models))
    data["p_adjusted"] = adjust(data["p_value"], data["family"], _TESTS)
    data["significant"] = data["p_adjusted"] < SIGNIFICANT
    for column, names in (("tokenizer", _LABELS), ("baseline", _LABELS), ("language", LANGUAGES)):
        data[column] = data[column].map(names)
    blocks = [
        [
            [
                language,
                row["tokenizer"],
                row["baseline"],
                str(row["seeds"]),
                difference(row, "+.4f") + "*" * row["significant"],
            ]
            for row in rows.to_dict("records")
        ]
        for language, rows in data.groupby("language", sort=False)
    ]
    return Table(
        head=["text", "models of", "minus", "seeds", "bits a character"],
        blocks=blocks,
        data=data,
        note=[
            "With 95 % intervals over seeds; *: p < 0.05 (Student's test, paired by seed, Holm's "
            "adjustment over the rule's family). Other differences are not tested."
        ],
        opening=1,
    )


def _differences(models: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for language, rows in models.groupby("language"):
        rates = rows.assign(rate=rows["bits"] / rows["characters"])
        rates = rates.pivot(index="seed", columns="tokenizer", values="rate")
        pairs = [(name, other, "holds") for name, other in HOLDS]
        pairs += [(name, "bpe", "") for name in rates if (name, "bpe") not in HOLDS]
        pairs += [(CODE, "random", ""), (CODE, f"{CODE}_shuffled", "")]
        for found in paired_differences(rates, pairs, "seeds"):
            if found["seeds"] > 1:
                yield {"language": language, **found}
