"""Whether contexts help the bigram code: n-grams of its pieces, on samples of a text.

The rules are in docs/appendix/preregistrations/2026-11-29-contexts.md, how the samples were made in
results/reference/controls/README.md. Tests are Student's, of differences paired by sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis.stats import adjust, student
from reproduction.paper.control_pieces import LABELS, LANGUAGES
from reproduction.paper.formats import NOTHING, difference
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.table import Table
from reproduction.parquet import read_parquet

ORDERS = (3, 5)
CODE = "bigram_code"
# What it is compared with -> the family of the tests: with itself on shuffled words, contexts.
FAMILIES = {f"{CODE}_shuffled": "contexts", "bpe": "others", "unigram_code": "others"}
# Tests of a family by its rule: three sizes, two orders, two languages; one not made yet counts.
_TESTS = {"contexts": 12, "others": 24}
NAMES = {
    "bpe": "BPE",
    CODE: "bigram code",
    f"{CODE}_shuffled": "bigram code, shuffled words",
    "unigram_code": "unigram code",
    **LABELS,
}
_SAMPLE = re.compile(r"s\w+-(\d+)")


def gather_samples(results: Path) -> pd.DataFrame:
    """Return what n-grams need in finished runs, whose names end in a seed, as `s10000-1` does.

    results: the folder of the runs.

    Returns a row a sample and tokenizer: language, lines, seed, tokenizer, characters, and bits_3
    and bits_5 of all held-out lines.

    Raises:
        UserError: a file is damaged.
    """
    columns = ["characters", *(f"bits_{order}" for order in ORDERS)]
    rows = []
    for path in sorted(results.glob("s*/analysis/*/ngrams/*.parquet")):
        run, _, language, *_ = path.relative_to(results).parts
        sample = _SAMPLE.fullmatch(run)
        if sample:
            frame = read_parquet(path, ["lines", *columns])
            named = {"language": language, "lines": int(frame["lines"].max())}
            named |= {"seed": int(sample[1]), "tokenizer": path.stem}
            rows.append(named | frame[columns].sum().to_dict())
    return pd.DataFrame(rows)


def table_samples(samples: pd.DataFrame) -> Table:
    """Return bits a character of the bigram code's pieces minus those of others.

    The CSV also has every tokenizer minus BPE. samples: as `gather_samples` gives them.
    """
    data = pd.DataFrame(_differences(samples))
    data["p_adjusted"] = adjust(data["p_value"], data["family"], _TESTS)
    shown = data[data["tokenizer"] == CODE].set_index(["language", "lines", "order", "baseline"])
    blocks = [
        [
            [
                LANGUAGES[language],
                f"{lines:,}",
                *(_cell(shown, (language, lines, o, b)) for b in FAMILIES for o in ORDERS),
            ]
            for lines in sorted(of_language["lines"].unique())
        ]
        for language, of_language in data.groupby("language", sort=False)
    ]
    data["language"] = data["language"].map(LANGUAGES)
    for column in ("tokenizer", "baseline"):
        data[column] = data[column].map(NAMES)
    heads = [f"minus {NAMES[name]}, order {order}" for name in FAMILIES for order in ORDERS]
    return Table(
        head=["text", "lines", *heads],
        blocks=blocks,
        data=data,
        note=[
            "Bits a character of held-out lines by n-grams of the bigram code's pieces, minus "
            "those of others, with 95 % intervals over samples, of which all lines have one; *: "
            "p < 0.05 (Student's test, paired by sample, Holm's adjustment over the family: "
            "shuffled words, and the others)."
        ],
        opening=1,
    )


def _cell(rows: pd.DataFrame, key: tuple) -> str:
    if key not in rows.index:
        return NOTHING
    row = rows.loc[key]
    return difference(row, "+.4f") + "*" * bool(row["p_adjusted"] < SIGNIFICANT)


def _differences(samples: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the bigram code minus others, then every tokenizer minus BPE, which is not tested."""
    for (language, lines), rows in samples.groupby(["language", "lines"]):
        for order in ORDERS:
            rates = rows.assign(rate=rows[f"bits_{order}"] / rows["characters"])
            rates = rates.pivot(index="seed", columns="tokenizer", values="rate")
            row = {"language": language, "lines": lines, "order": order}
            pairs = [(CODE, name, family) for name, family in FAMILIES.items()]
            pairs += [(name, "bpe", "") for name in rates if name != CODE]
            for found in paired_differences(rates, pairs, "samples"):
                yield {**row, **found}


def paired_differences(
    values: pd.DataFrame, pairs: Iterable[tuple[str, str, str]], of: str
) -> Iterator[dict[str, Any]]:
    """Yield differences of two tokenizers with Student's interval and test, paired by row.

    Args:
        values: a row a sample or a model, a column a tokenizer.
        pairs: tokenizer, what is subtracted, family of the test; without one there is no p-value.
            Pairs of one tokenizer, and those that `values` lack, are left out.
        of: the name of the number of rows that both have.
    """
    for name, baseline, family in pairs:
        if name == baseline or not {name, baseline} <= {*values}:
            continue
        differences = (values[name] - values[baseline]).dropna()
        if len(differences):
            found = student(differences)._asdict()
            tested = found if family else {**found, "p_value": None}
            named = {"tokenizer": name, "baseline": baseline, "family": family}
            yield {**named, of: len(differences), **tested}
