"""A small report's inputs: claims, a figure, tables, and vocabularies where the caller has some."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from claim_samples import PAPER, VALUES
from reproduction.analysis.examples import Segmentation
from reproduction.paper.table import Table

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
        "ours": 0.8,
        "low": 0.75,
        "high": 0.85,
        "verdict": verdict,
        "reason": None,
        "failed_premise": None,
        "corpus": "train",
        "text": "English, training corpus",
        "language": "en",
        "tokenizer": tokenizer,
        "preset": "printed",
        "seed": 1,
        "constructed": False,
        "timing": False,
        "controls": {"random": [0.5, 0.6], "frequency": [0.4], "counts": [0.35]},
        "met_by": {"random": 1, "frequency": 0, "counts": 1},
        "meets": True,
        "group": f"measure_of({name})",
        "definition": False,
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
        ours=None,
        low=None,
        high=None,
        reason="config key lm.enabled is false",
    ),
]

FINDINGS = """# [Re] A paper

## Summary

- SaGe < 1.0 reproduces *one* of `two`.

## Question

Whether.
"""


def settings(final_size: int = 4000) -> dict:
    chosen: dict = {"seed": 1, "lm": {"finetune": {"seeds": [1]}}}
    for row in PAPER["hyperparameters"]["table_hyperparameters_vocabulary"]:
        place = chosen
        *path, last = row["config"].split(".")
        for key in path:
            place = place.setdefault(key, {})
        place[last] = row["value"]
    chosen["vocabulary"]["final_size"] = final_size
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
    (folder / "claims.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    (folder / "findings.md").write_text(FINDINGS, encoding="utf-8")
    (folder / "figure.png").write_bytes(PIXEL)
    bold = Segmentation(("▁dial", "og", "ues"), frozenset({0, 1}))
    table = Table(["Piece", "BPE"], [[["_og", bold], ["a | b", "3"]]], [], ["A note < all."])
    (folder / "table.html").write_text(table.html(), encoding="utf-8")
    names = ["figure_lengths", "table_examples", "table_ner", "table_hyperparameters_vocabulary"]
    return {
        "title": "SaGe, run tiny",
        "claims_path": folder / "claims.json",
        "findings": folder / "findings.md",
        "figures": {names[0]: folder / "figure.png"},
        "tables": {name: folder / "table.html" for name in names[1:]},
        "captions": dict.fromkeys(names, "What *is* shown in ``bpe``. More words\nof it.\n"),
        "vocabularies": vocabularies,
        "corpora": {},
        "paper": VALUES,
        "template": TEMPLATE,
    }
