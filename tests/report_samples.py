"""A small report's inputs: claims, a figure, tables, and vocabularies where the caller has some."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import yaml

from claim_samples import PAPER, VALUES
from reproduction.analysis.examples import Segmentation
from reproduction.paper.claims_frame import claims_frame
from reproduction.paper.table import Table
from reproduction.parquet import write_parquet

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "workflow/report/report.html.jinja"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def row(name: str, verdict: str, **changes) -> dict:
    """A row of `claims.parquet` that has a verdict."""
    usual = {
        **{"statement": name, "verdict": verdict, "language": "en", "tokenizer": "sage"},
        **{"preset": "printed", "role": "reading", "corpus": "train", "meets": True},
        **{"text": "English, training corpus", "value": 0.8, "low": 0.75, "high": 0.85},
        **{"beyond": False, "constructed": False, "run_seed": 1},
    }
    return usual | changes


NOTHING = dict.fromkeys(("value", "low", "high", "meets"))
ROWS = [
    row("first", "reproduced"),
    row("first", "not reproduced", tokenizer="sage_released"),
    row("second", "same direction", constructed=True, language="tr"),
    row("third", "not measurable here", reason="config key lm.enabled is false", **NOTHING),
    *(
        {"statement": "first", "language": "en", "tokenizer": "random", "role": "control"}
        | {"control": "random", "seed": seed, "value": value, "meets": seed == 1}
        for seed, value in ((1, 0.5), (2, 0.6))
    ),
]


def write_claims(folder: Path) -> dict[str, Path]:
    """Write claims, and the paper's values with their statements alone."""
    files = {"claims_path": folder / "claims.parquet", "paper": folder / "paper_values.yaml"}
    write_parquet(files["claims_path"], claims_frame(ROWS))
    document = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    document["claims"] = [
        {
            **{"id": name, "where": where, "statement": f"<b>{name}</b> & `others` hold."},
            **{"paper": 0.83, "target": [0.78, 0.88], "measure": "token_ratio"},
        }
        for name, where in (("first", "Section 4"), ("second", "Section 4"), ("third", "Table 4"))
    ]
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
        "labels": {"bpe": "BPE", "sage": "SaGe (printed)", "sage_released": "SaGe (released)"},
        "compared": [],
        "presets": {"bpe": None, "sage": "printed", "sage_released": "released"},
        "names": {"en": "English", "tr": "Turkish", "mrpc": "MRPC"},
        "constructed": ["mrpc"],
        "models": False,
        "settings": settings(),
        "texts": [
            {"name": "English", "corpus": "train", "title": "a dump (of 2015)", "in_paper": True}
        ],
    }
    return {**values, **changes}


def write_manifest(folder: Path) -> Path:
    """Write the manifest of a run that two commits made, each with another pandas."""
    environments = {
        number: {"git_commit": f"commit{number}", "packages": {"numpy": "2.4", "pandas": number}}
        for number in ("1", "2")
    }
    path = folder / "manifest.json"
    path.write_text(json.dumps({"environments": environments, "jobs": {}}), encoding="utf-8")
    return path


def write_inputs(folder: Path, vocabularies: dict[str, dict[str, Path]]) -> dict:
    """Write a figure and tables into `folder`; return what `build_report` takes."""
    (folder / "findings.md").write_text(FINDINGS, encoding="utf-8")
    (folder / "figure.png").write_bytes(PIXEL)
    bold = Segmentation(("▁dial", "og", "ues"), frozenset({0, 1}))
    table = Table(["Piece", "BPE"], [[["_og", bold], ["a | b", "3"]]], [], ["A note < all."])
    (folder / "table.md").write_text(table.markdown(), encoding="utf-8")
    names = ["figure_lengths", "table_examples", "table_ner", "table_hyperparameters_vocabulary"]
    return {
        "title": "SaGe, run <i>tiny",
        "findings": folder / "findings.md",
        "figures": {names[0]: folder / "figure.png"},
        "tables": {name: folder / "table.md" for name in names[1:]},
        "titles": dict.fromkeys(names, "A title"),
        "captions": dict.fromkeys(names, "What *is* shown in ``bpe``. More words\nof it.\n"),
        "vocabularies": vocabularies,
        "corpora": {},
        **write_claims(folder),
        "template": TEMPLATE,
        "manifest": write_manifest(folder),
    }
