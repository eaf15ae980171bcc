"""A small report's inputs: claims, a figure, tables, and vocabularies where the caller has some."""

from __future__ import annotations

import base64
from itertools import chain
from pathlib import Path

import pandas as pd
import yaml

from claim_samples import PAPER, VALUES
from reproduction.analysis.examples import Segmentation
from reproduction.paper.claims_frame import COLUMNS, claims_frame, value_or_words
from reproduction.paper.table import Table
from reproduction.parquet import write_parquet

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "workflow/report/report.html.jinja"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def record(name: str, tokenizer: str, verdict: str, **changes) -> dict:
    values = {
        "id": name,
        "where": "Section 4",
        "statement": f"<b>{name}</b> & `others` hold.",
        "paper": 0.83,
        "value": 0.8,
        "low": 0.75,
        "high": 0.85,
        "verdict": verdict,
        "reason": None,
        "corpus": "train",
        "text": "English, training corpus",
        "language": "en",
        "tokenizer": tokenizer,
        "preset": "printed",
        "seed": 1,
        "constructed": False,
        "timing": False,
        "controls": {"random": [0.5, 0.6], "frequency": [0.4], "counts": [0.35]},
        "agreeing": {"random": 1, "frequency": 0, "counts": 1},
        "meets": True,
        "uncounted": None,
    }
    return {**values, **changes}


RECORDS = [
    record("first", "sage", "reproduced"),
    record("first", "sage_released", "not reproduced"),
    record("second", "sage", "same direction", constructed=True, language="tr"),
    record(
        "third",
        "sage",
        "not measurable here",
        where="Table 4",
        value=None,
        low=None,
        high=None,
        reason="config key lm.enabled is false",
    ),
]


def frame_of(records: list[dict]) -> pd.DataFrame:
    """Return the frame of claims that such records are made from, controls once."""
    return claims_frame([*chain(*map(_row_and_seeds, records)), *_controls(records)])


def _row_and_seeds(one: dict) -> list[dict]:
    place = {"statement": one["id"], "language": one["language"], "tokenizer": one["tokenizer"]}
    place["role"] = "baseline" if one["tokenizer"] == "bpe" else "reading"
    known = {name: one[name] for name in COLUMNS if name in one and name not in ("seed", *place)}
    usual = {"beyond": False, "run_seed": one["seed"]}
    seeds = [
        {**place, "seed": seed, **value_or_words(value)}
        for seed, value in enumerate(one.get("seeds", []), start=1)
    ]
    return [{**place, **usual, **known, **place, **value_or_words(one["value"])}, *seeds]


def _controls(records: list[dict]) -> list[dict]:
    first = {(one["id"], one["language"]): one for one in reversed(records)}
    return [
        {
            **{"statement": name, "language": language, "tokenizer": f"{control}.seed{seed}"},
            **{"role": "control", "control": control, "seed": seed},
            **{"meets": seed <= one["agreeing"][control], **value_or_words(value)},
        }
        for (name, language), one in first.items()
        for control, values in one["controls"].items()
        for seed, value in enumerate(values, start=1)
    ]


def write_claims(folder: Path, records: list[dict]) -> dict[str, Path]:
    """Write the claims of records, and the paper's values with their statements alone."""
    files = {"claims_path": folder / "claims.parquet", "paper": folder / "paper_values.yaml"}
    write_parquet(files["claims_path"], frame_of(records))
    stated = {
        one["id"]: {
            **{key: one[key] for key in ("id", "where", "statement", "paper")},
            **{"target": [0.78, 0.88], "measure": "token_ratio"},
        }
        for one in records
    }
    document = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    document["claims"] = list(stated.values())
    files["paper"].write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    return files


FINDINGS = """# [Re] A paper

## Summary

- SaGe < 1.0 reproduces *one* of `two`.

| a column of several words | another | a third | a fourth | and the last of them |
| --- | ---: | ---: | ---: | ---: |
| a long name of a row | 12.345 % | 12.345 % | 12.345 % | 12.345 % |

![How long pieces are.](figures/figure_lengths.png)

## Question

Whether.
"""


def settings(vocab_size: int = 4000) -> dict:
    chosen: dict = {"seed": 1, "lm": {"finetune": {"seeds": [1]}}}
    for row in PAPER["hyperparameters"]["table_hyperparameters_vocabulary"]:
        place = chosen
        *path, last = row["config"].split(".")
        for key in path:
            place = place.setdefault(key, {})
        place[last] = row["value"]
    chosen["vocabulary"]["vocab_size"] = vocab_size
    return chosen


def run(**changes) -> dict:
    values = {
        "name": "tiny",
        "labels": {"bpe": "BPE", "sage": "SaGe", "sage_released": "SaGe 1.0"},
        "compared": [],
        "presets": {"bpe": None, "sage": "printed", "sage_released": "released"},
        "names": {"en": "English", "tr": "Turkish", "mrpc": "MRPC"},
        "constructed": ["mrpc"],
        "models": False,
        "settings": settings(),
    }
    return {**values, **changes}


def write_inputs(folder: Path, vocabularies: dict[str, dict[str, Path]]) -> dict:
    """Write a figure and tables into `folder`; return what `build_report` takes."""
    (folder / "findings.md").write_text(FINDINGS, encoding="utf-8")
    (folder / "figure.png").write_bytes(PIXEL)
    bold = Segmentation(("▁dial", "og", "ues"), frozenset({0, 1}))
    table = Table(["Piece", "BPE"], [[["_og", bold], ["a | b", "3"]]], [], ["A note < all."])
    (folder / "table.md").write_text(table.markdown(), encoding="utf-8")
    names = ["figure_lengths", "table_examples", "table_ner", "table_hyperparameters_vocabulary"]
    return {
        "title": "SaGe, run tiny",
        "findings": folder / "findings.md",
        "figures": {names[0]: folder / "figure.png"},
        "tables": {name: folder / "table.md" for name in names[1:]},
        "titles": dict.fromkeys(names, "A title"),
        "captions": dict.fromkeys(names, "What *is* shown in ``bpe``. More words\nof it.\n"),
        "vocabularies": vocabularies,
        "corpora": {},
        **write_claims(folder, RECORDS),
        "template": TEMPLATE,
    }
