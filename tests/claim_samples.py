"""The paper's claims, a run that they are measured on, and the record of one of them."""

from __future__ import annotations

from pathlib import Path

from reproduction.paper.claims import assess_claims
from reproduction.paper.claims_frame import records_of
from reproduction.paper.claims_inputs import Results
from reproduction.paper.statements import read_claims

TEMPLATE = Path(__file__).parents[1] / "workflow/report/claims.md.jinja"
VALUES = Path(__file__).parents[1] / "workflow/resources/paper_values.yaml"
PAPER = read_claims(VALUES)


def results(folder: Path, **changes) -> Results:
    """A run in English, with BPE and the printed SaGe, without models."""
    tokenizers = {"bpe": None, "sage": "printed"}
    usual = {"languages": ["en"], "tokenizers": tokenizers, "seed": 1, "seeds": [1]}
    return Results(folder, **usual | changes)


def records(run: Results, values: dict = PAPER) -> list[dict]:
    """Return all verdicts of a run."""
    return records_of(assess_claims(run, values), values["claims"])


def record_of(name: str, run: Results, tokenizer: str = "sage", language: str = "en") -> dict:
    """Return what a run says of a claim as if it were the only one, in one language."""
    claim = next(claim for claim in PAPER["claims"] if claim.id == name)
    method = "bpe" if tokenizer == "bpe" else "sage"
    changes = {"tokenizers": method, "languages": [language]}
    alone = claim.model_copy(update=changes)
    found = records(run, {**PAPER, "claims": [alone]})
    return next(record for record in found if record["tokenizer"] == tokenizer)
